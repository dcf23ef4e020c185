"""See how a transaction of ours ended in each of its partitions.

Who may alter the cluster can abort a transaction in one partition alone (``kafka-transactions.sh
abort``). Then the leader writes an ABORT marker of our producer there and tells nobody: it takes
what we append next as if nothing had been, and the coordinator's COMMIT marker comes after it.
Only the log shows it: the first marker of ours behind what was appended is not the COMMIT.
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

_PATIENCE_S = 15.0  # without getting on
_PAUSE_S = 0.1
_GONE_LOOKS = 10  # so many without its topic: a broker that lags shows it by then
# Markers are small, and mostly they are what comes first. Where others append beside us much may.
_FIRST = FetchOptions(max_wait_ms=50, max_bytes=1 << 20, partition_bytes=16 << 10, line="markers")
_MORE = replace(_FIRST, max_bytes=4 << 20, partition_bytes=1 << 20)


class AppendedRange(NamedTuple):
    """Offsets of a partition to look at: up to ``end``, or None: up to the first marker of ours."""

    begin: int
    end: int | None = None


def between(spans: Sequence[OffsetRange]) -> AppendedRange | None:
    """Return what lies between spans of our own; None: they are one stretch."""
    pairs = pairwise(sorted(spans))
    gaps = [OffsetRange(one.end, other.start) for one, other in pairs if one.end < other.start]
    return AppendedRange(gaps[0].start, gaps[-1].end) if gaps else None


class Outcome(NamedTuple):
    """A transaction whose commit was decided, until its markers have been seen."""

    producer: ProducerIdAndEpoch
    before: Mapping[TransactionalCopy, CommittedPosition]  # where its lanes stood
    spans: Mapping[TopicPartition, Sequence[OffsetRange]]  # what is in it, on the target
    anchors: Mapping[PartitionCopy, Anchor]

    @property
    def connections(self) -> Mapping[TopicPartition, AppendedRange]:
        """Where its markers are to be looked for: behind what was appended."""
        return {
            where: AppendedRange(max(each.end for each in spans))
            for where, spans in self.spans.items()
            if spans
        }


@dataclass(slots=True)
class TransactionOutcome:
    """Looks for markers of our producer on the target."""

    target: Network
    _buffer: FetchBuffer = field(default_factory=FetchBuffer)

    async def aborted(
        self, producer: ProducerIdAndEpoch, stretches: Mapping[TopicPartition, AppendedRange]
    ) -> set[TopicPartition]:
        """Return the partitions in whose stretch a transaction of ``producer`` was aborted.

        Of a topic that is gone nothing is left to confirm. Raises ClusterUnavailable when a marker
        that must come does not come in time.
        """
        left = dict(stretches)
        unseen: Counter[TopicPartition] = Counter()  # looks in a row that did not see the topic
        aborted: set[TopicPartition] = set()
        options, deadline = _FIRST, time.monotonic() + _PATIENCE_S
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
                    options, deadline = _MORE, time.monotonic() + _PATIENCE_S
            self._drop_gone(left, unseen)
            if left and time.monotonic() > deadline:
                raise ClusterUnavailable(
                    f"waiting for the commit or abort marker of our transaction in {min(left)}"
                )
        return aborted

    def _drop_gone(
        self, left: dict[TopicPartition, AppendedRange], unseen: Counter[TopicPartition]
    ) -> None:
        for partition in list(left):
            is_there = self.target.topic_id(partition.topic)
            unseen[partition] = 0 if is_there else unseen[partition] + 1
            if unseen[partition] >= _GONE_LOOKS:
                del left[partition]

    async def _read_some(
        self, wanted: Mapping[TopicPartition, AppendedRange], options: FetchOptions
    ) -> Iterable[tuple[TopicPartition, Fetched]]:
        """Fetch once from one leader; return the answers that can be used.

        A position that is gone is one: retention has taken what stood there.
        """
        target = self.target
        lead = next(filter(None, map(target.leader, wanted)), None)
        asked: dict[FetchKey, TopicPartition] = {}
        entries = []
        for partition, (begin, _) in wanted.items():
            topic_id, its = target.topic_id(partition.topic), target.leader(partition)
            if topic_id and lead and its and its.node == lead.node:
                entries.append(FetchEntry(topic_id, partition.partition, begin, its.epoch))
                asked[topic_id, partition.partition] = partition
        found: list[Fetched] = []
        if lead is not None and entries:
            found = await target.fetch(lead.node, entries, options, self._buffer)
        good = [
            each for each in found if each.error in {ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE}
        ]
        if not found or len(good) < len(found) or any(not target.topic_id(e.topic) for e in wanted):
            await asyncio.sleep(_PAUSE_S)
            await target.refresh({each.topic for each in wanted})
        return [(asked[each.topic_id, each.partition], each) for each in good]
