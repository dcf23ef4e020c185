"""What an answer of a source broker says of each lane, and what fetchers of a unit share.

Some answers do not say enough: a refused position is looked for in the source's log, and a readable
end that stands still shows that a transaction at the source stays open.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.client.log_end import confirmed_end
from replication.copier.partition.broker_errors import (
    LEADER_MOVED,
    PartitionError,
    Recovery,
    diverged,
    fetch_error,
    out_of_range,
)
from replication.copier.partition.intake import take
from replication.errors import ClusterRejected, ClusterUnavailable, CorruptBatch
from replication.model import EARLIEST_TIMESTAMP

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

HELD_S = 5.0  # transactions of applications are shorter
_LOCATE_S = 5.0


@dataclass(slots=True)
class StalledLso:
    """Remembers since when each lane's last stable offset has been what it is."""

    _since: dict[PartitionCopy, tuple[int, float]] = field(default_factory=dict)

    def heard(self, partition: PartitionCopy, found: Fetched, now: float) -> None:
        """Take in an answer to a reader of committed records; say so when it is held for long."""
        if not found.stable < found.high_watermark or partition.position < found.stable:
            self._since.pop(partition, None)
            partition.stalled_lso = ""
            return
        offset, since = self._since.setdefault(partition, (found.stable, now))
        if offset != found.stable:
            self._since[partition] = found.stable, now
            partition.stalled_lso = ""
        elif now - since >= HELD_S:
            behind = found.high_watermark - found.stable
            partition.stalled_lso = (
                f"blocked by an open transaction at offset {found.stable} of the source; "
                f"{behind} later offsets wait until it ends"
            )


@dataclass(frozen=True, slots=True)
class FetcherContext:
    """What all fetchers of a unit share."""

    network: Network
    committed: bool  # the source is asked for committed records only
    buffers: BufferPool
    throttle: Throttle
    replicas: Replicas
    sender: Sender
    producers: Producers
    on_moved: Callable[[PartitionCopy], None]  # a lane is to be read from another broker
    stalled_lso: StalledLso = field(default_factory=StalledLso)


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """Takes in what broker ``node`` answers."""

    node: int
    shared: FetcherContext

    def take(
        self, partition: PartitionCopy, found: Fetched, buffer: FetchBuffer
    ) -> tuple[int, bool]:
        """Queue what is to be copied, or note what is wrong.

        Returns how many bytes were queued, and whether the position is not in the source's log:
        then ``locate`` finds out what is.
        """
        goes_elsewhere = self._goes_elsewhere(partition, found)
        if found.error:
            is_outside = found.error == ErrorCode.OFFSET_OUT_OF_RANGE
            if not goes_elsewhere and not is_outside:
                self.record_error(partition, fetch_error(found.error))
            return 0, is_outside
        if goes_elsewhere:
            return 0, False
        if found.diverging is not None:
            self._diverges(partition, *found.diverging)
            return 0, False
        return self._queue(partition, found, buffer), False

    def _queue(self, partition: PartitionCopy, found: Fetched, buffer: FetchBuffer) -> int:
        partition.source_end = found.stable if self.shared.committed else found.high_watermark
        partition.news.add(partition)
        try:
            return take(partition, found, buffer, int(time.time() * 1000))
        except CorruptBatch as error:
            if partition.queue.waiting:
                return 0  # what came before the damage is sent first; then it is met again
            self.record_error(partition, PartitionError(Recovery.RETRY, str(error)))
            return 0
        finally:
            if self.shared.committed:
                self.shared.stalled_lso.heard(partition, found, time.monotonic())
            self.shared.throttle.heard(partition)
            if partition.acked is not None and partition.acked.source >= partition.source_end:
                partition.counters.caught_up_ms = int(time.time() * 1000)
                partition.stuck = None  # nothing is left that could be missing or refused

    def _goes_elsewhere(self, partition: PartitionCopy, found: Fetched) -> bool:
        """Follow a leader's hint at a replica near us; leave one that has not what we want."""
        if found.error in LEADER_MOVED and found.leader and self._follows(partition, found.leader):
            return True
        replicas, now = self.shared.replicas, time.monotonic()
        if not self._leads(partition) and (found.error or found.diverging):
            replicas.give_up(partition.source, now)
        elif found.preferred_replica >= 0 and found.preferred_replica != self.node:
            replicas.prefer(partition.source, found.preferred_replica, now)
        else:
            return False
        self.shared.on_moved(partition)
        return True

    def _follows(self, partition: PartitionCopy, leader: Leader) -> bool:
        """Read on at once from the leader that the former one names, if its address is known."""
        if leader.node == self.node or not self.shared.network.learn(partition.source, leader):
            return False
        self.shared.on_moved(partition)
        return True

    def _leads(self, partition: PartitionCopy) -> bool:
        return self.shared.replicas.of(partition.source, time.monotonic()) != self.node

    def _diverges(self, partition: PartitionCopy, epoch: int, end: int) -> None:
        """Note that the source has not the batch that we took last, or not from that leader."""
        if end < partition.position:
            self.record_error(partition, diverged(partition.position, end))
        else:  # what came after our position is gone; nothing that was copied is
            partition.go_on_at(partition.position, epoch)

    def all_wait(self, partitions: Iterable[PartitionCopy], reason: str) -> None:
        """Hold ``partitions`` back: the broker did not answer. A replica near us is left for good."""
        for partition in partitions:
            if not self._leads(partition):
                self.shared.replicas.give_up(partition.source, time.monotonic())
                self.shared.on_moved(partition)
            elif partition.fetches:
                self.record_error(partition, PartitionError(Recovery.RETRY, reason))

    def record_error(self, partition: PartitionCopy, error: PartitionError) -> None:
        """Note trouble of a lane; it is dealt with when no answer is due."""
        partition.record_error(error)
        self.shared.sender.dispatch(partition)


async def locate(source: Network, partitions: Iterable[PartitionCopy]) -> list[PartitionError]:
    """Return what to make of each lane's position."""
    return await asyncio.gather(*(_located(source, each) for each in partitions))


async def _located(source: Network, partition: PartitionCopy) -> PartitionError:
    try:
        async with asyncio.timeout(_LOCATE_S):
            end = await confirmed_end(source, partition.source, partition.position)
            start = await source.offset_at(partition.source, EARLIEST_TIMESTAMP)
    except (TimeoutError, ClusterUnavailable, ClusterRejected) as problem:
        return PartitionError(
            Recovery.RETRY, str(problem) or "the source does not return its offset range"
        )
    if start <= partition.position <= end:  # then what it could not find is our leader epoch
        partition.go_on_at(partition.position)
    return out_of_range(partition.position, start, end)
