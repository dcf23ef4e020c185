"""Turn fetched batches into batches to produce; skip aborted and already copied records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.copier.partition.position import lacks_records
from replication.copier.partition.producer_batch import ProducerBatch
from replication.errors import CorruptBatch, NotCountable
from replication.model import NO_LEADER_EPOCH, Mode
from replication.provenance.origins import LOCAL_ORIGIN
from replication.records.aborted_filter import AbortedFilter
from replication.records.batch import Batch, incomplete, walk
from replication.records.codec import decode, reshape
from replication.records.content_search import ends_with

if TYPE_CHECKING:
    from replication.client.fetch_values import FetchBuffer, Fetched
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.model import TopicPartition
    from replication.provenance.origins import ReplicationPath

    # What a partition got from a Fetch that still asked for its present position.
    FetchedPartition = tuple[PartitionCopy, Fetched]


def take(partition: PartitionCopy, fetched: Fetched, buffer: FetchBuffer, now_ms: int = 0) -> int:
    """Queue the fetched batches of ``partition``; return how many bytes were queued.

    Raises CorruptBatch; the batches before the corrupt one are queued. While counted records are
    skipped, raises NotCountable where compaction has removed some since they were copied, or
    before (fewer would be there to skip), and where they are not the ones that were copied (C).
    """
    queued, start, last = 0, partition.position, partition.position
    aborted = AbortedFilter(fetched.aborted)
    for batch in walk(fetched.records, partition.source, fetched.legacy, partition.position):
        last = batch.last
        if partition.position >= partition.end:
            break
        if last < partition.position:
            aborted.keeps(batch)
            continue
        if partition.position < batch.base:
            _require_gap(partition, batch, fetched.high_watermark)
        if partition.counted.skip and lacks_records(batch, partition.position):
            raise NotCountable(_removed(partition.source, partition.position))
        path = _path(partition, batch) if aborted.keeps(batch) and batch.count else None
        if path and partition.queue.writer.producer_for(path) is None:
            break  # fetched again once that producer exists
        at, before, epoch = partition.position, partition.last_epoch, batch.leader_epoch
        producer_batch = None if path is None else _producer_batch(partition, batch, buffer, path)
        partition.resume_at(min(batch.last + 1, partition.end), epoch)
        if producer_batch is None:
            advance_past(partition)
        else:
            producer_batch.epoch_before = before if producer_batch.before == at else NO_LEADER_EPOCH
            producer_batch.epoch_after = epoch
            producer_batch.fetched_ms = now_ms
            partition.queue.waiting.append(producer_batch)
            queued += len(producer_batch.batch)
    if last < start:
        raise CorruptBatch(
            f"reading {partition.source} at offset {start}: the source returns offsets up to {last}"
        )
    if partition.mode == Mode.APPEND and incomplete(fetched.records) == partition.position:
        # Nothing compacts the topic, so it stays there.
        partition.source_log.unread = partition.position
    return queued


def _require_gap(partition: PartitionCopy, batch: Batch, high_watermark: int) -> None:
    """Raise CorruptBatch unless compaction may have left the gap between position and ``batch``.

    No checksum covers offsets and lengths. A batch that follows without a gap may have been
    appended after the response's high watermark; a jump beyond it is corruption. Where a broker
    cannot read a batch's header it continues with a later batch, the next segment's for instance:
    that shows when the batch was seen before, truncated or damaged.
    """
    where = f"reading {partition.source} at offset"
    if batch.last >= high_watermark:
        raise CorruptBatch(
            f"{where} {batch.base}: a batch up to {batch.last} in a log that ends at "
            f"{high_watermark}"
        )
    if is_unread_before(partition, batch.base):
        raise CorruptBatch(
            f"{where} {partition.source_log.unread}: a batch began there, but the next one that "
            f"the source returns begins at {batch.base}"
        )


def is_unread_before(partition: PartitionCopy, offset: int) -> bool:
    """Say whether a batch between the position and ``offset`` was seen and could not be read."""
    return partition.source_log.has_unread(partition.position, offset)


def require_all(fetched: Fetched, position: int, source: TopicPartition) -> None:
    """Raise NotCountable where the fetched batches lack offsets from ``position`` on."""
    for batch in walk(fetched.records, source, fetched.legacy):
        if batch.last >= position:
            if lacks_records(batch, position):
                raise NotCountable(_removed(source, position))
            position = batch.last + 1


def _require_same(partition: PartitionCopy, batch: Batch) -> None:
    """Raise NotCountable unless the last record to skip is our last one on the target.

    Where headers are added to records they are not compared.
    """
    counted = partition.counted
    if counted.last is None or partition.rules.recast is not None:
        return
    listed = [e for e in decode(batch, partition.source) if e.offset >= partition.position]
    if len(listed) < counted.skip:
        return
    (copied,) = walk(memoryview(counted.last), partition.target)
    if not ends_with(copied, listed[counted.skip - 1], partition.target):
        raise NotCountable(
            f"the source's record at offset {listed[counted.skip - 1].offset} differs from our "
            "last one on the target: the source was rewritten after it was copied (an unclean "
            "leader election, a restored backup)"
        )


def _removed(source: TopicPartition, position: int) -> str:
    return f"compaction removed records of the source {source} from {position} on"


def advance_past(partition: PartitionCopy) -> None:
    """Advance past offsets that need no append: markers, aborted and already copied records."""
    if partition.counted.skip:
        return  # the anchor stays until all counted records are skipped
    last = partition.queue.last
    if last is not None:
        last.after, last.epoch_after = partition.position, partition.last_epoch
    elif partition.acked is not None:
        partition.done = partition.fetched_to
        partition.set_position(partition.behind_counted(partition.position))


def _path(partition: PartitionCopy, batch: Batch) -> ReplicationPath | None:
    """Return the replication path of a batch; None: it is a copy and must not be copied back."""
    path_of = partition.rules.path_of
    return LOCAL_ORIGIN if path_of is None else path_of(batch.producer_id, batch.base)


def _producer_batch(
    partition: PartitionCopy, batch: Batch, buffer: FetchBuffer, path: ReplicationPath
) -> ProducerBatch | None:
    """Return the part of ``batch`` behind the position and the records to skip, None if empty."""
    counted = partition.counted
    if 0 < counted.skip <= batch.count:
        _require_same(partition, batch)
    after = min(batch.last + 1, partition.end)
    is_inside = batch.base >= partition.position and batch.last < partition.end
    recast = partition.rules.recast
    whole = is_inside and recast is None
    if whole and 0 < batch.count <= counted.skip:
        counted.skip -= batch.count
        return None
    if whole and not counted.skip and batch.passes_as_bytes:
        buffer.hold()
        whole_range = range(batch.base, after)
        return ProducerBatch(batch.view, after, batch.max_timestamp, buffer, whole_range, path=path)
    rest = reshape(
        batch,
        within=range(partition.position, after),
        skip=counted.skip,
        where=partition.source,
        recast=recast,
    )
    counted.skip -= rest.skipped
    if rest.batch is None:
        return None
    buffer.hold()  # its memory is not used: holding it keeps read-ahead bounded
    view = memoryview(rest.batch)
    return ProducerBatch(view, after, batch.max_timestamp, buffer, rest.offsets, path=path)
