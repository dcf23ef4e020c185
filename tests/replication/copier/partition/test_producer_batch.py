"""Small batches that queue up become one: content, order and offsets stay."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from support.partition_copies import Target, a_lane, a_start, fetch
from support.record_batches import GZIP, PLAIN, a_batch

from replication.client.fetch_values import Frame
from replication.copier.partition.intake import take

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import Lane

smalls = st.lists(
    st.tuples(st.sampled_from([PLAIN, GZIP]), st.sampled_from([1, 1, 1, 2, 5000])), max_size=12
)


def a_queue(kinds) -> tuple[Lane, list[tuple[int, int]]]:
    """Return a lane with batches of (codec, bytes a record), and what each covers."""
    log, spans = b"", []
    for offset, (codec, size) in enumerate(kinds):
        # kafka-python leaves uncompressed what does not get smaller
        values = [b"%06d" % offset + b"x" * (100 if codec else 1) * size]
        log += a_batch(offset, values, codec=codec)
        spans.append((offset, offset + 1))
    lane = a_lane(a_start(), 1)
    take(lane, fetch(log, [], 0, len(kinds) + 1), Frame())
    return lane, spans


def codec_of(piece) -> int:
    return piece.batch[22] & 7


@given(smalls)
def test_small_batches_that_queue_up_are_merged_with_content_order_and_offsets_kept(kinds):
    lane, spans = a_queue(kinds)
    lane.queue.writer.proven = True
    target, covered, merged = Target(), [], []
    while lane.sends:
        piece = lane.queue.next_piece()
        covered.append((piece.before, piece.after))
        merged.append((piece.merged, piece.count, codec_of(piece)))
        lane.appended(piece, target.append(piece.batch, piece.count))
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
    lane, _ = a_queue([(PLAIN, 1)] * 6)
    lane.queue.largest, lane.queue.writer.proven = 1 << 20, True
    sent = [bytes(lane.queue.next_piece().batch) for _ in range(2)]
    lane.queue.answers_due = 0
    lane.back_off(0.0)
    lane.queue.largest = lane.retry_at = None
    log = b"".join(a_batch(n, [b"%06d" % n]) for n in range(2, 6))
    take(lane, fetch(log, [], lane.position, 9), Frame())
    again = [lane.queue.next_piece() for _ in range(3)]
    assert [bytes(each.batch) for each in again[:2]] == sent
    assert (again[2].before, again[2].after, again[2].count) == (2, 6, 4)


def test_merging_gives_back_the_buffers_of_all_but_the_last():
    lane, frames = a_lane(a_start(), 1), [Frame() for _ in range(3)]
    for number, frame in enumerate(frames):
        frame.hold()
        log = b"".join(a_batch(2 * number + each, [b"x"]) for each in range(2))
        take(lane, fetch(log, [], 2 * number, 2), frame)
        frame.release()
    assert [each.holders for each in frames] == [2, 2, 2]
    piece = lane.queue.next_piece()
    assert [each.holders for each in frames] == [0, 0, 1]
    lane.appended(piece, 0)
    assert [each.holders for each in frames] == [0, 0, 0]
