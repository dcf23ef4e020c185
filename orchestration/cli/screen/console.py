"""Creates the console that commands print to.

Without a terminal (a pipe, a file, CI) no line is wrapped or cut. The commands in what is printed
name the file that this command was called with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Span, Text

from orchestration.cli.screen.given_file import file_places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment

_UNLIMITED = 10_000  # columns


def console(*, stderr: bool = False) -> Console:
    """Return the console of a command; a terminal wraps at its width, nothing else wraps."""
    found = _CommandConsole(stderr=stderr, highlight=False, soft_wrap=True)
    if not found.is_terminal:
        found.width = _UNLIMITED
    return found


def styled_with_file(text: Text) -> Text:
    """Return ``text`` as ``with_file`` does, in its styles."""
    for span, path in reversed(file_places(text.plain)):
        covering = (e for e in text.spans if e.start <= span.start and e.end >= span.stop)
        shown = Text(path, spans=[Span(0, len(path), each.style) for each in covering])
        parts = text[: span.start], shown, text[span.stop :]
        text = text.blank_copy()
        for each in parts:
            text.append_text(each)
    return text


class _CommandConsole(Console):
    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return the segments of ``renderable``. Rich calls this for each text that it prints."""
        text = styled_with_file(renderable) if isinstance(renderable, Text) else renderable
        return super().render(text, options)
