"""The screen of ``isthmus run``: what it waits for, then the table, with or without a terminal."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.live import Live

from orchestration.cli.table import duration, render
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from orchestration.panel import FlowView, Panel
    from orchestration.session import Ending

    Views = tuple[FlowView, ...]

PLAIN_EVERY_S = 5.0  # without a terminal: a line a flow so often
NOT_UP = frozenset({"STARTING", "DEAD", "UNKNOWN"})


@dataclass(slots=True)
class Show:
    """Shows a panel until it is time to end. ``began_s`` is when the command started."""

    console: Console
    ending: Ending
    note: str = ""
    began_s: float = field(default_factory=time.monotonic)

    def while_waiting(self, what: str, work: Callable[[], None]) -> None:
        """Say what is waited for, do the work, and say how long it took."""
        since = time.monotonic()
        with self.console.status(f"{what} …"):
            work()
        self.console.print(f"{what}: {time.monotonic() - since:.1f} s", style="dim")

    def until_up(self, panel: Panel, limit_s: float | None) -> Views:
        """Look until every flow has a driver. Raises EnvironmentProblem after ``limit_s``."""
        since, said = time.monotonic(), ""
        with self.console.status("starting the flows …") as status:
            while True:
                views = panel.look()
                waiting = [each for each in views if each.health.state in NOT_UP]
                if not waiting or self.ending:
                    break
                text = "; ".join(f"{each.name}: {each.health.reason}" for each in waiting)
                status.update(text)
                if not self.console.is_terminal and text != said:
                    self.console.print(text, style="dim")
                said = text
                if limit_s is not None and time.monotonic() - since > limit_s:
                    raise EnvironmentProblem(f"the flows did not start in {limit_s:.0f} s: {text}")
                self.ending.wait(0.5)
        if not self.ending:
            self._say(f"flows up {self._after()} after the start")
        return views

    def until_over(self, panel: Panel, seconds: float | None) -> Views:
        """Show the table until it is time to end, at most ``seconds``."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        show = self._on_terminal if self.console.is_terminal else self._as_lines
        return show(panel, lambda: bool(self.ending) or time.monotonic() > deadline)

    def _on_terminal(self, panel: Panel, is_over: Callable[[], bool]) -> Views:
        views, first = panel.look(), False
        with Live(render(views, self.note), console=self.console, auto_refresh=False) as live:
            while not is_over():
                first = first or self._first_record(views)
                live.update(render(views, f"{self.note} · Ctrl-C ends everything"), refresh=True)
                self.ending.wait(1.0)
                views = panel.look()
        return views

    def _as_lines(self, panel: Panel, is_over: Callable[[], bool]) -> Views:
        views, first, next_s = panel.look(), False, 0.0
        while not is_over():
            first = first or self._first_record(views)
            if time.monotonic() >= next_s:
                next_s = time.monotonic() + PLAIN_EVERY_S
                for each in views:
                    self.console.print(_line(each), soft_wrap=True)
            self.ending.wait(1.0)
            views = panel.look()
        return views

    def _first_record(self, views: Views) -> bool:
        if not any(each.records for each in views):
            return False
        self._say(f"first record copied {self._after()} after the start")
        return True

    def _after(self) -> str:
        return f"{time.monotonic() - self.began_s:.1f} s"

    def _say(self, text: str) -> None:
        self.console.print(text, style="dim")


def _line(view: FlowView) -> str:
    up = duration(view.look.up_s) if view.look else "-"
    speed = sum(each.rate.records_s for each in view.topics if each.rate)
    lag = sum(each.lag.records for each in view.topics)
    seconds = max((each.lag.seconds or 0 for each in view.topics), default=0)
    return (
        f"{view.name} {view.health.state} ({view.health.reason}): {view.records:,} copied, "
        f"{speed:,.0f} records/s, {lag:,} records and {seconds:.1f} s behind, up {up}"
    )
