"""How far a flow is behind its source, in records and seconds, and whether that keeps its SLA.

Pure: anchors and the source's end offsets in, lag out. A partition that holds nothing to copy is
0 s behind, however long no producer has written to it: the age of the last record is not lag.

While a cluster does not answer, lag is not known. It is never computed from an end offset that was
read before: the end that the copier saw last would make any lag 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.durations import format_moment
from replication.model import ABSENT, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    from replication.state import AbsentTopic, Anchor


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """What of one source partition is still to be copied.

    None: its position is not known yet, or its end is not known now, since ``unknown_since_ms``.
    ``at_most_s`` is then the most that it may be behind.
    """

    partition: TopicPartition
    records: int | None
    seconds: float | None
    unknown_since_ms: int | None = None
    at_most_s: float | None = None


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
        """Seconds that the worst partition is behind, of those that are known. None: none is."""
        known = [each.seconds for each in self.partitions if each.seconds is not None]
        return max(known) if known else None

    @property
    def unknown(self) -> tuple[TopicPartition, ...]:
        """Partitions without a position."""
        return tuple(
            each.partition
            for each in self.partitions
            if each.seconds is None and each.unknown_since_ms is None
        )

    @property
    def unknown_since_ms(self) -> int | None:
        """Since when the lag of a partition with a position is not known. None: it is known."""
        return min(
            (e.unknown_since_ms for e in self.partitions if e.unknown_since_ms is not None),
            default=None,
        )

    @property
    def unknown_since(self) -> str:
        """The same as a sentence; empty: it is known."""
        since_ms = self.unknown_since_ms
        return "" if since_ms is None else f"not known since {format_moment(since_ms)} UTC"

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
    known_ms: Mapping[TopicPartition, int] | None = None,
) -> FlowLag:
    """Return the lag of every partition that has an anchor or an end offset.

    ``ends`` are the source's readable ends, read after the anchors, so that lag is never negative
    but for clocks. ``caught_up_ms`` says when a partition was last seen with nothing to copy;
    it spares a partition that was silent for an hour from being an hour behind at its next record.
    ``known_ms`` says when its lag was known last; None: its anchor does. A topic that is not copied
    any more has no lag.
    """
    by_partition = {TopicPartition(each.topic, each.partition): each for each in anchors}
    absent = {where for where, each in by_partition.items() if each.state in ABSENT}
    seen, known = caught_up_ms or {}, known_ms or {}

    def one(where: TopicPartition) -> PartitionLag:
        anchor, end = by_partition.get(where), ends.get(where)
        if end == 0:
            return PartitionLag(where, 0, 0.0)
        if anchor is None or anchor.source is None:
            return PartitionLag(where, None, None)
        since_ms = max(anchor.at_ms - anchor.behind_ms, seen.get(where, 0))
        behind_s = max(0, now_ms - since_ms) / 1000
        if end is None:
            return PartitionLag(where, None, None, known.get(where, anchor.at_ms), behind_s)
        records = max(0, end - anchor.source)
        return PartitionLag(where, records, behind_s if records else 0.0)

    return FlowLag(tuple(map(one, sorted((by_partition.keys() | ends.keys()) - absent))))


def caught_up(
    before: Mapping[TopicPartition, int], lag: FlowLag, now_ms: int
) -> dict[TopicPartition, int]:
    """Return when each partition was last seen with nothing to copy, ``lag`` being the newest look.

    Partitions never seen so are absent: their anchors are all that is known.
    """
    now_idle = {each.partition: now_ms for each in lag.partitions if each.records == 0}
    still_there = {each.partition for each in lag.partitions}
    return {key: at for key, at in before.items() if key in still_there} | now_idle


def last_known(
    before: Mapping[TopicPartition, int], lag: FlowLag, now_ms: int
) -> dict[TopicPartition, int]:
    """Return when the lag of each partition was known last, ``lag`` being the newest look."""
    now_known = {each.partition: now_ms for each in lag.partitions if each.records is not None}
    still_there = {each.partition for each in lag.partitions}
    return {key: at for key, at in before.items() if key in still_there} | now_known


def unknown_lag(
    caught_up_ms: Mapping[TopicPartition, int], known_ms: Mapping[TopicPartition, int], now_ms: int
) -> FlowLag:
    """Return the lag while the target does not answer: of partitions that were seen before."""
    return FlowLag(
        tuple(
            PartitionLag(
                each,
                None,
                None,
                known_ms[each],
                max(0, now_ms - caught_up_ms[each]) / 1000 if each in caught_up_ms else None,
            )
            for each in sorted(known_ms)
        )
    )


def evaluate_sla(
    lag: FlowLag,
    sla: timedelta,
    up_s: float,
    silence: str | None = None,
    records: int | None = None,
) -> SlaVerdict:
    """Say whether no partition is more than ``sla`` behind, nor all of them ``records``.

    A partition without a position counts as behind once the driver is up (``up_s``) for that long.
    While lag is not known, the promise is kept as long as no partition can be behind by more;
    ``silence`` says which cluster does not answer.
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
    if records is not None and lag.records > records:
        worst = max(lag.partitions, key=lambda each: each.records or 0)
        return SlaVerdict(
            passed=False,
            reason=f"{lag.records} records behind, limit {records}; worst: {worst.partition}, "
            f"{worst.records} records",
        )
    if lag.unknown_since or silence is not None:
        return while_unknown(lag, limit, silence, "lag")
    if lag.unknown and up_s > limit:
        return SlaVerdict(
            passed=False,
            reason=f"{len(lag.unknown)} of {len(lag.partitions)} partitions have no copy "
            f"position after {up_s:.0f} s, for example {lag.unknown[0]}",
        )
    if lag.seconds is None:
        behind = (
            f"{len(lag.unknown)} partitions have no copy position yet"
            if lag.unknown
            else "nothing to copy yet"
        )
    else:
        behind = f"{lag.seconds:.1f} s behind"
    return SlaVerdict(passed=True, reason=f"{behind}, limit {limit:g} s")


def while_unknown(lag: FlowLag, limit: float, silence: str | None, what: str) -> SlaVerdict:
    """Say whether no partition can be more than ``limit`` s behind, while ``what`` is not known.

    Each can be behind by as much as has passed since it was last seen with nothing to copy.
    """
    unknown = [each for each in lag.partitions if each.unknown_since_ms is not None]
    why = silence or f"the source returns no end offset of {unknown[0].partition}: it has no leader"
    reason = f"{what} is {lag.unknown_since or 'not known'}: {why}"
    bounds = [each.at_most_s for each in unknown if each.at_most_s is not None]
    if not unknown or len(bounds) < len(unknown) or max(bounds) > limit:
        return SlaVerdict(passed=False, reason=reason)
    return SlaVerdict(passed=True, reason=f"{reason}; at most {max(bounds):.1f} s behind")
