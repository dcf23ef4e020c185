"""Split a batch that the target rejected, as too large too, until the record is alone. No I/O.

A rejected batch uses no sequence: the broker validates a batch before it updates the producer's
sequence. So the rejected batch, and those out of order because of it, may be sent in another form
from the rejected batch's sequence on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.copier.partition.broker_errors import (
    PartitionError,
    Recovery,
    unreadable_batch,
)
from replication.copier.partition.fetch_state import leader_epoch_at
from replication.copier.partition.intake import advance_past
from replication.copier.partition.producer_batch import halves
from replication.errors import CorruptBatch
from replication.model import OffsetAndEpoch
from replication.records.batch import walk
from replication.records.codec import decode

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.partition.position import Position
    from replication.copier.partition.producer_batch import ProducerBatch
    from replication.model import TopicPartition


def split_refused(partition: PartitionCopy) -> bool:
    """Replace the rejected batch by its halves; False: another error is recorded.

    Then a takeover has to count first, or the batch cannot be split.

    Only when no response is outstanding.
    """
    refused = partition.queue.in_flight[0]
    if not partition.queue.settled or not refused.rejected or refused.count == 1:
        reason = partition.error.reason if partition.error else ""
        partition.record_error(PartitionError(Recovery.TAKE_OVER, reason))
        return False
    try:
        parts = halves(refused, partition.source)
    except CorruptBatch:
        _on_unreadable(partition, refused)
        return False
    partition.queue.take_back()
    partition.queue.waiting.popleft()
    partition.queue.waiting.extendleft(reversed(parts))
    partition.error = None
    return True


def is_unreadable(producer_batch: ProducerBatch, where: TopicPartition) -> bool:
    """Say whether nobody can read a batch's records: a broker fails on it, and appends nothing."""
    try:
        decode(next(walk(producer_batch.batch, where)), where)
    except CorruptBatch:
        return True
    return False


def _on_unreadable(partition: PartitionCopy, refused: ProducerBatch) -> None:
    """Let the policy decide about a batch whose records nobody can read."""
    if partition.error is not None:
        partition.record_error(unreadable_batch(partition.error, refused.offsets, refused.after))


def position_after_refused(partition: PartitionCopy) -> Position:
    """Return the position behind the rejected record at the front. Changes nothing."""
    return partition.behind_counted(partition.queue.in_flight[0].after)


def drop_refused(partition: PartitionCopy) -> None:
    """Drop the rejected record at the front; the batches behind it are sent next."""
    to = position_after_refused(partition)
    partition.queue.take_back()
    refused = partition.queue.waiting.popleft()
    refused.release_buffer()
    partition.done = OffsetAndEpoch(refused.after, refused.epoch_after)
    partition.set_position(to)


def jump(partition: PartitionCopy, to: int) -> None:
    """Continue fetching at ``to``, a source offset ahead; batches fetched before are still sent.

    Of the records that are on the target already, at most one per offset was in the gap: the
    others are behind it and are not copied again.
    """
    partition.counted.skip = max(0, partition.counted.skip - (to - partition.position))
    partition.resume_at(to)
    advance_past(partition)


def go_back(partition: PartitionCopy, to: OffsetAndEpoch) -> None:
    """Continue fetching at ``to``, a source offset behind; drop batches fetched from there on."""
    begin = partition.acked.source if partition.acked else 0
    if to.offset > begin:
        to = OffsetAndEpoch(begin, leader_epoch_at(partition.done, begin))
    partition.forget()
    partition.go_on_at(*to)
