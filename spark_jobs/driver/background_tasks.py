"""What a driver does for a flow besides copying: heartbeats, group offsets, configs, and so on.

A duty is a blocking call that comes again and again; it runs in a thread, at most one at a time of
each name. Duties rest while the flow is not wanted: a flow that is paused or stopped copies nothing
and changes nothing, as MirrorMaker 2 does when its connectors are paused. They do not wait for the
flow's query: groups and heartbeats go on while Spark lacks slots or a query is started again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import structlog

from replication.errors import ReplicationError
from replication.state import TaskReport
from replication.supervision.flow_figures import TaskFigures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor, Future

TELL_S = 10.0  # an outcome that stays the same is written so often

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """``run`` returns one short line of what it did; raises ReplicationError.

    It comes first when the flow is first wanted, then ``every`` so often, from start to start.
    """

    name: str
    every: timedelta
    run: Callable[[], str]


class TaskOutcome(NamedTuple):
    """The outcome of one run."""

    ok: bool
    summary: str
    took_ms: int
    fault: Exception | None = None  # none of ours that is foreseen


@dataclass(slots=True)
class _TaskRun:
    """A duty on its way: when it is due, its run, and what was last said of it."""

    task: BackgroundTask
    due: float = 0.0
    running: Future[TaskOutcome] | None = None
    complaint: str = ""  # as last logged
    told: tuple[bool, str] | None = None
    told_at: float = 0.0
    figures: TaskFigures | None = None


@dataclass(slots=True)
class BackgroundTasks:
    """The duties of one flow. ``tell`` writes a report down; ``pool`` runs them."""

    flow: str
    pool: Executor
    tell: Callable[[TaskReport], None]
    clock: Callable[[], float] = time.monotonic
    _courses: list[_TaskRun] = field(default_factory=list)

    def add(self, tasks: Iterable[BackgroundTask]) -> None:
        self._courses += [_TaskRun(each) for each in tasks]

    def figures(self) -> tuple[TaskFigures, ...]:
        """Return how the duties went that ran at least once; in any thread."""
        return tuple(each.figures for each in self._courses if each.figures is not None)

    def tick(self, *, wanted: bool) -> None:
        """Take in what has ended; begin what is due, if the flow is ``wanted``. Never waits."""
        now = self.clock()
        for each in self._courses:
            if each.running is not None and each.running.done():
                running, each.running = each.running, None
                self._learn(each, running.result(), now)
            if wanted and each.running is None and now >= each.due:
                each.due = now + each.task.every / timedelta(seconds=1)
                each.running = self.pool.submit(_do, each.task)

    def _learn(self, course: _TaskRun, done: TaskOutcome, now: float) -> None:
        name = course.task.name
        complaint = "" if done.ok else done.summary
        if complaint and complaint != course.complaint:
            fault = {"exc_info": done.fault} if done.fault else {}
            log.warning(
                "background task failed", flow=self.flow, task=name, reason=complaint, **fault
            )
        elif course.complaint and done.ok:
            log.info("background task recovered", flow=self.flow, task=name, summary=done.summary)
        course.complaint = complaint
        at_ms = int(time.time() * 1000)
        before = course.figures or TaskFigures(name)
        course.figures = before.after(ok=done.ok, took_ms=done.took_ms, ended_ms=at_ms)
        if course.told == (done.ok, done.summary) and now - course.told_at < TELL_S:
            return
        course.told, course.told_at = (done.ok, done.summary), now
        self.tell(TaskReport(self.flow, name, at_ms, done.ok, done.summary, done.took_ms))


def _do(task: BackgroundTask) -> TaskOutcome:
    begin, fault = time.monotonic(), None
    try:
        ok, summary = True, task.run()
    except ReplicationError as error:
        ok, summary = False, str(error)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not end the copying
        ok, summary, fault = False, f"internal error: {type(error).__name__}: {error}", error
    return TaskOutcome(ok, summary, int((time.monotonic() - begin) * 1000), fault)
