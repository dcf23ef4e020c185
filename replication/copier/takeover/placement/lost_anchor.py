"""A partition whose anchor is missing: whether it was copied before, and its last batch of ours.

L  A missing anchor alone never means that nothing was copied: the others may be there. The
   partition begins as a new one only if its target is empty, or ends without a batch of ours while
   no other record of our state says that it was copied or that state is gone. Else its position is
   searched by content behind our fence marker (S), and where that does not prove it, it is lost:
   POSITION_LOST.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.network import NotGranted, PartitionReader
from replication.client.state_topic.state_log import StateLog
from replication.errors import ClusterUnavailable
from replication.model import EARLIEST_TIMESTAMP, Mode, TopicPartition
from replication.records.batch import LOG_APPEND_TIME, walk
from replication.records.codec import decode
from replication.state import OffsetPoint, offsets_topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections
    from replication.state import Anchor

_TAIL = 1_000  # offsets at the target's end: many partitions may be new in a filled target
_LONG_TAIL = 50_000  # those that are read where other state says that there are copies
_MOST_BYTES = 64 << 20  # of what stands before them
_NO_PROGRESS_S = 30.0
_GONE = (
    "its anchor is missing, and {evidence}: its copy position is unknown, and copying again from "
    "the start would duplicate records on the target"
)
_SEARCHED = "its anchor is missing although the target has records of this flow"


class OwnBatch(NamedTuple):
    """The last batch of ours in a target partition."""

    base: int
    content: bytes
    producer_id: int
    in_transaction: bool


class OwnTail(NamedTuple):
    """What was found of ours in a target partition."""

    last: OwnBatch | None
    whole: bool  # all that could hold a later batch of ours was read
    log_start: int


@dataclass(slots=True)
class LostAnchors:
    """Examines partitions without an anchor. ``ids``: the flow's transactional id by producer id.

    They are those known before this start, so a flow that never copied has none. To them come those
    that the target has for the same transactional ids now: all of our state may have lost them.
    """

    spec: UnitSpec
    connections: Connections
    ids: dict[int, str]
    _points: Mapping[TopicPartition, OffsetPoint] | None = None
    _are_present_known: bool = False
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)  # partitions are examined at once

    async def examine(self, partition: PartitionCopy, end: int) -> str:
        """Let a partition that was copied before be searched by content (its ``sought``).

        ``end``: of the target, above 0. Returns why the position is lost; empty: it is ``sought``,
        or nothing says that the partition was copied. Raises ClusterUnavailable, ClusterRejected.
        """
        if not self.ids:
            return ""
        await self._learn_present_ids()
        tail = await self._tail(partition.target, end, _TAIL)
        point = (await self._known_points()).get(partition.source)
        if tail.last is None:
            if point is None and not await self._has_gaps():
                return ""
            tail = await self._tail(partition.target, end, _LONG_TAIL)
        if tail.last is None:
            evidence = _other_evidence(tail, point)
            return _GONE.format(evidence=evidence) if evidence else ""
        if problem := self._unsearchable(partition, tail):
            return _GONE.format(evidence=f"the target has records of this flow, and {problem}")
        begin = await self._begin(partition, tail.last, point)
        partition.claimed = self._sought_from(partition.claimed, partition, begin, tail.last.base)
        partition.sought = _SEARCHED
        return ""

    async def _learn_present_ids(self) -> None:
        """Ask the target which producers hold our transactional ids now; it is asked once."""
        async with self._reading:
            if self._are_present_known:
                return
            for name in sorted({each for each in self.ids.values() if each}):
                with contextlib.suppress(NotGranted):
                    if present := await self.connections.target.current_producer(name):
                        self.ids[present.producer_id] = name
            self._are_present_known = True

    def _unsearchable(self, partition: PartitionCopy, tail: OwnTail) -> str:
        """Return why the last batch of ours does not say where the copy ended; empty: it does."""
        if tail.last is None or not tail.whole:
            return f"its newest {_LONG_TAIL:,} offsets have none, and not all before them was read"
        if tail.last.in_transaction or partition.mode != Mode.APPEND:
            return "records in transactions, or copied at least once, cannot be searched by content"
        if not self.ids[tail.last.producer_id]:
            return "a producer that cannot be fenced appended the last one"
        return ""

    async def _begin(
        self, partition: PartitionCopy, last: OwnBatch, point: OffsetPoint | None
    ) -> int:
        """Return a source offset that the records of ``last`` do not precede.

        A topic has no record of a timestamp before the offset that ListOffsets returns for it.
        """
        (batch,) = walk(memoryview(last.content), partition.target)
        found = await self.connections.source.offset_at(partition.source, EARLIEST_TIMESTAMP)
        if point is not None and point.source_topic_id == partition.topic_id.hex():
            found = max(found, 0 if last.base < point.target else point.source)
        first = next(iter(decode(batch, partition.target)))
        if first.timestamp >= 0 and not batch.attributes & LOG_APPEND_TIME:
            at = await self.connections.source.offset_at(partition.source, first.timestamp)
            found = max(found, at)
        return found

    def _sought_from(
        self, known: Anchor, partition: PartitionCopy, source: int, target: int
    ) -> Anchor:
        """Return where the search begins; it is claimed without this position: it is no anchor."""
        appenders = {(name, number): None for number, name in self.ids.items() if name}
        return replace(
            known,
            target_topic=partition.target.topic,
            source=source,
            target=target,
            appenders=tuple(dict.fromkeys((*known.appenders, *appenders))),
            clean=False,
            isolation="",
            source_topic_id=partition.topic_id.hex(),
        )

    async def _tail(self, place: TopicPartition, end: int, length: int) -> OwnTail:
        """Return the last batch of ours among the last ``length`` offsets, or before a long tail.

        Before that, 64 MB are read from the log start on.
        """
        target = self.connections.target
        log_start = await target.offset_at(place, EARLIEST_TIMESTAMP)
        near_end = max(log_start, end - length)
        last, _ = await self._last_own(place, near_end, end, None)
        if last is not None or length < _LONG_TAIL:
            return OwnTail(last, whole=True, log_start=log_start)
        last, whole = await self._last_own(place, log_start, near_end, _MOST_BYTES)
        return OwnTail(last, whole, log_start)

    async def _last_own(
        self, place: TopicPartition, at: int, end: int, most: int | None
    ) -> tuple[OwnBatch | None, bool]:
        """Return the last batch of ours in [at, end), and whether all of that was read."""
        target, last, size = self.connections.target, None, 0
        reading, moved_at = PartitionReader(target, place, "search"), time.monotonic()
        while at < end and (most is None or size < most):
            found = await reading.fetch(at, FetchOptions(max_wait_ms=50))
            if found is None or found.error or not found.records:
                if time.monotonic() > moved_at + _NO_PROGRESS_S:
                    raise ClusterUnavailable(
                        f"reading {place}: no record at offset {at} in {_NO_PROGRESS_S:g} s: check "
                        "that it has a leader"
                    )
                await asyncio.sleep(0.1)
                await target.refresh([place.topic])
                if found is not None and found.error == ErrorCode.OFFSET_OUT_OF_RANGE:
                    at = max(at, await target.offset_at(place, EARLIEST_TIMESTAMP))
                continue
            size, moved_at = size + len(found.records), time.monotonic()
            for batch in walk(found.records, place, found.legacy):
                at = max(at, batch.last + 1)
                if batch.producer_id in self.ids and not batch.is_control:
                    content = bytes(batch.view)
                    last = OwnBatch(batch.base, content, batch.producer_id, batch.is_transactional)
        return last, at >= end

    async def _known_points(self) -> Mapping[TopicPartition, OffsetPoint]:
        """Return the newest offset point of each partition of the flow; they are read once."""
        async with self._reading:
            if self._points is None:
                self._points = await self._read_points()
        return self._points

    async def _read_points(self) -> Mapping[TopicPartition, OffsetPoint]:
        points: dict[TopicPartition, OffsetPoint] = {}
        log = StateLog(self.connections.target, offsets_topic(self.spec.source_alias))
        for each in await log.read_on():
            if isinstance(each, OffsetPoint) and each.flow == self.spec.flow:
                key = TopicPartition(each.topic, each.partition)
                known = points.get(key, each)
                newer = (each.era, each.number) >= (known.era, known.number)
                points[key] = each if newer else known
        return points

    def _has_anchors(self) -> bool:
        seen = self.connections.takeover.seen.values()
        return any(each.source is not None for each in seen)

    def are_all_gone(self) -> bool:
        """Return whether the flow has no anchor at all, although an earlier driver copied."""
        entries = self.connections.takeover.entries.producers.entries.values()
        return not self._has_anchors() and any(
            each.flow == self.spec.flow and each.generation != self.spec.generation
            for each in entries
        )

    async def _has_gaps(self) -> bool:
        """Return whether anchors or offset points have lost their head, or one kind is all gone."""
        takeover, target = self.connections.takeover, self.connections.target
        if not self._has_anchors():
            return self.are_all_gone()
        if not await self._known_points() and any(each.run for each in takeover.seen.values()):
            return True
        points = TopicPartition(offsets_topic(self.spec.source_alias), 0)
        starts = [
            await target.offset_at(each, EARLIEST_TIMESTAMP)
            for each in (takeover.anchors.partition, points)
        ]
        return any(starts)


def _other_evidence(tail: OwnTail, point: OffsetPoint | None) -> str:
    """Return what says that a partition was copied, of which the target shows nothing."""
    if point is not None:
        return f"its stored offsets say that it was copied up to offset {point.source} at least"
    if tail.whole and tail.log_start == 0:
        return ""
    return "other state of this flow is missing too, while the target is not empty"
