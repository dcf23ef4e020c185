"""How far a flow is behind its source, in records and in seconds, for each partition.

Pure: anchors and the source's end offsets in, lag out. A partition that holds nothing to copy is
0 s behind, however long no producer has written to it: the age of the last record is not lag.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.model import ABSENT, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    from replication.state import AbsentTopic, Anchor


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """What of one source partition is still to be copied. None: its position is not known yet."""

    partition: TopicPartition
    records: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class FlowLag:
    """The lag of a flow; ``partitions`` are ordered by topic and number."""

    partitions: tuple[PartitionLag, ...] = ()

    @property
    def records(self) -> int:
        """Records still to be copied, of all partitions whose position is known."""
        return sum(each.records or 0 for each in self.partitions)

    @property
    def seconds(self) -> float | None:
        """Seconds that the worst partition is behind. None: no position is known at all."""
        known = [each.seconds for each in self.partitions if each.seconds is not None]
        return max(known) if known else None

    @property
    def unknown(self) -> tuple[TopicPartition, ...]:
        """Partitions without a position."""
        return tuple(each.partition for each in self.partitions if each.seconds is None)

    def topic(self, name: str) -> FlowLag:
        """Return the lag of one source topic."""
        return FlowLag(tuple(each for each in self.partitions if each.partition.topic == name))


@dataclass(frozen=True, slots=True)
class SlaVerdict:
    """Whether a flow keeps its promise of freshness, and why, in one line."""

    passed: bool
    reason: str


def standing(anchors: Iterable[Anchor], ends: Mapping[TopicPartition, int]) -> tuple[Anchor, ...]:
    """Leave out partitions that their topic has no longer: it was recreated with fewer.

    Such an anchor knows an older topic than its siblings, and the source has no end for it; a
    partition without a leader has no end either, but is of the same topic as they are.
    """
    anchors = tuple(anchors)
    newest: dict[str, Anchor] = {}
    for each in anchors:
        if each.topic not in newest or each.at_ms > newest[each.topic].at_ms:
            newest[each.topic] = each
    return tuple(
        each
        for each in anchors
        if each.source_topic_id in {"", newest[each.topic].source_topic_id}
        or TopicPartition(each.topic, each.partition) in ends
    )


def with_absent(anchors: Iterable[Anchor], absent: Iterable[AbsentTopic]) -> tuple[Anchor, ...]:
    """Return the anchors with the states of topics that are not copied any more.

    Nobody writes their anchors now: they say what held before.
    """
    states = {each.topic: each for each in absent if each.state}
    return tuple(
        replace(each, state=gone.state, reason=gone.reason)
        if (gone := states.get(each.topic))
        else each
        for each in anchors
    )


def flow_lag(
    anchors: Iterable[Anchor],
    ends: Mapping[TopicPartition, int],
    now_ms: int,
    caught_up_ms: Mapping[TopicPartition, int] | None = None,
) -> FlowLag:
    """Return the lag of every partition that has an anchor or an end offset.

    ``ends`` are the source's readable ends, read after the anchors, so that lag is never negative
    but for clocks. ``caught_up_ms`` says when a partition was last seen with nothing to copy;
    it spares a partition that was silent for an hour from being an hour behind at its next record.
    A topic that is not copied any more has no lag.
    """
    by_partition = {TopicPartition(each.topic, each.partition): each for each in anchors}
    absent = {where for where, each in by_partition.items() if each.state in ABSENT}
    seen = caught_up_ms or {}
    return FlowLag(
        tuple(
            _partition_lag(each, by_partition.get(each), ends.get(each), now_ms, seen.get(each, 0))
            for each in sorted((by_partition.keys() | ends.keys()) - absent)
        )
    )


def _partition_lag(
    partition: TopicPartition, anchor: Anchor | None, end: int | None, now_ms: int, seen_ms: int
) -> PartitionLag:
    if end == 0:
        return PartitionLag(partition, 0, 0.0)
    if anchor is None or anchor.source is None:
        return PartitionLag(partition, None, None)
    records = max(0, (anchor.source_end if end is None else end) - anchor.source)
    if records == 0:
        return PartitionLag(partition, 0, 0.0)
    since_ms = max(anchor.at_ms - anchor.behind_ms, seen_ms)
    return PartitionLag(partition, records, max(0, now_ms - since_ms) / 1000)


def caught_up(
    before: Mapping[TopicPartition, int], lag: FlowLag, now_ms: int
) -> dict[TopicPartition, int]:
    """Return when each partition was last seen with nothing to copy, ``lag`` being the newest look.

    Partitions never seen so are absent: their anchors are all that is known.
    """
    now_idle = {each.partition: now_ms for each in lag.partitions if each.records == 0}
    still_there = {each.partition for each in lag.partitions}
    return {key: at for key, at in before.items() if key in still_there} | now_idle


def evaluate_sla(lag: FlowLag, sla: timedelta, up_s: float) -> SlaVerdict:
    """Say whether no partition is more than ``sla`` behind.

    A partition without a position counts as behind once the driver is up (``up_s``) for that long.
    """
    limit = sla.total_seconds()
    late = [each for each in lag.partitions if (each.seconds or 0) > limit]
    if late:
        worst = max(late, key=lambda each: each.seconds or 0)
        return SlaVerdict(
            passed=False,
            reason=f"{len(late)} of {len(lag.partitions)} partitions are more than {limit:g} s "
            f"behind; worst: {worst.partition}, {worst.seconds:.0f} s, {worst.records} records",
        )
    if lag.unknown and up_s > limit:
        return SlaVerdict(
            passed=False,
            reason=f"{len(lag.unknown)} of {len(lag.partitions)} partitions have no copy "
            f"position after {up_s:.0f} s, for example {lag.unknown[0]}",
        )
    return SlaVerdict(passed=True, reason=f"{lag.seconds or 0:.1f} s behind, limit {limit:g} s")
