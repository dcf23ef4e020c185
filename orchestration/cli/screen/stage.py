"""Prints one line per stage of a command: its progress, outcome and duration."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rich.progress import Progress, ProgressColumn, SpinnerColumn, TaskID, TextColumn
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import Task


@dataclass(slots=True)
class StageOutcome:
    """The outcome of a stage; the code within it may set another than ``ok``."""

    outcome: str = "ok"


@contextmanager
def stage(console: Console, doing: str) -> Iterator[StageOutcome]:
    """Show ``doing`` while the block runs, then how it ended.

    A terminal shows a spinner and the seconds meanwhile; without one there is a line at the
    beginning and another at the end.
    """
    current, since = StageOutcome(), time.monotonic()
    try:
        if console.is_terminal:
            with _spinner(console) as progress:
                progress.add_task(doing)
                yield current
        else:
            console.print(f"{doing} ...")
            yield current
    except KeyboardInterrupt:
        current.outcome = "interrupted"
        raise
    except BaseException:
        current.outcome = "failed"
        raise
    finally:
        passed = f"{time.monotonic() - since:.0f} s"
        console.print(f"{doing} ... {current.outcome} ({passed})", style="dim")


class Steps:
    """Shows on a terminal, for as long as the block runs, which of several steps is under way."""

    def __init__(self, console: Console, doing: str) -> None:
        self._doing = doing
        self._progress = _spinner(console) if console.is_terminal else None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
            self._task = self._progress.add_task(self._doing)
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def begin(self, step: str) -> None:
        """Show that ``step`` is under way now."""
        if self._progress is not None:
            self._progress.update(self._task, description=f"{self._doing} {step}")


class _Seconds(ProgressColumn):
    """The whole seconds since a task began."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.elapsed or 0:.0f} s", style="dim")


def _spinner(console: Console) -> Progress:
    columns = SpinnerColumn("line"), TextColumn("{task.description} ..."), _Seconds()
    return Progress(*columns, console=console, transient=True)
