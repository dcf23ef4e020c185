"""Handle a Fetch response per partition: queue batches, errors, leader changes, divergence.

A batch that cannot be read is requested again, from other replicas too. Where a response does not
say what the error is, ``unclear_errors`` finds it by further requests.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.client.error_codes import ErrorCode
from replication.clock import now_ms
from replication.copier.fetch.stalled_lso import StalledLso
from replication.copier.fetch.suspect_batches import SuspectBatches
from replication.copier.partition.broker_errors import (
    LEADER_MOVED,
    UNREADABLE,
    PartitionError,
    Recovery,
    diverged,
    fetch_error,
)
from replication.copier.partition.intake import take
from replication.errors import CorruptBatch, NotCountable

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

_NEXT_MOVE_S = 1.0  # brokers that each name the other would be asked without a pause


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
