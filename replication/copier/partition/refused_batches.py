"""Take back what surely did not land, and go on in another way. No I/O.

A refused batch used up no sequence: the broker checks what is in it before it notes the producer's
sequence. So what was refused, and what was out of order because of it, may be sent in another shape
from the refused one's sequence on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.copier.partition.broker_errors import Remedy, Trouble
from replication.copier.partition.intake import pass_over
from replication.copier.partition.position import Position
from replication.copier.partition.producer_batch import halves

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import Lane


def split_refused(lane: Lane) -> bool:
    """Put the halves of the refused batch in its place; False: counting is needed first.

    Only when no answer is due.
    """
    refused = lane.queue.on_wire[0]
    if not lane.queue.settled or not refused.denied or refused.count == 1:
        reason = lane.trouble.reason if lane.trouble else ""
        lane.suffer(Trouble(Remedy.TAKE_OVER, reason))
        return False
    lane.queue.take_back()
    lane.queue.waiting.extendleft(reversed(halves(lane.queue.waiting.popleft(), lane.source)))
    lane.trouble = None
    return True


def without_refused(lane: Lane) -> Position:
    """Return the position behind the refused record in front; nothing is changed."""
    at = lane.acked or Position(0, 0)
    return Position(lane.queue.on_wire[0].after, max(at.target, lane.counted))


def drop_refused(lane: Lane) -> None:
    """Leave the refused record in front out; what follows is sent next."""
    to = without_refused(lane)
    lane.queue.take_back()
    lane.queue.waiting.popleft().let_go()
    lane.moved_to(to)


def jump(lane: Lane, to: int) -> None:
    """Go on reading at ``to``, a source offset ahead; what was read before is still sent.

    Of the records that are on the target already, no more than one an offset were in the hole: the
    others lie behind it and are not copied again.
    """
    lane.skip = max(0, lane.skip - (to - lane.position))
    lane.position = to
    pass_over(lane)


def go_back(lane: Lane, to: int) -> None:
    """Go on reading at ``to``, a source offset behind: what was read from there on is dropped."""
    at = lane.acked or Position(0, 0)
    lane.forget()
    lane.position, lane.skip = min(to, at.source), 0
    lane.moved_to(Position(min(to, at.source), max(at.target, lane.counted)))
