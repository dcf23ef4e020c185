"""Small queued batches are merged: content, order and offsets are kept."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from support.copier.partition_copies import Target, a_partition, a_start, fetch
from support.records.record_batches import GZIP, PLAIN, a_batch

from replication.client.fetch_values import FetchBuffer
from replication.copier.partition.intake import take

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import PartitionCopy

smalls = st.lists(
    st.tuples(st.sampled_from([PLAIN, GZIP]), st.sampled_from([1, 1, 1, 2, 5000])), max_size=12
)


def a_queue(kinds) -> tuple[PartitionCopy, list[tuple[int, int]]]:
    """Return a partition with batches of (codec, bytes a record), and their offsets."""
    log, spans = b"", []
    for offset, (codec, size) in enumerate(kinds):
        # kafka-python leaves uncompressed what does not get smaller
        values = [b"%06d" % offset + b"x" * (100 if codec else 1) * size]
        log += a_batch(offset, values, codec=codec)
        spans.append((offset, offset + 1))
    partition = a_partition(a_start(), 1)
    take(partition, fetch(log, [], 0, len(kinds) + 1), FetchBuffer())
    return partition, spans


def codec_of(producer_batch) -> int:
    return producer_batch.batch[22] & 7


@given(smalls)
def test_small_batches_that_queue_up_are_merged_with_content_order_and_offsets_kept(kinds):
    partition, spans = a_queue(kinds)
    partition.queue.writer.proven = True
    target, covered, merged = Target(), [], []
    while partition.sends:
        producer_batch = partition.queue.next_batch()
        covered.append((producer_batch.before, producer_batch.after))
        merged.append((producer_batch.merged, producer_batch.count, codec_of(producer_batch)))
        partition.appended(
            producer_batch, target.append(producer_batch.batch, producer_batch.count)
        )
    assert [start for start, _ in covered] == [0, *(end for _, end in covered[:-1])][: len(covered)]
    assert (covered[-1][1] if covered else 0) == len(spans) == target.end
    values = [int(value[:6]) for value in target.ours()]
    assert values == list(range(len(kinds)))
    codecs = [codec for _, count, codec in merged for _ in range(count)]
    assert codecs == [codec for codec, _ in kinds]
    for (_, count, codec), (_, following, other) in pairwise(merged):
        if codec == other:  # two neighbours that are small would have been one
            assert count == 1 or following == 1


def test_what_was_stamped_is_not_merged_and_what_comes_after_it_is():
    partition, _ = a_queue([(PLAIN, 1)] * 6)
    partition.queue.largest, partition.queue.writer.proven = 1 << 20, True
    sent = [bytes(partition.queue.next_batch().batch) for _ in range(2)]
    partition.queue.responses_due = 0
    partition.back_off(0.0)
    partition.queue.largest = partition.retry_at = None
    log = b"".join(a_batch(n, [b"%06d" % n]) for n in range(2, 6))
    take(partition, fetch(log, [], partition.position, 9), FetchBuffer())
    again = [partition.queue.next_batch() for _ in range(3)]
    assert [bytes(each.batch) for each in again[:2]] == sent
    assert (again[2].before, again[2].after, again[2].count) == (2, 6, 4)


def test_merging_gives_back_the_buffers_of_all_but_the_last():
    partition, buffers = a_partition(a_start(), 1), [FetchBuffer() for _ in range(3)]
    for number, buffer in enumerate(buffers):
        buffer.hold()
        log = b"".join(a_batch(2 * number + each, [b"x"]) for each in range(2))
        take(partition, fetch(log, [], 2 * number, 2), buffer)
        buffer.release()
    assert [each.holders for each in buffers] == [2, 2, 2]
    producer_batch = partition.queue.next_batch()
    assert [each.holders for each in buffers] == [0, 0, 1]
    partition.appended(producer_batch, 0)
    assert [each.holders for each in buffers] == [0, 0, 0]
