"""Reads the source from an anchor on without copying: to find the position that a copy had.

Which records are deliverable is decided as the copy itself decided it (E).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from replication.client.fetch_session import FetchOptions
from replication.client.fetch_values import FetchBuffer, FetchEntry
from replication.copier.partition.intake import require_all, take
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.producer_state import ProducerState
from replication.errors import ClusterUnavailable
from replication.model import NO_LEADER_EPOCH, IsolationLevel, OffsetAndEpoch
from replication.records.batch import producer_ids, walk
from replication.records.codec import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.fetch_values import Fetched
    from replication.client.network import Network
    from replication.model import ProducerIdAndEpoch
    from replication.provenance.origins import ReplicationPath
    from replication.records.codec import BatchRecord

_NO_PROGRESS_S = 30.0  # without any progress


class RecordSearch(Protocol):
    """What looks at the records of a scan; ``seen`` counts them."""

    @property
    def seen(self) -> int: ...

    def add(self, records: Sequence[BatchRecord], offsets: Sequence[int]) -> None: ...


class _AnyProducer(ProducerState):
    """Accepts batches of all replication paths: a search appends nothing."""

    def producer_for(self, path: ReplicationPath) -> ProducerIdAndEpoch | None:
        return self.producer


@dataclass(slots=True)
class SourceScan:
    """Reads deliverable records from a partition's anchor on, until ``search`` has seen ``most``.

    ``run`` raises ClusterUnavailable when the source does not answer.

    Where it ``counts``, it does not survive compaction of the source, and says so; a search does.
    """

    source: Network
    partition: PartitionCopy
    search: RecordSearch
    most: int
    start: int  # the source's log start; its first batch may begin before that
    counts: bool = False  # raise NotCountable where compaction has removed records
    _epochs: list[OffsetAndEpoch] = field(default_factory=list)  # where each leader epoch begins

    async def run(self) -> None:
        partition = self.partition
        rules = partition.rules
        about = partition.flow, partition.plan, partition.topic_id, partition.claimed
        scan = PartitionCopy(*about, rules, writer=_AnyProducer())
        scan.position = partition.claimed.source or 0
        isolation = IsolationLevel.of(partition.claimed.isolation or "read_committed")
        committed = isolation is IsolationLevel.READ_COMMITTED
        options = FetchOptions(max_wait_ms=50, isolation=isolation, line="search")
        deadline, buffer = time.monotonic() + _NO_PROGRESS_S, FetchBuffer()
        while self.search.seen < self.most:
            before, found = scan.position, await self._fetch(scan, options, buffer)
            if found is not None:
                if rules.path_of is not None:
                    await rules.look_up(producer_ids(found.records))
                self._take(scan, found, buffer)
                if scan.position >= (found.stable if committed else found.high_watermark):
                    break
            if scan.position > before:
                deadline = time.monotonic() + _NO_PROGRESS_S
            elif time.monotonic() > deadline:
                raise ClusterUnavailable(f"scan for the copy position in {partition.source}")

    def epoch_before(self, offset: int) -> int:
        """Return the source's leader epoch of the last record that was read before ``offset``."""
        known = [each.epoch for each in self._epochs if each.offset < offset]
        return known[-1] if known else NO_LEADER_EPOCH

    def _take(self, scan: PartitionCopy, found: Fetched, buffer: FetchBuffer) -> None:
        if self.counts:
            require_all(found, max(scan.position, self.start), scan.source)
        take(scan, found, buffer)
        for producer_batch in scan.queue.waiting:
            if not self._epochs or self._epochs[-1].epoch != producer_batch.epoch_after:
                begins = OffsetAndEpoch(producer_batch.offsets[0], producer_batch.epoch_after)
                self._epochs.append(begins)
            (batch,) = walk(producer_batch.batch, scan.source)
            self.search.add(decode(batch, scan.source), producer_batch.offsets)
            producer_batch.release_buffer()
        scan.queue.waiting.clear()

    async def _fetch(
        self, scan: PartitionCopy, options: FetchOptions, into: FetchBuffer
    ) -> Fetched | None:
        """Fetch once; None: the leader has not answered yet."""
        leader = self.source.leader(scan.source)
        if leader is not None:
            at = max(scan.position, self.start)
            entry = FetchEntry(*scan.key, at, leader.epoch)
            (found,) = await self.source.fetch(leader.node, [entry], options, into)
            if not found.error:
                return found
        await asyncio.sleep(0.1)
        await self.source.refresh([scan.source.topic])
        return None
