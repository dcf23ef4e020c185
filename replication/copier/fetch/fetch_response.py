"""Handle a Fetch response per partition: queue batches, errors, leader changes, divergence.

Some responses need more: after OFFSET_OUT_OF_RANGE the source's log offsets are requested, a batch
that cannot be read is requested again, from other replicas too, and a last stable offset that does
not advance shows an open transaction at the source.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.log_end import confirmed_end
from replication.client.network import PartitionReader
from replication.clock import now_ms
from replication.copier.fetch.damaged_batch import DamagedBatch
from replication.copier.fetch.suspect_batches import SuspectBatches
from replication.copier.partition.broker_errors import (
    LEADER_MOVED,
    UNREADABLE,
    PartitionError,
    Recovery,
    diverged,
    fetch_error,
    out_of_range,
    rewritten,
)
from replication.copier.partition.intake import take
from replication.errors import ClusterRejected, ClusterUnavailable, CorruptBatch, NotCountable
from replication.model import EARLIEST_TIMESTAMP, NO_LEADER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from replication.client.fetch_values import FetchBuffer, Fetched, Leader
    from replication.client.network import Network
    from replication.client.preferred_replicas import Replicas
    from replication.copier.fetch.buffer_pool import BufferPool
    from replication.copier.fetch.throttle import Throttle
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Sender

STALLED_AFTER_S = 5.0  # transactions of applications are shorter
_LOCATE_S = 5.0
_NEXT_MOVE_S = 1.0  # brokers that each name the other would be asked without a pause


@dataclass(slots=True)
class StalledLso:
    """Tracks since when each partition's last stable offset has not advanced."""

    _since: dict[PartitionCopy, tuple[int, float]] = field(default_factory=dict)

    def on_response(self, partition: PartitionCopy, found: Fetched, now: float) -> None:
        """Check a read_committed response; set ``stalled_lso`` if a transaction blocks it."""
        if not found.stable < found.high_watermark or partition.position < found.stable:
            self._since.pop(partition, None)
            partition.status.stalled_lso = ""
            return
        offset, since = self._since.setdefault(partition, (found.stable, now))
        if offset != found.stable:
            self._since[partition] = found.stable, now
            partition.status.stalled_lso = ""
        elif now - since >= STALLED_AFTER_S:
            behind = found.high_watermark - found.stable
            partition.status.stalled_lso = (
                f"blocked by an open transaction at offset {found.stable} of the source; "
                f"{behind} later offsets wait until it ends"
            )


@dataclass(frozen=True, slots=True)
class FetcherContext:
    """What all fetchers of a unit share."""

    network: Network
    committed: bool  # isolation level read_committed
    buffers: BufferPool
    throttle: Throttle
    replicas: Replicas
    sender: Sender
    producers: Producers
    on_moved: Callable[[PartitionCopy], None]  # the partition is to be fetched from another broker
    stalled_lso: StalledLso = field(default_factory=StalledLso)
    suspects: SuspectBatches = field(default_factory=SuspectBatches)
    moved_at: dict[PartitionCopy, float] = field(default_factory=dict)  # to a leader, when


@dataclass(frozen=True, slots=True)
class Unclear:
    """Partitions whose error further requests find."""

    outside: list[PartitionCopy] = field(default_factory=list)  # their positions are not in the log
    damaged: list[PartitionCopy] = field(default_factory=list)  # what is there could not be read

    def __bool__(self) -> bool:
        return bool(self.outside or self.damaged)


class HandledResponse(NamedTuple):
    """What a response of one partition came to: queued bytes, and if its error is unclear yet."""

    size: int = 0
    is_outside: bool = False
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """Handles the Fetch responses of broker ``node``."""

    node: int
    shared: FetcherContext

    def take(
        self, partition: PartitionCopy, found: Fetched, buffer: FetchBuffer
    ) -> HandledResponse:
        """Queue the fetched batches, or record the error unless ``locate`` has to find it."""
        if found.error in UNREADABLE:
            return HandledResponse(is_damaged=self._is_damaged(partition, fetch_error(found.error)))
        moves = self._moves_to_other_broker(partition, found)
        if found.error:
            is_outside = found.error == ErrorCode.OFFSET_OUT_OF_RANGE
            if not moves and not is_outside:
                self.record_error(partition, fetch_error(found.error))
            return HandledResponse(is_outside=is_outside)
        if moves:
            return HandledResponse()
        if found.diverging is not None:
            self._on_divergence(partition, *found.diverging)
            return HandledResponse()
        return self._queue(partition, found, buffer)

    def _queue(
        self, partition: PartitionCopy, found: Fetched, buffer: FetchBuffer
    ) -> HandledResponse:
        readable = found.stable if self.shared.committed else found.high_watermark
        partition.source_log.answered(min(readable, partition.end))
        partition.anchor_changes.add(partition)
        try:
            size = take(partition, found, buffer, now_ms())
            self._on_good_response(partition)
            return HandledResponse(size)
        except NotCountable as error:  # while records are skipped: nothing waits to be sent
            partition.uncountable = str(error)
            self.record_error(partition, PartitionError(Recovery.TAKE_OVER, str(error)))
            return HandledResponse()
        except CorruptBatch as error:
            partition.source_log.unread = max(partition.position, error.offset or 0)
            if partition.queue.waiting:
                return (
                    HandledResponse()
                )  # batches before it are sent first; then it is fetched again
            again = PartitionError(Recovery.RETRY, str(error))
            return HandledResponse(is_damaged=self._is_damaged(partition, again))
        finally:
            if self.shared.committed:
                self.shared.stalled_lso.on_response(partition, found, time.monotonic())
            self.shared.throttle.on_response(partition)
            if partition.acked is not None and partition.acked.source >= partition.source_log.end:
                partition.counters.caught_up_ms = now_ms()
                partition.status.stuck = None  # all is copied: nothing is missing or rejected

    def _on_good_response(self, partition: PartitionCopy) -> None:
        self.shared.suspects.on_response(partition, time.monotonic())
        if partition.queue.last is None:  # else the target has yet to answer well
            partition.recovered()

    def _is_damaged(self, partition: PartitionCopy, error: PartitionError) -> bool:
        """Say whether a batch counts as damaged; else it is fetched again, from whom it may be."""
        nodes = self.shared.network.in_sync(partition.source)
        step = self.shared.suspects.note(partition, self.node, nodes)
        if step.replica is not None:
            self.shared.replicas.prefer(partition.source, step.replica, time.monotonic())
            self.shared.on_moved(partition)
        elif not step.is_damaged or partition.queue.last is not None:
            self.record_error(partition, error)
        else:
            return True
        return False

    def _moves_to_other_broker(self, partition: PartitionCopy, found: Fetched) -> bool:
        """Move to the replica or leader that the broker names; give up a replica that fails."""
        if (
            found.error in LEADER_MOVED
            and found.leader
            and self._moves_to_leader(partition, found.leader)
        ):
            return True
        replicas, now = self.shared.replicas, time.monotonic()
        names_other = found.preferred_replica >= 0 and found.preferred_replica != self.node
        if not self._is_leader(partition) and (found.error or found.diverging or names_other):
            replicas.give_up(partition.source, now)
        elif names_other and replicas.rack_at(now):  # only for our rack a leader names another
            replicas.prefer(partition.source, found.preferred_replica, now)
        else:
            return False
        self.shared.on_moved(partition)
        return True

    def _moves_to_leader(self, partition: PartitionCopy, leader: Leader) -> bool:
        """Move at once to the leader that the response names, if its address is known."""
        now, moved_at = time.monotonic(), self.shared.moved_at
        if leader.node == self.node or now - moved_at.get(partition, -_NEXT_MOVE_S) < _NEXT_MOVE_S:
            return False
        if not self.shared.network.learn(partition.source, leader):
            return False
        moved_at[partition] = now
        self.shared.on_moved(partition)
        return True

    def _is_leader(self, partition: PartitionCopy) -> bool:
        return self.shared.replicas.of(partition.source, time.monotonic()) != self.node

    def _on_divergence(self, partition: PartitionCopy, epoch: int, end: int) -> None:
        """Handle a diverging epoch: the source's log lacks our last batch, or has another epoch."""
        if end < partition.position:
            self.record_error(partition, diverged(partition.position, end, epoch))
        else:  # only offsets behind our position are gone; nothing that was copied is
            partition.resume_at(partition.position, epoch)

    def back_off_all(
        self, partitions: Iterable[PartitionCopy], reason: str, silent_s: float
    ) -> None:
        """Back off ``partitions``: the broker did not answer. A follower is not used again.

        ``silent_s``: for how long it did not.
        """
        since_ms = int((time.time() - silent_s) * 1000)
        for partition in partitions:
            partition.source_log.is_silent(since_ms)
            if not self._is_leader(partition):
                self.shared.replicas.give_up(partition.source, time.monotonic())
                self.shared.on_moved(partition)
            elif partition.fetches:
                self.record_error(partition, PartitionError(Recovery.RETRY, reason))

    def record_error(self, partition: PartitionCopy, error: PartitionError) -> None:
        """Record an error of a partition; it is handled once no response is outstanding."""
        partition.record_error(error)
        self.shared.sender.dispatch(partition)


async def locate(
    source: Network, unclear: Unclear, *, committed: bool
) -> list[tuple[PartitionCopy, PartitionError]]:
    """Return the errors of partitions; one that can be read after all has none."""
    partitions = [*unclear.outside, *unclear.damaged]
    found = await asyncio.gather(
        *(_located(source, each) for each in unclear.outside),
        *(_damage(source, each, committed=committed) for each in unclear.damaged),
    )
    pairs = zip(partitions, found, strict=True)
    return [(partition, error) for partition, error in pairs if error is not None]


async def _damage(
    source: Network, partition: PartitionCopy, *, committed: bool
) -> PartitionError | None:
    try:
        async with asyncio.timeout(_LOCATE_S):
            return await DamagedBatch(source, partition, committed).error()
    except (TimeoutError, ClusterUnavailable, ClusterRejected) as problem:
        return PartitionError(
            Recovery.RETRY, str(problem) or "the source does not return the batch in time"
        )


async def _located(source: Network, partition: PartitionCopy) -> PartitionError:
    try:
        async with asyncio.timeout(_LOCATE_S):
            end = await confirmed_end(source, partition.source, partition.position)
            start = await source.offset_at(partition.source, EARLIEST_TIMESTAMP)
            if start <= partition.position <= end and await _lacks_epoch(source, partition):
                return rewritten(partition.position, partition.last_epoch)
    except (TimeoutError, ClusterUnavailable, ClusterRejected) as problem:
        return PartitionError(
            Recovery.RETRY, str(problem) or "the source does not return its offset range"
        )
    return out_of_range(partition.position, start, end)


async def _lacks_epoch(source: Network, partition: PartitionCopy) -> bool:
    """Say whether the source's leader knows no leader epoch as high as that of our last batch.

    Then it answers OFFSET_OUT_OF_RANGE within its log (KIP-320, ``Partition.readRecords``). Without
    the epoch it does not, unless retention has passed the position since its log start was read.
    """
    if partition.last_epoch == NO_LEADER_EPOCH:
        return False
    reading = PartitionReader(source, partition.source, "locate")
    options = FetchOptions(max_wait_ms=0, min_bytes=0)
    for last_epoch, is_outside in ((partition.last_epoch, True), (NO_LEADER_EPOCH, False)):
        found = await reading.fetch(partition.position, options, last_epoch)
        if found is None or (found.error == ErrorCode.OFFSET_OUT_OF_RANGE) is not is_outside:
            return False
    return True
