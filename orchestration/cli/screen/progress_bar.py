"""A progress bar for work that takes longer than two seconds; none in a pipe."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from orchestration.cli.screen.console import console

if TYPE_CHECKING:
    from rich.console import Console

LATE_S = 2.0


class ProgressBar:
    """Shows, while the block runs, how much of ``total`` is done; ``total`` 0: that is not known.

    It is on standard error and vanishes at the end.
    """

    def __init__(self, doing: str, total: int = 0, screen: Console | None = None) -> None:
        screen = screen or console(stderr=True)
        count = (BarColumn(), MofNCompleteColumn()) if total else (BarColumn(),)
        self._progress = Progress(
            TextColumn("{task.description}"),
            *count,
            TimeElapsedColumn(),
            console=screen,
            transient=True,
            # Lines that are printed meanwhile go above the bar, but never from a pipe to a screen.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._task = self._progress.add_task(doing, total=total or None)
        self._lock = threading.Lock()
        self._ended = not screen.is_terminal
        self._is_shown = False
        self._late = threading.Timer(LATE_S, self._show)
        self._late.daemon = True

    def __enter__(self) -> Self:
        if not self._ended:
            self._late.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ended = True
            self._late.cancel()
            if self._is_shown:
                self._progress.stop()

    def advance(self) -> None:
        """Count one more as done."""
        self._progress.advance(self._task)

    def _show(self) -> None:
        with self._lock:
            if not self._ended:
                self._is_shown = True
                self._progress.start()
