"""Text tables that cut no value: one that is too long for its column gets its own line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from orchestration.cli.screen.console import styled_with_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

_GAP = 2
_LEAST = 8  # cells: a column is not made narrower than this, nor than its header


class Column(NamedTuple):
    """A column; ``right`` aligns its values to the right."""

    header: str
    right: bool = False


@dataclass(slots=True)
class TextTable:
    """Lines of aligned columns. A cell may have several lines.

    Where the table is wider than the console, its widest columns are narrowed. A value that no
    longer fits gets a line of its own: above its row in the first column, else below it, with
    the column's header. Without a terminal each row is one line, for ``grep``.
    """

    columns: Sequence[Column]
    title: str = ""
    rows: list[tuple[Text, ...]] = field(default_factory=list)

    def add(self, *cells: str | Text) -> None:
        """Add a row; columns at the end may be left out."""
        texts = [each if isinstance(each, Text) else Text(each) for each in cells]
        missing = len(self.columns) - len(texts)
        self.rows.append((*texts, *(Text() for _ in range(missing))))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines. Rich calls this; none of them is wrapped or cut by it."""
        rows = [tuple(map(styled_with_file, row)) for row in self.rows]
        if not console.is_terminal:
            rows = [tuple(map(_joined, row)) for row in rows]
        widths = fitted(self._natural(rows), self._least(), options.max_width)
        if self.title:
            yield Text(self.title, style="bold")
        yield self._line([Text(each.header, style="bold") for each in self.columns], widths)
        for row in rows:
            yield from self._row(row, widths)

    def _natural(self, rows: Iterable[tuple[Text, ...]]) -> list[int]:
        headers = tuple(Text(each.header) for each in self.columns)
        return [max(map(_width, cells)) for cells in zip(headers, *rows, strict=True)]

    def _least(self) -> list[int]:
        return [max(_LEAST, cell_len(each.header)) for each in self.columns]

    def _row(self, row: Sequence[Text], widths: Sequence[int]) -> Iterator[Text]:
        fits = [_width(cell) <= width for cell, width in zip(row, widths, strict=True)]
        if not fits[0]:
            yield from _lines(row[0])
        shown = [_lines(cell) if fit else [] for cell, fit in zip(row, fits, strict=True)]
        for number in range(max(1, *map(len, shown))):
            cells = [cell[number] if number < len(cell) else Text() for cell in shown]
            yield self._line(cells, widths)
        for column, cell, fit in list(zip(self.columns, row, fits, strict=True))[1:]:
            if not fit:
                yield _unwrapped(
                    Text.assemble("    ", (f"{column.header}: ", "dim"), _joined(cell))
                )

    def _line(self, cells: Sequence[Text], widths: Sequence[int]) -> Text:
        placed = [
            _placed(cell, width, right=column.right)
            for cell, width, column in zip(cells, widths, self.columns, strict=True)
        ]
        line = Text(" " * _GAP).join(placed)
        line.rstrip()
        return _unwrapped(line)


def fitted(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return columns' widths: the natural ones, the widest narrowed until all fit into ``room``.

    No column gets narrower than its ``least``, so all of them may still be wider than ``room``.
    """
    widths = list(natural)
    spare = room - _GAP * (len(widths) - 1)
    order = sorted(range(len(widths)), key=lambda each: natural[each], reverse=True)
    for each in order:
        excess = sum(widths) - spare
        if excess > 0 and widths[each] > least[each]:
            widths[each] = max(least[each], widths[each] - excess)
    return widths


def _placed(cell: Text, width: int, *, right: bool) -> Text:
    cell = cell.copy()
    padding = max(0, width - cell.cell_len)
    cell.pad_left(padding) if right else cell.pad_right(padding)
    return cell


def _joined(cell: Text) -> Text:
    """Return a cell's lines as one."""
    return Text(", ").join(_lines(cell))


def _lines(cell: Text) -> list[Text]:
    return [_unwrapped(each) for each in cell.split("\n", allow_blank=True)]


def _width(cell: Text) -> int:
    return max((each.cell_len for each in _lines(cell)), default=0)


def _unwrapped(line: Text) -> Text:
    line.no_wrap, line.overflow = True, "ignore"
    return line
