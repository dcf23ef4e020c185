"""Runs a flow's periodic tasks beside copying: heartbeats, group offsets, configs, ACLs.

A background task is a blocking call that is repeated at an interval; it runs in a thread, and never
twice at a time. No task starts while the flow should not run: a flow that is paused or stopped
copies nothing and changes nothing, as MirrorMaker 2 does when its connectors are paused. Tasks do
not wait for the flow's query: groups are synced and heartbeats sent while Spark lacks slots or the
query restarts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import structlog

from replication.clock import now_ms
from replication.errors import ReplicationError
from replication.state import TaskReport
from replication.supervision.flow_figures import TaskFigures
from replication.supervision.task_schedule import REPORT_EVERY_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor, Future

_BEGUN, _ASKED = 1, 2

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """``run`` returns one short line about what it did; raises ReplicationError.

    It first runs when the flow first should run, then at the interval ``every``, start to start.
    """

    name: str
    every: timedelta
    run: Callable[[], str]
    does_nothing: bool = False  # it only says so: none of its runs is a good one


class TaskOutcome(NamedTuple):
    """The outcome of one run."""

    ok: bool
    summary: str
    took_ms: int
    unexpected: Exception | None = None  # not a ReplicationError: a bug of ours


@dataclass(slots=True)
class _TaskRun:
    """One task: when it is due, its current run, and the last outcome that was reported."""

    task: BackgroundTask
    due: float = 0.0
    running: Future[TaskOutcome] | None = None
    again: int = 0  # _ASKED to run once more, _BEGUN to; 0: not asked, or done
    failure: str = ""  # as last logged
    reported: tuple[bool, str] | None = None
    reported_at: float = 0.0
    figures: TaskFigures | None = None
    good_ms: int = 0  # when a run last ended well


@dataclass(slots=True)
class BackgroundTasks:
    """The tasks of one flow. ``report`` stores an outcome; ``pool`` runs the tasks."""

    flow: str
    pool: Executor
    report: Callable[[TaskReport], None]
    clock: Callable[[], float] = time.monotonic
    _task_runs: list[_TaskRun] = field(default_factory=list)

    def add(self, tasks: Iterable[BackgroundTask]) -> None:
        self._task_runs += [_TaskRun(each) for each in tasks]

    def replace(self, tasks: Iterable[BackgroundTask]) -> list[Future[TaskOutcome]]:
        """Run other tasks from now on; return the runs of the former ones that have not ended.

        A task of the same name keeps its figures, and is due when it was, or sooner.
        """
        before = {each.task.name: each for each in self._task_runs}
        running = [each.running for each in self._task_runs if each.running is not None]
        self._task_runs = [self._instead(before.get(each.name), each) for each in tasks]
        return running

    def _instead(self, known: _TaskRun | None, task: BackgroundTask) -> _TaskRun:
        if known is None:
            return _TaskRun(task)
        known.task = task
        known.due = min(known.due, self.clock() + task.every / timedelta(seconds=1))
        return known

    def figures(self) -> tuple[TaskFigures, ...]:
        """Return the figures of the tasks that ran at least once; callable in any thread."""
        return tuple(each.figures for each in self._task_runs if each.figures is not None)

    def tick(self, *, runs: bool) -> None:
        """Collect finished runs; start due tasks, if the flow ``runs``. Never waits."""
        now = self.clock()
        for task_run in self._task_runs:
            if task_run.running is not None and task_run.running.done():
                running, task_run.running = task_run.running, None
                task_run.again = _ASKED if task_run.again == _ASKED else 0
                self._finish(task_run, running.result(), now)
            if runs and task_run.running is None and now >= task_run.due:
                task_run.due = now + task_run.task.every / timedelta(seconds=1)
                task_run.again = min(task_run.again, _BEGUN)
                task_run.running = self.pool.submit(_run, task_run.task)

    def hasten(self) -> None:
        """Let every task run once more, as soon as it is not running."""
        for each in self._task_runs:
            each.due, each.again = 0.0, _ASKED

    @property
    def has_run_again(self) -> bool:
        """Whether every task has ended a run that began after ``hasten``."""
        return not any(each.again for each in self._task_runs)

    def _finish(self, task_run: _TaskRun, outcome: TaskOutcome, now: float) -> None:
        name = task_run.task.name
        failure = "" if outcome.ok else outcome.summary
        if failure and failure != task_run.failure:
            trace = {"exc_info": outcome.unexpected} if outcome.unexpected else {}
            log.warning(
                "background task failed", flow=self.flow, task=name, reason=failure, **trace
            )
        elif task_run.failure and outcome.ok:
            log.info(
                "background task recovered", flow=self.flow, task=name, summary=outcome.summary
            )
        task_run.failure = failure
        at_ms = now_ms()
        if outcome.ok and not task_run.task.does_nothing:
            task_run.good_ms = at_ms
        before = task_run.figures or TaskFigures(name)
        task_run.figures = before.after(ok=outcome.ok, took_ms=outcome.took_ms, ended_ms=at_ms)
        if (
            task_run.reported == (outcome.ok, outcome.summary)
            and now - task_run.reported_at < REPORT_EVERY_S
        ):
            return
        task_run.reported, task_run.reported_at = (outcome.ok, outcome.summary), now
        said = outcome.ok, outcome.summary, outcome.took_ms
        self.report(TaskReport(self.flow, name, at_ms, *said, task_run.good_ms))


def _run(task: BackgroundTask) -> TaskOutcome:
    begin, unexpected = time.monotonic(), None
    try:
        ok, summary = True, task.run()
    except ReplicationError as error:
        ok, summary = False, str(error)
    except Exception as error:  # noqa: BLE001 - a bug in a task must not stop copying
        ok, summary, unexpected = False, f"internal error: {type(error).__name__}: {error}", error
    return TaskOutcome(ok, summary, int((time.monotonic() - begin) * 1000), unexpected)
