"""Ends the driver of a batch flow once it has copied what the source had, and writes how it ended.

The engine knows nothing of it: the driver copies as for a stream until the anchors on the target
have reached the ends that the source had when each partition was planned first. The background
tasks, such as the sync of group offsets, then run once more, and the driver ends as if stopped.
"""

from __future__ import annotations

import time
from concurrent.futures import wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import structlog

from replication.clock import now_ms
from replication.errors import ReplicationError
from replication.model import Desired
from replication.state import BatchRun
from replication.supervision.batch_run import copied_records, left_to_copy, what_is_left

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor, Future

    from replication.adapters.topics.anchor_reader import CopyState
    from replication.model import TopicPartition
    from replication.state import AbsentTopic, Anchor
    from replication.supervision.batch_run import LeftToCopy
    from spark_jobs.driver.flow.flow_driver import FlowDriver

    Offsets = Mapping[TopicPartition, int]
    Anchors = Mapping[TopicPartition, Anchor]

_LOOK_S = 1.0
_SETTLED_S = 5.0  # a plan may lack topics that the target has only just created
_LAST_LOOK_S = 10.0
_LAST_TASKS_S = 30.0  # so long the last round of background tasks may take

log = structlog.get_logger()


class SourceEnds(Protocol):
    """The client of a source; see ``adapters.admin.kafka_admin``."""

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Offsets: ...


class Target(Protocol):
    """Reads what the target holds of a flow; see ``adapters.topics.anchor_reader``."""

    def look(self) -> CopyState: ...


@dataclass(slots=True)
class BatchEnd:
    """Watches the run of one batch flow.

    ``source`` gives the client of its source; ``target`` reads its anchors, one thread at a time.
    """

    driver: FlowDriver
    source: Callable[[], SourceEnds]
    target: Target
    pool: Executor
    _ends: dict[TopicPartition, int] = field(default_factory=dict)
    _leaderless: frozenset[TopicPartition] = frozenset()  # without an end in the last answer
    _absent: Mapping[str, AbsentTopic] = field(default_factory=dict)
    _before: Anchors | None = None  # when the run began
    _now: Anchors = field(default_factory=dict)
    _asked: frozenset[TopicPartition] = frozenset()  # in the look that runs, or the last one
    _looking: Future[tuple[Anchors, Offsets]] | None = None
    _look_at: float = 0.0
    _number: int = 0  # of the plan that was looked at last
    _settled_at: float = 0.0  # when that plan has been in force for long enough
    _last_tasks_at: float | None = None  # since when the background tasks run once more
    _ended: bool = False

    def look(self) -> bool:
        """Return whether the run is over: all is copied, or it waits for a person. Never waits."""
        if self._ended:
            return True
        self._see_plan()
        if self._looking is not None and self._looking.done():
            self._learn(self._looking)
            self._looking = None
        elif self._looking is None and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_S
            self._asked = frozenset(unknown := self._unknown())
            self._looking = self.pool.submit(self._read, unknown)
        self._ended = self._needs_a_person or (self._is_copied and self._has_reported)
        return self._ended

    def _see_plan(self) -> None:
        number = self.driver.plan.number
        if number and number != self._number:
            self._number, self._settled_at = number, time.monotonic() + _SETTLED_S
        absent = {each.topic: each for each in self.driver.plan.absent}
        back = self._absent.keys() - absent.keys()  # created again, with an end of its own
        self._ends = {where: end for where, end in self._ends.items() if where.topic not in back}
        self._absent = absent

    def _unknown(self) -> list[TopicPartition]:
        """Return the planned partitions whose end is not known yet: one may have no leader now."""
        planned = (each.source for each in self.driver.plan.partitions)
        return [each for each in planned if each not in self._ends]

    def _read(self, partitions: list[TopicPartition]) -> tuple[Anchors, Offsets]:
        return self.target.look().anchors, self.source().end_offsets(partitions)

    def _learn(self, looking: Future[tuple[Anchors, Offsets]]) -> None:
        try:
            self._now, ends = looking.result()
        except ReplicationError as error:  # it is asked again in a second
            self._leaderless = frozenset()
            log.warning("a cluster did not answer the batch run", reason=str(error))
            return
        self._leaderless = self._asked - ends.keys()
        self._before = self._now if self._before is None else self._before
        bounds = {e.source: e.until for e in self.driver.plan.partitions if e.until is not None}
        bounded = {each: min(end, bounds.get(each, end)) for each, end in ends.items()}
        self._ends = {**bounded, **self._ends}

    @property
    def _needs_a_person(self) -> bool:
        lease = self.driver.lease
        return lease.desired is not Desired.RUN or bool(self.driver.plan.wrong_cluster)

    @property
    def _is_copied(self) -> bool:
        """Whether all that can be copied is, by a plan that does not change any more."""
        settled = self._number > 0 and time.monotonic() >= self._settled_at
        return settled and self._before is not None and not (self._unknown() or self._left.open)

    @property
    def _left(self) -> LeftToCopy:
        generation = self.driver.lease.status.generation
        return left_to_copy(
            self._ends, self._now, generation, self.driver.transformed, self._absent
        )

    @property
    def _has_reported(self) -> bool:
        """Whether the background tasks have seen all that is copied; it begins their last round."""
        if self._last_tasks_at is None:
            self._last_tasks_at = time.monotonic()
            self.driver.tasks.hasten()
            return False
        return (
            self.driver.tasks.has_run_again
            or time.monotonic() - self._last_tasks_at >= _LAST_TASKS_S
        )

    def record(self) -> None:
        """Write how the run ended; the driver has ended cleanly. Raises ClusterUnavailable."""
        if self._looking is not None:
            wait([self._looking], _LAST_LOOK_S)  # one thread reads at a time
        lease, wall_ms = self.driver.lease, now_ms()
        anchors = self.target.look().anchors
        run = BatchRun(
            self.driver.flow.name,
            lease.status.generation,
            lease.status.started_ms,
            wall_ms,
            copied_records(self._before or {}, anchors),
            self._problem(anchors),
        )
        lease.write_run(run)
        log.info("batch run ended", flow=run.flow, records=run.records, problem=run.problem)

    def _problem(self, anchors: Anchors) -> str:
        self._now = anchors
        desired = self.driver.lease.desired
        asked = (
            ""
            if desired is Desired.RUN
            else f"an operator set its desired state to {desired.lower()}"
        )
        others = [asked, self.driver.plan.wrong_cluster, self.driver.plan.problem]
        if not self._number and not any(others):
            others.append("it ended before it knew what to copy")
        others.append(self._unknown_end())
        return what_is_left(self._left, others)

    def _unknown_end(self) -> str:
        """Return whose end is not known, and why; empty: all are."""
        unknown, source = self._unknown(), self.driver.flow.source
        if not unknown:
            return ""
        if leaderless := [each for each in unknown if each in self._leaderless]:
            return (
                f"{source} returns no end offset of {leaderless[0]}: it has no leader; run the "
                "flow again when it has one"
            )
        return (
            f"the end offset of {unknown[0]} on {source} was not read before the run ended: run "
            "the flow again"
        )
