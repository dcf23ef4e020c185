"""A flow's throughput, computed from two readings of its counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.supervision.lag import FlowLag
from replication.supervision.recovery_point import RecoveryPoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Self

    from replication.model import PartitionPlan, TopicPartition
    from replication.state import Anchor, FlowStatus, Loss, Verification


@dataclass(frozen=True, slots=True)
class CounterSample:
    """Counters at one moment; they count since the flow's first start."""

    at_ms: int = 0
    records: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Rate:
    records_s: float = 0.0
    bytes_s: float = 0.0


def sample(anchors: Iterable[Anchor], at_ms: int) -> CounterSample:
    """Return the sum of the counters that the anchors carry."""
    found = list(anchors)
    return CounterSample(
        at_ms, sum(each.records for each in found), sum(each.bytes for each in found)
    )


def rate(before: CounterSample | None, after: CounterSample) -> Rate | None:
    """Return the mean rate between two samples. None: there is no stretch to measure over.

    A counter that went back (anchors were deleted) also gives None, not a negative rate.
    """
    if before is None or after.at_ms <= before.at_ms or after.records < before.records:
        return None
    seconds = (after.at_ms - before.at_ms) / 1000
    return Rate(
        (after.records - before.records) / seconds, max(0, after.bytes - before.bytes) / seconds
    )


class EpochThrottle(NamedTuple):
    """How brokers' quotas held a flow up in one epoch: ms, summed over connections."""

    source_ms: int = 0
    target_ms: int = 0
    backed_off_to: int = 0  # bytes a second of all units, because of the target; 0: they have not


class FlowCounters(NamedTuple):
    """What was counted since the driver started."""

    query_starts: int = 0
    epochs: int = 0
    takeovers: int = 0  # partitions that were fenced and counted
    cpu_s: float = 0.0  # of the processes that copy
    at_least_once: int = 0  # partitions, in the last epoch
    source_throttle_s: float = 0.0
    target_throttle_s: float = 0.0
    throttle: EpochThrottle = EpochThrottle()  # in the last epoch

    def plus(self, epoch: Mapping[str, Any]) -> Self:
        """Add the figures of a finished epoch."""
        return self._replace(
            epochs=self.epochs + 1,
            takeovers=self.takeovers + epoch["takeovers"],
            cpu_s=self.cpu_s + epoch["cpu_s"],
            at_least_once=epoch["at_least_once"],
            source_throttle_s=self.source_throttle_s + epoch["source_throttled_ms"] / 1000,
            target_throttle_s=self.target_throttle_s + epoch["target_throttled_ms"] / 1000,
            throttle=EpochThrottle(
                epoch["source_throttled_ms"], epoch["target_throttled_ms"], epoch["backed_off_to"]
            ),
        )


class TaskFigures(NamedTuple):
    """The last run of a background task, and the number of runs."""

    name: str
    ok: bool = True
    took_ms: int = 0
    ended_ms: int = 0
    runs: int = 0
    failures: int = 0

    def after(self, *, ok: bool, took_ms: int, ended_ms: int) -> Self:
        """Return the figures after another run."""
        runs, failures = self.runs + 1, self.failures + (not ok)
        return self._replace(
            ok=ok, took_ms=took_ms, ended_ms=ended_ms, runs=runs, failures=failures
        )


@dataclass(frozen=True, slots=True)
class FlowReading:
    """One reading of both clusters; for a cluster without an answer, its last known figures.

    ``is_known``: the target has answered, now or before. Until then it is unknown what was copied.
    ``lag`` is as of the last reading of the source, which is older if the source is slow, and empty
    while a cluster does not answer; ``lag_ms`` is when it was last known, 0: never. ``point`` is
    what a failover would lose, as of then or as of the anchors.
    """

    now_ms: int
    is_known: bool = True
    anchors: Mapping[TopicPartition, Anchor] = field(default_factory=dict)
    losses: tuple[Loss, ...] = ()
    lag: FlowLag = field(default_factory=FlowLag)
    source_answers: bool = True
    target_answers: bool = True
    lag_ms: int = 0
    point: RecoveryPoint = field(default_factory=RecoveryPoint)
    verification: Verification | None = None  # the last one of all topics


@dataclass(frozen=True, slots=True)
class FlowFigures:
    """Everything that is published of one flow. ``plan``: None while it is not known."""

    source: str
    target: str
    status: FlowStatus
    should_copy: bool
    arrives: bool  # the last status that was written
    tally: FlowCounters
    tasks: tuple[TaskFigures, ...]
    plan: tuple[PartitionPlan, ...] | None
    copied: FlowReading
    batch_good_ms: int | None = None  # when the last run of a batch flow that copied all ended
    disk_limit: int = 0  # bytes a second, because the target's disks fill; 0: no limit
    absent: Mapping[str, str] = field(
        default_factory=dict
    )  # state of each topic that is not copied any more
