"""Verify by its markers that a transaction was committed in each of its partitions.

A client with ALTER on the cluster can abort a transaction in a single partition
(``kafka-transactions.sh abort``). Then the leader writes an ABORT marker of our producer there and
reports it to nobody: it accepts our next appends, and the coordinator's COMMIT marker follows.
Only the log shows the abort: our first marker behind the appended records is not the COMMIT.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.fetch_values import FetchBuffer, FetchEntry
from replication.errors import ClusterUnavailable
from replication.model import OffsetRange
from replication.records.control_batches import find_marker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replication.client.fetch_values import Fetched, FetchKey
    from replication.client.network import Network
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.partition.transactional_copy import CommittedPosition, TransactionalCopy
    from replication.model import ProducerIdAndEpoch, TopicPartition
    from replication.state import Anchor

_TIMEOUT_S = 15.0  # without progress
_PAUSE_S = 0.1
_DELETED_AFTER = 10  # refreshes without the topic: a stale broker knows it by then
# Mostly the marker comes first and is small. Where others append too, much may precede it.
_FIRST = FetchOptions(max_wait_ms=50, max_bytes=1 << 20, partition_bytes=16 << 10, line="markers")
_MORE = replace(_FIRST, max_bytes=4 << 20, partition_bytes=1 << 20)


class AppendedRange(NamedTuple):
    """Offsets to search for our marker: up to ``end``, or None: up to our first marker."""

    begin: int
    end: int | None = None


def gap_between(spans: Sequence[OffsetRange]) -> AppendedRange | None:
    """Return the range that spans the gaps between our appends; None: there is no gap."""
    pairs = pairwise(sorted(spans))
    gaps = [OffsetRange(one.end, other.start) for one, other in pairs if one.end < other.start]
    return AppendedRange(gaps[0].start, gaps[-1].end) if gaps else None


class TransactionInDoubt(NamedTuple):
    """A transaction whose commit was decided, until its markers were read."""

    producer: ProducerIdAndEpoch
    before: Mapping[TransactionalCopy, CommittedPosition]  # positions when it began
    spans: Mapping[TopicPartition, Sequence[OffsetRange]]  # its target offsets
    anchors: Mapping[PartitionCopy, Anchor]

    @property
    def ranges(self) -> Mapping[TopicPartition, AppendedRange]:
        """Where to search for its markers: behind the last append in each partition."""
        return {
            where: AppendedRange(max(each.end for each in spans))
            for where, spans in self.spans.items()
            if spans
        }


@dataclass(slots=True)
class TransactionOutcome:
    """Searches the target for markers of our producer."""

    target: Network
    _buffer: FetchBuffer = field(default_factory=FetchBuffer)

    async def aborted(
        self, producer: ProducerIdAndEpoch, ranges: Mapping[TopicPartition, AppendedRange]
    ) -> set[TopicPartition]:
        """Return the partitions in whose range a transaction of ``producer`` was aborted.

        Partitions of a deleted topic are left out. Raises ClusterUnavailable when an expected
        marker does not appear in time.
        """
        left = dict(ranges)
        unseen: Counter[TopicPartition] = Counter()  # refreshes in a row without the topic
        aborted: set[TopicPartition] = set()
        options, deadline = _FIRST, time.monotonic() + _TIMEOUT_S
        while left:
            for partition, found in await self._read_some(left, options):
                begin, end = left[partition]
                committed, at = find_marker(found.records, producer, begin, partition, found.legacy)
                if committed is False:
                    aborted.add(partition)
                is_over = found.error or (end is not None and at >= end)
                if committed is not None or is_over:
                    del left[partition]
                elif at > begin:
                    left[partition] = AppendedRange(at, end)
                    options, deadline = _MORE, time.monotonic() + _TIMEOUT_S
            self._drop_deleted(left, unseen)
            if left and time.monotonic() > deadline:
                raise ClusterUnavailable(
                    f"no commit or abort marker of our transaction in {min(left)} after "
                    f"{_TIMEOUT_S:g} s: check its leader and in-sync replicas"
                )
        return aborted

    def _drop_deleted(
        self, left: dict[TopicPartition, AppendedRange], unseen: Counter[TopicPartition]
    ) -> None:
        for partition in list(left):
            topic_id = self.target.topic_id(partition.topic)
            unseen[partition] = 0 if topic_id else unseen[partition] + 1
            if unseen[partition] >= _DELETED_AFTER:
                del left[partition]

    async def _read_some(
        self, ranges: Mapping[TopicPartition, AppendedRange], options: FetchOptions
    ) -> Iterable[tuple[TopicPartition, Fetched]]:
        """Fetch once from one leader; return the usable responses.

        OFFSET_OUT_OF_RANGE is usable: retention deleted the records.
        """
        target = self.target
        lead = next(filter(None, map(target.leader, ranges)), None)
        requested: dict[FetchKey, TopicPartition] = {}
        entries = []
        for partition, (begin, _) in ranges.items():
            topic_id, its = target.topic_id(partition.topic), target.leader(partition)
            if topic_id and lead and its and its.node == lead.node:
                entries.append(FetchEntry(topic_id, partition.partition, begin, its.epoch))
                requested[topic_id, partition.partition] = partition
        found: list[Fetched] = []
        if lead is not None and entries:
            found = await target.fetch(lead.node, entries, options, self._buffer)
        usable = [
            each for each in found if each.error in {ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE}
        ]
        if (
            not found
            or len(usable) < len(found)
            or any(not target.topic_id(e.topic) for e in ranges)
        ):
            await asyncio.sleep(_PAUSE_S)
            await target.refresh({each.topic for each in ranges})
        return [(requested[each.topic_id, each.partition], each) for each in usable]
