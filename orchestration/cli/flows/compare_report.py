"""Formats the result of ``isthmus compare`` as a table, a verdict and JSON."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from orchestration.cli.screen.text_table import Column, TextTable
from replication.records.comparison_result import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from orchestration.flows.comparison import Result
    from replication.records.comparison_result import Example


_OWN_TIME = "the target topic has message.timestamp.type=LogAppendTime"


class Row(NamedTuple):
    """A partition's result and the flow that it belongs to."""

    flow: str
    result: Result


def totals(rows: Iterable[Row]) -> dict[str, int]:
    """Return sums over all partitions, by name; a kind's name has underscores."""
    sums = dict.fromkeys(("records", "target_records", "same", *map(_name, Kind), "not_yet"), 0)
    for each in rows:
        comparison = each.result.comparison
        sums["records"] += comparison.source_records
        sums["target_records"] += comparison.target_records
        sums["same"] += comparison.equal
        sums["not_yet"] += comparison.not_yet
        for kind in Kind:
            sums[_name(kind)] += comparison.count(kind)
    return sums


def as_json(rows: Sequence[Row], *, foreign_ok: bool) -> dict[str, Any]:
    """Return the whole result for ``-o json``."""
    return {
        "equal": is_equal(rows, foreign_ok=foreign_ok),
        **totals(rows),
        "partitions": [_partition(row) for row in rows],
    }


def is_equal(rows: Iterable[Row], *, foreign_ok: bool) -> bool:
    """Return whether every partition of the target is an exact copy."""
    return all(row.result.comparison.is_clean(foreign_ok=foreign_ok) for row in rows)


def table(rows: Sequence[Row]) -> TextTable:
    """Return a table with a row per topic."""
    numbers = [Column(each, right=True) for each in ("parts", "records", *Kind)]
    shown = TextTable([*map(Column, ("flow", "topic", "target topic")), *numbers])
    for (flow, source, target), group in groupby(rows, _topic):
        members = list(group)
        sums = totals(members)
        faults = (_number(sums[_name(kind)]) for kind in Kind)
        records = f"{sums['records']:,}"
        shown.add(flow, source, target, str(len(members)), records, *faults)
    return shown


def examples(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a line per partition and kind: the count and first offsets; timestamps left out."""
    for _, (work, comparison, timed) in rows:
        if not timed:
            yield f"{work.source} -> {work.target}: timestamps were not compared: {_OWN_TIME}"
        for kind, finding in comparison.found.items():
            if finding.count:
                where = "; ".join(map(_where, finding.examples))
                more = "; …" if finding.count > len(finding.examples) else ""
                yield (
                    f"{work.source} -> {work.target}: {finding.count:,} {kind.value}: {where}{more}"
                )


def verdict(rows: Sequence[Row], *, foreign_ok: bool) -> str:
    """Return the last line: the whole result in a sentence."""
    sums = totals(rows)
    counted = ", ".join(
        f"{sums[_name(kind)]:,} {kind.value}"
        for kind in Kind
        if kind is not Kind.EXTRA or sums[_name(kind)]
    )
    word = "equal" if is_equal(rows, foreign_ok=foreign_ok) else "different"
    late = f" ({sums['not_yet']:,} of the lost are at the end and may still be copied)"
    return f"{word}: {sums['records']:,} records, {counted}{late if sums['not_yet'] else ''}"


def _topic(row: Row) -> tuple[str, str, str]:
    work = row.result.work
    return row.flow, work.source.topic, work.target.topic


def _partition(row: Row) -> dict[str, Any]:
    work, comparison, timed = row.result
    return {
        "flow": row.flow,
        "source": str(work.source),
        "target": str(work.target),
        **totals([row]),
        "timestamps_count": timed,
        "examples": {
            _name(kind): [each._asdict() for each in finding.examples]
            for kind, finding in comparison.found.items()
            if finding.count
        },
    }


def _where(example: Example) -> str:
    sides = (("source", example.source), ("target", example.target))
    return ", ".join(f"{side} offset {at}" for side, at in sides if at is not None)


def _number(count: int) -> Text:
    return Text(f"{count:,}", "red") if count else Text("0")


def _name(kind: Kind) -> str:
    return kind.value.replace(" ", "_")
