"""Finds who still writes records that a flow copies, from the batches that reached its source.

Brokers do not tell which clients are connected, but every batch has its producer's id. Copies that
another flow appends at the source, and that this flow does not pass on, are no client's records.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.network import PartitionReader
from replication.errors import ClusterUnavailable
from replication.model import (
    BY_HEADERS,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    NO_PRODUCER_ID,
    TopicPartition,
)
from replication.provenance.producer_registry import SourceRegistry
from replication.provenance.record_headers import is_copied, origin_of
from replication.records.batch import walk
from replication.records.codec import decode, headers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.client.fetch_values import Fetched
    from replication.client.network import Network
    from replication.provenance.origins import ForwardingRule
    from replication.records.batch import Batch

_NO_PROGRESS_S = 15.0
_PAUSE_S = 0.1
_OPTIONS = FetchOptions(max_wait_ms=0, min_bytes=0, partition_bytes=256 << 10, line="writers")


@dataclass(frozen=True, slots=True, order=True)
class Writer:
    """Who appended the newest batch that was seen in a partition; ``at_ms``: its timestamp.

    ``producer_id`` None: a producer without one. ``flow``: the flow that appends by this id.
    """

    partition: TopicPartition
    producer_id: int | None
    epoch: int
    offset: int
    at_ms: int
    flow: str = ""
    open_transaction: bool = False

    @property
    def who(self) -> str:
        """Return the producer in words."""
        if self.flow:
            return f"flow {self.flow}"
        if self.producer_id is None:
            return "a producer without producer id"
        return f"producer id {self.producer_id} epoch {self.epoch}"


@dataclass(slots=True)
class SourceWriters:
    """Looks at the partitions of a source again and again.

    ``rules`` say which copies the flow passes on; None: all. Raises ClusterUnavailable.
    """

    source: Network
    rules: Mapping[TopicPartition, ForwardingRule | None]
    positions: dict[TopicPartition, int] = field(default_factory=dict)  # next offsets to look at
    _registry: SourceRegistry = field(init=False)

    def __post_init__(self) -> None:
        self._registry = SourceRegistry(self.source)

    async def begin(self, partitions: Iterable[TopicPartition]) -> None:
        """Look from the present ends on."""
        self.positions = await self._ends(sorted(partitions))

    async def look(
        self, readable: Mapping[TopicPartition, int] | None = None
    ) -> tuple[Writer, ...]:
        """Return a writer of each partition that was written to since the last look, in order.

        ``readable``: the last stable offsets, read before; a transaction that is open behind one
        is a writer too.
        """
        ends = await self._ends(sorted(self.positions))
        found = []
        for where, end in ends.items():
            writer = await self._written(where, end)
            stable = end if readable is None else readable.get(where, end)
            if writer is None and stable < end:
                writer = await self._at(where, stable)
            if writer is not None:
                found.append(writer)
            self.positions[where] = max(self.positions[where], end)
        return tuple(found)

    async def _ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        await self.source.refresh({each.topic for each in partitions})
        ends = (self.source.offset_at(each, LATEST_TIMESTAMP) for each in partitions)
        return dict(zip(partitions, await asyncio.gather(*ends), strict=True))

    async def _written(self, where: TopicPartition, end: int) -> Writer | None:
        """Return a writer of what came since the last look."""
        at, reading = self.positions[where], PartitionReader(self.source, where, "writers")
        while at < end:
            batches = await self._batches(reading, at)
            writer = await self._newest(where, batches)
            if writer is not None or not batches:
                return writer
            at = batches[-1].last + 1
        return None

    async def _at(self, where: TopicPartition, offset: int) -> Writer | None:
        """Return the writer of the open transaction that begins at an offset."""
        batches = await self._batches(PartitionReader(self.source, where, "writers"), offset)
        first = [each for each in batches if each.is_transactional and not each.is_control][:1]
        writer = await self._newest(where, first)
        if writer is None:
            return None
        return Writer(
            where, writer.producer_id, writer.epoch, writer.offset, writer.at_ms, writer.flow,
            open_transaction=True,
        )  # fmt: skip

    async def _newest(self, where: TopicPartition, batches: list[Batch]) -> Writer | None:
        await self._registry.look_up({each.producer_id for each in batches})
        for batch in reversed(batches):
            if batch.count and not batch.is_control and self._is_copied(where, batch):
                entry = self._registry.origins.entries.get(batch.producer_id)
                known = batch.producer_id != NO_PRODUCER_ID
                return Writer(
                    where,
                    batch.producer_id if known else None,
                    batch.producer_epoch,
                    batch.last,
                    batch.max_timestamp,
                    "" if entry is None else entry.flow,
                )
        return None

    def _is_copied(self, where: TopicPartition, batch: Batch) -> bool:
        rule = self.rules.get(where)
        if rule is None:
            return True
        if rule.by == BY_HEADERS:
            return any(is_copied(origin_of(headers_of(e)), rule) for e in decode(batch, where))
        path = self._registry.origins.path_of(batch.producer_id, batch.base, rule)
        return path is not None

    async def _batches(self, reading: PartitionReader, at: int) -> list[Batch]:
        """Return the batches at an offset, from a single Fetch; none: the log ends there."""
        where, until = reading.partition, time.monotonic() + _NO_PROGRESS_S
        while True:
            found = await reading.fetch(at, _OPTIONS)
            if found is not None and found.error == ErrorCode.NONE:
                return _from(found, where, at)
            if found is not None and found.error == ErrorCode.OFFSET_OUT_OF_RANGE:
                start = await self.source.offset_at(where, EARLIEST_TIMESTAMP)
                if start <= at:
                    return []
                at = start  # retention deleted what was before
                continue
            if time.monotonic() > until:
                raise ClusterUnavailable(f"reading {where}: it has no leader")
            await asyncio.sleep(_PAUSE_S)
            await self.source.refresh([where.topic])


def _from(found: Fetched, where: TopicPartition, at: int) -> list[Batch]:
    return [each for each in walk(found.records, where, found.legacy) if each.last >= at]
