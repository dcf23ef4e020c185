"""Take back what surely did not land, and go on in another way. No I/O.

A refused batch used up no sequence: the broker checks what is in it before it notes the producer's
sequence. So what was refused, and what was out of order because of it, may be sent in another shape
from the refused one's sequence on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.copier.partition.intake import advance_past
from replication.copier.partition.position import Position
from replication.copier.partition.producer_batch import halves

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import PartitionCopy


def split_refused(partition: PartitionCopy) -> bool:
    """Put the halves of the refused batch in its place; False: counting is needed first.

    Only when no answer is due.
    """
    refused = partition.queue.in_flight[0]
    if not partition.queue.settled or not refused.rejected or refused.count == 1:
        reason = partition.error.reason if partition.error else ""
        partition.record_error(PartitionError(Recovery.TAKE_OVER, reason))
        return False
    partition.queue.take_back()
    partition.queue.waiting.extendleft(
        reversed(halves(partition.queue.waiting.popleft(), partition.source))
    )
    partition.error = None
    return True


def position_after_refused(partition: PartitionCopy) -> Position:
    """Return the position behind the refused record in front; nothing is changed."""
    at = partition.acked or Position(0, 0)
    return Position(partition.queue.in_flight[0].after, max(at.target, partition.counted))


def drop_refused(partition: PartitionCopy) -> None:
    """Leave the refused record in front out; what follows is sent next."""
    to = position_after_refused(partition)
    partition.queue.take_back()
    partition.queue.waiting.popleft().release_buffer()
    partition.set_position(to)


def jump(partition: PartitionCopy, to: int) -> None:
    """Go on reading at ``to``, a source offset ahead; what was read before is still sent.

    Of the records that are on the target already, no more than one an offset were in the hole: the
    others lie behind it and are not copied again.
    """
    partition.skip = max(0, partition.skip - (to - partition.position))
    partition.position = to
    advance_past(partition)


def go_back(partition: PartitionCopy, to: int) -> None:
    """Go on reading at ``to``, a source offset behind: what was read from there on is dropped."""
    at = partition.acked or Position(0, 0)
    partition.forget()
    partition.position, partition.skip = min(to, at.source), 0
    partition.set_position(Position(min(to, at.source), max(at.target, partition.counted)))
