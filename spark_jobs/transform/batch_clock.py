"""How long the tasks of a batch have run, and how long it had none: one that waits is not slow.

Without a free slot, as after the loss of an executor, a job waits and says nothing. That time says
nothing of the batch's records. Spark tells of a task some seconds after it has begun, at the latest
with the next heartbeat of its executor (10 s).
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from replication.errors import ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext

_LOOK_S = 1.0


class JobTooSlow(Exception):
    """The tasks of the batch did not end in time."""


@dataclass(slots=True)
class BatchClock:
    """The time of one batch; ``limit_s`` holds for its tasks, and for a wait without any."""

    limit_s: float
    running_s: float = 0.0
    waited_s: float = 0.0

    def spend(self, seconds: float, *, running: bool) -> None:
        """Add a span in which a task ran, or none did."""
        if running:
            self.running_s += seconds
        else:
            self.waited_s += seconds

    @property
    def problem(self) -> Exception | None:
        """Why the batch is to be ended; None: it may go on."""
        if self.running_s >= self.limit_s:
            return JobTooSlow(f"a batch took longer than {self.limit_s:g} s")
        if self.waited_s >= self.limit_s:
            return ClusterUnavailable(
                f"Spark ran no task of a batch for {self.limit_s:g} s: see whether the application "
                "has executors, and whether other work has all of their slots"
            )
        return None


@contextmanager
def time_limit(context: SparkContext, group: str, limit_s: float) -> Iterator[None]:
    """End the job of ``group`` that runs in the block, if it takes too long.

    Raises JobTooSlow, or ClusterUnavailable if Spark does not carry it out.
    """
    clock, ended = BatchClock(limit_s), threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, group, clock, ended), daemon=True)
    watcher.start()
    try:
        yield
    except Exception:
        if (problem := clock.problem) is not None:
            raise problem from None
        raise
    finally:
        ended.set()
        watcher.join()  # it is not to end the group's next job


def _watch(context: SparkContext, group: str, clock: BatchClock, ended: threading.Event) -> None:
    seen = time.monotonic()
    with suppress(Py4JError, OSError):  # the JVM has ended, and with it the job
        while not ended.wait(_LOOK_S):
            running = _has_task(context, group)
            seen, before = time.monotonic(), seen
            clock.spend(seen - before, running=running)
            if clock.problem is not None:
                context.cancelJobGroup(group)


def _has_task(context: SparkContext, group: str) -> bool:
    tracker = context.statusTracker()
    jobs = {*tracker.getActiveJobsIds()} & {*tracker.getJobIdsForGroup(group)}
    known = filter(None, map(tracker.getJobInfo, sorted(jobs)))
    stages = (tracker.getStageInfo(stage) for each in known for stage in each.stageIds)
    return any(each is not None and each.numActiveTasks > 0 for each in stages)
