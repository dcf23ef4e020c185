"""Reads one log to count records: which of its offsets hold records of this copy."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode, named_error
from replication.client.fetch_session import FetchOptions
from replication.client.log_end import confirmed_end
from replication.client.network import PartitionReader
from replication.errors import ClusterUnavailable, CorruptBatch
from replication.model import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, IsolationLevel, OffsetRange
from replication.records.aborted_filter import AbortedFilter
from replication.records.batch import Batch, walk
from replication.records.codec import decode

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

    from replication.client.fetch_values import Fetched
    from replication.client.network import Network
    from replication.model import TopicPartition

_CONNECTION = "offsets"  # no other request waits behind its Fetches
_TRIES = 20
_PAUSE_S = 0.1
_FIRST, _THEN = 256 << 10, 4 << 20  # bytes of a fetch: the first is mostly enough


@dataclass(slots=True)
class CountedLog:
    """Reads a partition's batch headers; decodes only batches with holes in them.

    ``counts`` says whether a batch's records count; ``left_out`` are ranges of offsets that
    never did. ``end`` is where the last reading ended.
    """

    network: Network
    partition: TopicPartition
    counts: Callable[[Batch], bool]
    committed: bool = True  # skip aborted transactions, and read no further than is decided
    left_out: Sequence[OffsetRange] = ()
    end: int = 0
    _reading: PartitionReader = field(init=False)

    def __post_init__(self) -> None:
        self._reading = PartitionReader(self.network, self.partition, _CONNECTION)

    async def start(self) -> int:
        """Return the log start offset."""
        return await self.network.offset_at(self.partition, EARLIEST_TIMESTAMP)

    async def high_watermark(self, known: int) -> int:
        """Return the end offset; one below ``known`` is confirmed by further requests."""
        return await confirmed_end(self.network, self.partition, known)

    async def spans(
        self, begin: int, until: int | None = None
    ) -> AsyncGenerator[Sequence[int], None]:
        """Yield, batch by batch, the offsets in [begin, until) that count.

        Without ``until`` up to where the log ends when the reading begins.
        """
        async with aclosing(self.batches(begin, until)) as batches:
            async for batch, first, after in batches:
                if offsets := self._offsets(batch, first, after):
                    yield offsets

    async def records(self, begin: int, until: int) -> AsyncGenerator[tuple[int, int], None]:
        """Yield offset and fingerprint of the records in [begin, until) that count.

        The fingerprint is of timestamp, key, value and headers, for this process alone.
        """
        async with aclosing(self.batches(begin, until)) as batches:
            async for batch, first, after in batches:
                counted = set(self._offsets(batch, first, after))
                for each in decode(batch, self.partition):
                    if each.offset in counted:
                        yield each.offset, hash((each.timestamp, each.rest))

    async def batches(
        self, begin: int, until: int | None
    ) -> AsyncGenerator[tuple[Batch, int, int], None]:
        """Yield the batches that count, with the range of offsets to read in each.

        A batch is valid until the next one is asked for.
        """
        at = self.end = begin
        options = FetchOptions(0, 0, _THEN, _FIRST, IsolationLevel(self.committed))
        while until is None or at < until:
            at = self._past_left_out(at)
            found = await self._fetch(at, options)
            end = found.stable if self.committed else found.high_watermark
            until = end if until is None else until
            before, keeps = at, AbortedFilter(found.aborted)
            for batch in self._walk(found):
                kept = keeps.keeps(batch) and batch.count and self.counts(batch)
                if batch.last < at:
                    continue
                first, at = max(batch.base, at), batch.last + 1
                self.end = min(at, until)
                if kept and batch.base < until:
                    yield batch, first, min(at, until)
            if at == before:  # the log ends here
                self.end = max(self.end, min(end, until))
                return
            options = replace(options, partition_bytes=_THEN)

    def _walk(self, found: Fetched) -> Iterator[Batch]:
        """Yield the batches, up to a damaged one that was left out."""
        following = 0
        try:
            for batch in walk(found.records, self.partition, found.legacy):
                yield batch
                following = batch.last + 1
        except CorruptBatch:
            if self._past_left_out(following) == following:
                raise

    def _past_left_out(self, offset: int) -> int:
        """Return the first offset from ``offset`` on that was not left out."""
        for each in sorted(self.left_out):
            if each.start <= offset < each.end:
                offset = each.end
        return offset

    def _offsets(self, batch: Batch, first: int, after: int) -> Sequence[int]:
        holes = [
            each for each in self.left_out if each.start <= batch.last and batch.base < each.end
        ]
        if batch.count == batch.last - batch.base + 1 and not holes:
            return range(first, after)
        if self._past_left_out(first) >= after:
            return ()  # it may be one whose records cannot be read
        there = (each.offset for each in decode(batch, self.partition))
        return [
            offset
            for offset in there
            if first <= offset < after and not any(a <= offset < b for a, b in holes)
        ]

    async def _fetch(self, at: int, options: FetchOptions) -> Fetched:
        """Fetch once; retry while leaders move. Skip what retention deletes meanwhile."""
        where, message = self.partition, "it has no leader"
        for _ in range(_TRIES):
            found = await self._reading.fetch(at, options)
            if found is not None:
                if found.error == ErrorCode.NONE:
                    return found
                message = named_error(found.error)
                if found.error == ErrorCode.OFFSET_OUT_OF_RANGE:
                    start = await self.start()
                    if start <= at:
                        break  # the log ends before ``at``
                    at = start
                    continue
            await asyncio.sleep(_PAUSE_S)
            await self.network.refresh([where.topic])
        if found is not None and found.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            end = await self.network.offset_at(where, LATEST_TIMESTAMP)
            return found._replace(
                error=ErrorCode.NONE, high_watermark=end, stable=end, records=memoryview(b"")
            )
        raise ClusterUnavailable(f"reading {where}: {message}")
