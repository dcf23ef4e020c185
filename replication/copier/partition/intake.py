"""Take in what the source answered: what is to be copied becomes pieces that wait. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.copier.partition.position import Position
from replication.copier.partition.producer_batch import Piece
from replication.errors import CorruptBatch
from replication.model import NO_LEADER_EPOCH
from replication.provenance.origins import BORN_HERE
from replication.records.batch import AbortedFilter, Batch, walk
from replication.records.codec import reshape

if TYPE_CHECKING:
    from replication.client.fetch_values import Fetched, Frame
    from replication.copier.partition.partition_copy import Lane
    from replication.provenance.origins import Via

    News = tuple[Lane, Fetched]  # what a broker answered for a partition that still wants it


def take(lane: Lane, fetched: Fetched, frame: Frame, now_ms: int = 0) -> int:
    """Queue what the source answered; return how many bytes were queued.

    Raises CorruptBatch; what came before the damage is queued.
    """
    queued = 0
    aborted = AbortedFilter(fetched.aborted)
    for batch in walk(fetched.records, lane.source, fetched.legacy):
        if batch.last < lane.position:
            aborted.keeps(batch)
            continue
        # No checksum covers offsets. What follows without a gap may have come after the high
        # watermark was noted; a jump beyond it is damage.
        if lane.position < batch.base and batch.last >= fetched.high_watermark:
            raise CorruptBatch(
                f"reading {lane.source} at offset {batch.base}: a batch up to {batch.last} "
                f"in a log that ends at {fetched.high_watermark}"
            )
        via = _via(lane, batch) if aborted.keeps(batch) and batch.count else None
        if via and lane.queue.writer.producer_for(via) is None:
            break  # it is fetched again when there is one
        at, before, epoch = lane.position, lane.last_epoch, batch.leader_epoch
        piece = None if via is None else _piece(lane, batch, frame, via)
        lane.go_on_at(batch.last + 1, epoch)
        if piece is None:
            pass_over(lane)
        else:
            piece.epoch_before = before if piece.before == at else NO_LEADER_EPOCH
            piece.epoch_after = epoch
            piece.fetched_ms = now_ms
            lane.queue.waiting.append(piece)
            queued += len(piece.batch)
    return queued


def pass_over(lane: Lane) -> None:
    """Note that what was fetched last needs no append: markers, aborted, already there."""
    if lane.skip:
        return  # the anchor stays until counting has been used up
    last = lane.queue.last
    if last is not None:
        last.after, last.epoch_after = lane.position, lane.last_epoch
    elif lane.acked is not None:
        lane.done = lane.fetched_to
        lane.moved_to(Position(lane.position, max(lane.acked.target, lane.counted)))


def _via(lane: Lane, batch: Batch) -> Via | None:
    """Return the clusters that a batch came by; None: it is a copy that is not to be copied."""
    return BORN_HERE if lane.passage is None else lane.passage(batch.producer_id)


def _piece(lane: Lane, batch: Batch, frame: Frame, via: Via) -> Piece | None:
    """Return what is left of ``batch`` after the position and the records to skip."""
    whole = batch.base >= lane.position and lane.recast is None
    if whole and 0 < batch.count <= lane.skip:
        lane.skip -= batch.count
        return None
    after = batch.last + 1
    if whole and not lane.skip and batch.passes_as_bytes:
        frame.hold()
        whole_range = range(batch.base, after)
        return Piece(batch.view, after, batch.max_timestamp, frame, whole_range, via=via)
    rest = reshape(
        batch, start=lane.position, skip=lane.skip, where=lane.source, recast=lane.recast
    )
    lane.skip -= rest.skipped
    if rest.batch is None:
        return None
    frame.hold()  # not for its memory: so that read-ahead stays bounded
    view = memoryview(rest.batch)
    return Piece(view, after, batch.max_timestamp, frame, rest.offsets, via=via)
