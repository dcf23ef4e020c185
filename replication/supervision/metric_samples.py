"""Converts figures of flows to samples of the catalogue's metrics."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from replication.model import ABSENT, NEEDS_NO_ACTION, FlowState, PartitionState
from replication.supervision.health import as_of_anchors
from replication.supervision.partition_states import paused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from replication.model import TopicPartition
    from replication.state import Anchor, Loss, Verification
    from replication.supervision.flow_figures import FlowFigures
    from replication.supervision.lag import PartitionLag
    from replication.supervision.recovery_point import MissingRecords, RecoveryPoint

    Value = float | tuple[float, float]
    Named = tuple[str, tuple[str, ...], Value]

OF_LATE_MS = 30_000  # an anchor that is older says nothing of the last minute
_NO_LOSS = {
    PartitionState.WAITING,
    PartitionState.RUNNING,
    PartitionState.PAUSED,
    PartitionState.TARGET_FOREIGN,
    *ABSENT,
}
_DETAIL = {
    "flow": 0,
    "topic": 2,
    "partition": 3,
}  # how many labels of metric_catalogue.DETAIL are used


class MetricSample(NamedTuple):
    """One value of a metric, with the first of its labels; ``value`` of a summary: count, sum."""

    metric: str
    labels: tuple[str, ...]
    value: Value


@dataclass(frozen=True, slots=True)
class _Partition:
    """One partition, and what is known of it. Not ``planned``: it was copied once.

    ``absent``: the state of a topic that is not copied any more; empty: another one.
    """

    names: tuple[str, str, str]
    anchor: Anchor | None
    lag: PartitionLag | None
    missing: MissingRecords | None
    planned: bool
    absent: str = ""

    @property
    def state(self) -> str:
        if self.absent:
            return self.absent
        return self.anchor.state if self.anchor else PartitionState.WAITING


def flow_samples(seen: FlowFigures, detail: str) -> Iterator[MetricSample]:
    """Yield all samples of one flow, labelled as ``detail`` says: flow, topic or partition.

    No counters are reported before they are known: counters that begin at 0 and then
    are where they were would look like a flood.
    """
    flow = (seen.source, seen.target)
    for name, more, value in (*_health(seen), *_work(seen)):
        yield MetricSample(f"isthmus_{name}", (*flow, *more), value)
    if not seen.copied.is_known:
        return
    partitions = _partitions(seen)
    shown = [each for each in partitions if each.planned or each.absent]
    for name, more, value in (
        *_losses(seen.copied.losses),
        *_states(shown),
        *_recovery_point(seen.copied.point),
        *_verification(seen.copied.verification),
    ):
        yield MetricSample(f"isthmus_{name}", (*flow, *more), value)
    since_ms = seen.copied.now_ms - OF_LATE_MS
    for names, those in _groups(partitions, _DETAIL[detail]):
        anchors = [each.anchor for each in those if each.anchor]
        for metric, figure in (
            *_copied(anchors),
            *_lag(those),
            *_missing(those),
            *_delays(anchors, since_ms),
        ):
            yield MetricSample(f"isthmus_{metric}", (*flow, *names), figure)


def _groups(
    partitions: Iterable[_Partition], detail: int
) -> Iterator[tuple[tuple[str, ...], list[_Partition]]]:
    """Yield the partitions that share one sample, if one of them is to be copied.

    What was copied once belongs to its group: a sum that goes back would look like a new start.
    """
    groups: dict[tuple[str, ...], list[_Partition]] = defaultdict(list)
    for each in partitions:
        groups[each.names[:detail]].append(each)
    for names, those in groups.items():
        if any(each.planned for each in those):
            yield names, those


def _partitions(seen: FlowFigures) -> list[_Partition]:
    """Return what is to be copied and what was copied before; without a plan that is the same."""
    anchors = _shown(seen)
    lags = {each.partition: each for each in seen.copied.lag.partitions}
    missing = {each.partition: each for each in seen.copied.point.partitions}
    before = {where: each.target_topic for where, each in anchors.items()}
    plan = before if seen.plan is None else {e.source: e.target.topic for e in seen.plan}
    return [
        _Partition(
            (where.topic, target, str(where.partition)),
            anchors.get(where),
            lags.get(where),
            missing.get(where),
            where in plan and where.topic not in seen.absent,
            seen.absent.get(where.topic, ""),
        )
        for where, target in sorted((before | plan).items())
    ]


def _shown(seen: FlowFigures) -> Mapping[TopicPartition, Anchor]:
    """Return the anchors with the states that operators see."""
    anchors = seen.copied.anchors
    if seen.status.state != FlowState.PAUSED:
        return anchors
    return dict(zip(anchors, paused(anchors.values()), strict=True))


def _health(seen: FlowFigures) -> Iterator[Named]:
    copied = seen.copied
    live = [each for each in copied.anchors.values() if each.topic not in seen.absent]
    status = seen.status
    if copied.is_known:
        status = as_of_anchors(status, live, copied.now_ms)
    for each in FlowState:
        yield "flow_state", (each,), status.state == each
    yield "flow_wanted", (), seen.should_copy
    yield "flow_generation", (), status.generation
    yield "flow_beat_timestamp_seconds", (), status.beat_ms / 1000
    yield "flow_beat_arrives", (), seen.arrives
    yield "flow_tasks", (), status.units
    if seen.batch_good_ms is not None:
        yield "batch_timestamp_seconds", (), seen.batch_good_ms / 1000
    if seen.plan is not None:
        yield "flow_partitions", (), len(seen.plan)
    yield "partitions_at_least_once", (), seen.tally.at_least_once
    if copied.lag_ms:
        yield "lag_timestamp_seconds", (), copied.lag_ms / 1000
    yield "cluster_answers", (seen.source,), copied.source_answers
    yield "cluster_answers", (seen.target,), copied.target_answers


def _work(seen: FlowFigures) -> Iterator[Named]:
    yield "query_starts_total", (), seen.tally.query_starts
    yield "epochs_total", (), seen.tally.epochs
    yield "takeovers_total", (), seen.tally.takeovers
    yield "copy_cpu_seconds_total", (), seen.tally.cpu_s
    yield "throttle_seconds_total", (seen.source,), seen.tally.source_throttle_s
    yield "throttle_seconds_total", (seen.target,), seen.tally.target_throttle_s
    yield "backed_off_bytes_per_second", ("throttle",), seen.tally.throttle.backed_off_to
    yield "backed_off_bytes_per_second", ("disk",), seen.disk_limit
    for task in seen.tasks:
        yield "duty_ok", (task.name,), task.ok
        yield "duty_seconds", (task.name,), task.took_ms / 1000
        yield "duty_timestamp_seconds", (task.name,), task.ended_ms / 1000
        yield "duty_runs_total", (task.name,), task.runs
        yield "duty_failures_total", (task.name,), task.failures


def _losses(losses: Sequence[Loss]) -> Iterator[Named]:
    found = Counter(each.state for each in losses)
    for state in PartitionState:  # also those of which there is none: else no increase is seen
        if state not in _NO_LOSS:
            yield "losses_total", (state,), found[state]
    if losses:
        yield "loss_timestamp_seconds", (), max(each.at_ms for each in losses) / 1000


def _states(partitions: Sequence[_Partition]) -> Iterator[Named]:
    found = Counter(each.state for each in partitions)
    for state in PartitionState:
        yield "partitions", (state,), found[state]
    planned = [each for each in partitions if each.planned]
    unknown = [each for each in planned if each.lag is None or each.lag.records is None]
    yield "partitions_without_position", (), len(unknown)
    for each in partitions:
        if each.state not in NEEDS_NO_ACTION:
            yield "partition_not_running", (*each.names, each.state), 1


def _copied(anchors: Sequence[Anchor]) -> Iterator[tuple[str, Value]]:
    yield "records_total", sum(each.records for each in anchors)
    yield "bytes_total", sum(each.bytes for each in anchors)
    yield "lost_offsets_total", sum(each.lost for each in anchors)


def _lag(partitions: Iterable[_Partition]) -> Iterator[tuple[str, Value]]:
    """Yield nothing where no position is known: 0 would say that all is copied."""
    lags = [each.lag for each in partitions if each.planned and each.lag]
    known = [each for each in lags if each.records is not None]
    if known:
        yield "lag_records", sum(each.records or 0 for each in known)
        yield "lag_seconds", max(each.seconds or 0 for each in known)


def _missing(partitions: Iterable[_Partition]) -> Iterator[tuple[str, Value]]:
    """Yield what a failover would lose: while the source is silent, as it was last seen."""
    found = [each.missing for each in partitions if each.missing]
    if found:
        yield "rpo_records", sum(each.records for each in found)
        yield "rpo_bytes", sum(each.bytes for each in found)
        yield "rpo_seconds", max(each.seconds for each in found)


def _verification(last: Verification | None) -> Iterator[Named]:
    if last is not None:
        yield "verified_timestamp_seconds", (), last.good_ms / 1000
        yield "verification_differences", (), last.differences


def _recovery_point(point: RecoveryPoint) -> Iterator[Named]:
    if point.partitions:
        seen_ms = point.unknown_since_ms
        yield "rpo_timestamp_seconds", (), (point.seen_ms if seen_ms is None else seen_ms) / 1000
    for each in point.groups:
        yield "group_rpo_records", (each.group,), each.records
        yield "group_rpo_bytes", (each.group,), each.bytes
        yield "group_rpo_seconds", (each.group,), each.seconds


def _delays(anchors: Iterable[Anchor], since_ms: int) -> Iterator[tuple[str, Value]]:
    timed = [each for each in anchors if each.timed]
    count = sum(each.timed for each in timed)
    fresh = [each.at_ms > since_ms for each in timed]
    for name, delays in (
        ("record_age", [each.age_ms for each in timed]),
        ("replication_latency", [each.latency_ms for each in timed]),
    ):
        yield f"{name}_seconds", (count, sum(total for _, _, total in delays) / 1000)
        if of_late := list(compress(delays, fresh)):
            yield f"{name}_last_seconds", max(last for last, _, _ in of_late) / 1000
            yield f"{name}_max_seconds", max(longest for _, longest, _ in of_late) / 1000
