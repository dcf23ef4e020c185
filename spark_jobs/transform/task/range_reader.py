"""Reads a range of one source partition, without aborted records and without copies of the target.

Batches come from Fetch requests of our own, because only they tell the producer of each batch, by
which copies are recognized (replication.provenance.origins).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode, named_error
from replication.client.fetch_session import FetchOptions
from replication.client.network import PartitionReader
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import IsolationLevel, OffsetRange
from replication.provenance.origins import rule_of
from replication.records.aborted_filter import AbortedFilter
from replication.records.batch import producer_ids, walk
from spark_jobs.transform.columns.decoded_batches import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.client.fetch_values import Fetched
    from replication.client.network import Network
    from replication.provenance.origins import ForwardingRule
    from replication.provenance.producer_registry import SourceRegistry
    from replication.records.batch import Batch
    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.task.task_process import Connected
    from spark_jobs.transform.task.work import RangeWork, TaskClusters

_SILENT_FETCHES = 20  # of half a second each


class OutsideLog(Exception):
    """The range's first offset is not in the source's log."""


@dataclass(slots=True)
class RangeReader:
    """Reads one range, some records at a time."""

    clusters: TaskClusters
    network: Network
    registry: SourceRegistry
    work: RangeWork
    position: int = 0
    _reading: PartitionReader = field(init=False)
    _silent: int = 0

    def __post_init__(self) -> None:
        self.position = self.work.anchor.source or 0
        self._reading = PartitionReader(self.network, self.work.source, "transform")

    @property
    def is_done(self) -> bool:
        return self.position >= self.work.end

    async def read(self) -> DecodedRecords:
        """Return the next records, perhaps none, in order.

        Raises OutsideLog, ClusterUnavailable, ClusterRejected, CorruptBatch.
        """
        bounds = OffsetRange(self.position, self.work.end)
        return decode(await self._read_batches(), bounds, self.work.source)

    async def _read_batches(self) -> list[Batch]:
        """Return the next batches with records to transform; valid until the next call.

        Their first and last records may be outside of the range. Raises as ``read``.
        """
        isolation = IsolationLevel(self.clusters.committed)
        options = FetchOptions(max_wait_ms=500, isolation=isolation)
        found = await self._reading.fetch(self.position, options)
        if found is None or found.error:
            await self._fail(None if found is None else found.error)
            return []
        before = self.position
        batches = await self._batches(found)
        self._silent = 0 if self.position > before else self._silent + 1
        if self._silent > _SILENT_FETCHES:
            raise ClusterUnavailable(f"reading {self.work.source}: no record at {self.position}")
        return batches

    async def _fail(self, error: int | None) -> None:
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise OutsideLog
        if error == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise ClusterRejected(f"reading {self.work.source}: Isthmus' user needs READ on it")
        self._silent += 1
        if self._silent > _SILENT_FETCHES:
            why = "it has no leader that answers" if error is None else named_error(error)
            raise ClusterUnavailable(f"reading {self.work.source}: {why}")
        await self.network.refresh([self.work.source.topic])

    async def _batches(self, found: Fetched) -> list[Batch]:
        rule = rule_of(self.work.origins, self.clusters.target_id)
        if rule is not None and found.records:
            ids = producer_ids(found.records)
            needed = self.clusters.source_has_copies
            if self.registry.origins.unknown(ids):
                await self.registry.look_up(ids, needed=needed)
        return list(self._deliverable(found, rule))

    def _deliverable(self, found: Fetched, rule: ForwardingRule | None) -> Iterator[Batch]:
        aborted = AbortedFilter(found.aborted)
        for batch in walk(found.records, self.work.source, found.legacy, self.position):
            if batch.base >= self.work.end:
                self.position = max(self.position, self.work.end)
                return
            kept = aborted.keeps(batch) and batch.count and self._is_passed_on(batch, rule)
            if kept and batch.last >= self.position:
                yield batch
            self.position = max(self.position, batch.last + 1)

    def _is_passed_on(self, batch: Batch, rule: ForwardingRule | None) -> bool:
        """Say whether a batch is transformed; a copy that would go back is left out.

        Raises ClusterUnavailable for a copy by a way that the slot's producer does not name yet:
        the driver gets another producer (P3).
        """
        if rule is None:
            return True
        path = self.registry.origins.path_of(batch.producer_id, batch.base, rule)
        if path is None:
            return False
        if not self.clusters.passes.issuperset(path):
            raise ClusterUnavailable(
                f"{self.work.source} has copies from another cluster since offset {batch.base}"
            )
        return True


async def record_at(
    connected: Connected, clusters: TaskClusters, work: RangeWork, offset: int
) -> DecodedRecords | None:
    """Return one record of a range; None: it is none that is transformed.

    Raises as ``read``.
    """
    anchor = replace(work.anchor, source=offset)
    one = replace(work, anchor=anchor, end=offset + 1)
    await connected.source.refresh([work.source.topic])
    reader = RangeReader(clusters, connected.source, connected.registry, one)
    while not reader.is_done:
        if len(found := await reader.read()):
            return found
    return None
