"""The screen of ``isthmus run``: one line per stage, then the table of flows."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.live import Live

from orchestration.cli.flows.table import duration, render
from orchestration.cli.screen.pipes import drop_unread
from orchestration.cli.screen.stage import StageOutcome, stage
from orchestration.services.state_directory import state_directory
from replication.clock import now_ms
from replication.errors import EnvironmentProblem
from replication.model import FlowState
from replication.supervision.lag import FlowLag

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from orchestration.flows.status_view import FlowView, StatusView
    from orchestration.services.local_session import Ending

    Views = tuple[FlowView, ...]

PLAIN_EVERY_S = 5.0  # without a terminal: a line a flow so often
FIRST_RECORDS_S = 20.0  # a source may have none; the table shows that as well
SLOW_START_S = 5.0  # from then on each step of the start is named
LONG_START_S = 60.0  # from then on the logs are named too
REMIND_S = 30.0  # between two lines about a start that is slow


@dataclass(slots=True)
class Show:
    """Shows flows until it is time to end. ``began_s`` is when the command started."""

    console: Console
    ending: Ending
    note: str = ""
    began_s: float = field(default_factory=time.monotonic)

    def while_waiting(self, doing: str, work: Callable[[], None]) -> None:
        """Show the stage ``doing`` while ``work`` runs."""
        with stage(self.console, doing):
            work()

    def while_stopping(self, doing: str, work: Callable[[], None]) -> None:
        """Do the same for a clean-up: ``work`` runs even if the output cannot be read."""
        drop_unread()
        self.while_waiting(doing, work)

    def until_up(self, view: StatusView, limit_s: float | None) -> Views:
        """Wait until every flow has a driver. Raises EnvironmentProblem after ``limit_s``."""
        start = _Start(self.console, limit_s)
        with stage(self.console, "starting Spark (half a minute; the first time a minute)") as now:
            views = view.look()
            while not self.ending and (waiting := [e for e in views if _is_down(e)]):
                start.remark(waiting)
                self.ending.wait(0.5)
                views = view.look()
            self._note_end(now)
        return views

    def until_first_records(self, view: StatusView, views: Views) -> Views:
        """Wait until a flow has copied records, at most FIRST_RECORDS_S; not where none runs."""
        if self.ending or not any(each.health.state == FlowState.RUNNING for each in views):
            return views
        deadline = time.monotonic() + FIRST_RECORDS_S
        with stage(self.console, "waiting for the first records") as now:
            while not self.ending and not any(each.records for each in views):
                if time.monotonic() > deadline:
                    now.outcome = "none yet"
                    break
                self.ending.wait(0.5)
                views = view.look()
            self._note_end(now)
        if any(each.records for each in views):
            elapsed = time.monotonic() - self.began_s
            self.console.print(f"copying since {elapsed:.0f} s after the start", style="dim")
        return views

    def _note_end(self, now: StageOutcome) -> None:
        if self.ending:
            now.outcome = "interrupted"

    def until_over(self, view: StatusView, seconds: float | None) -> Views:
        """Show the table until it is time to end, at most ``seconds``."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        show = self._on_terminal if self.console.is_terminal else self._as_lines
        return show(view, lambda: bool(self.ending) or time.monotonic() > deadline)

    def _on_terminal(self, view: StatusView, is_over: Callable[[], bool]) -> Views:
        views = view.look()
        note, screen = f"{self.note} · Ctrl-C ends everything", self.console
        with Live(console=screen, auto_refresh=False) as live:
            while not is_over():
                live.update(render(views, note, screen.height), refresh=True)
                self.ending.wait(1.0)
                views = view.look()
        return views

    def _as_lines(self, view: StatusView, is_over: Callable[[], bool]) -> Views:
        views, next_s = view.look(), 0.0
        while not is_over():
            if time.monotonic() >= next_s:
                next_s = time.monotonic() + PLAIN_EVERY_S
                for each in views:
                    self.console.print(_line(each))
            self.ending.wait(1.0)
            views = view.look()
        return views


@dataclass(slots=True)
class _Start:
    """Waits for the start: prints the reason when it is slow, and fails after ``limit_s``."""

    console: Console
    limit_s: float | None
    since_s: float = field(default_factory=time.monotonic)
    since_ms: int = field(default_factory=now_ms)
    reminded_s: float = 0.0
    reminded_of: str = ""

    def remark(self, waiting: list[FlowView]) -> None:
        """Print what the start waits for, if due. Raises EnvironmentProblem after the limit."""
        now_s = time.monotonic()
        waited_s = now_s - self.since_s
        reason = "; ".join(f"{each.name}: {_waits_for(each, self.since_ms)}" for each in waiting)
        logs = state_directory().root / "apps"
        if self.limit_s is not None and waited_s > self.limit_s:
            raise EnvironmentProblem(
                f"the flows did not start within {self.limit_s:.0f} s: {reason}; logs: {logs}"
            )
        if waited_s > LONG_START_S:
            reason += f"; logs: {logs}"
        if waited_s < SLOW_START_S:
            return
        if reason != self.reminded_of or now_s - self.reminded_s > REMIND_S:
            self.reminded_s, self.reminded_of = now_s, reason
            self.console.print(f"after {waited_s:.0f} s: {reason}", style="dim")


def _is_down(view: FlowView) -> bool:
    """Say whether a flow has no driver yet that copies; STOPPED may be what is wanted."""
    stopped = view.health.state == FlowState.STOPPED and not view.health.healthy
    return stopped or view.health.state in {"STARTING", "DEAD", "UNKNOWN"}


def _waits_for(view: FlowView, since_ms: int) -> str:
    """Return what a flow waits for. Before its driver reports, the state is an earlier one's."""
    status = view.look.seen.status if view.look else None
    if status is not None and status.started_ms < since_ms and view.health.state != "UNKNOWN":
        return "its driver has not reported yet"
    has_begun = status is not None and status.state == FlowState.RUNNING
    if view.health.state == "UNKNOWN" or (has_begun and view.health.state == FlowState.STARTING):
        return view.health.reason
    return status.reason if status and status.reason else "its driver has not reported yet"


def _line(view: FlowView) -> str:
    up = duration(view.look.alive_s) if view.look else "-"
    speed = sum(each.rate.records_s for each in view.topics if each.rate)
    lag = FlowLag(tuple(part for each in view.topics for part in each.lag.partitions))
    behind = f"{lag.records:,} records and {lag.seconds or 0:.1f} s behind"
    if lag.unknown_since:
        behind = f"lag is {lag.unknown_since}"
    return (
        f"{view.name} {view.health.state} ({view.health.reason}): {view.records:,} copied, "
        f"{speed:,.0f} records/s, {behind}, up {up}"
    )
