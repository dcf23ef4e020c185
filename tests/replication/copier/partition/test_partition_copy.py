"""A partition, a source log and a target log as models: the result of a crash at any point."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.copier.partition_copies import (
    FORWARDED,
    LARGE,
    LOCAL,
    LOOPING,
    OURS,
    PASSING_ON,
    Target,
    a_partition,
    a_start,
    by_registry,
    fetch,
    fill,
)
from support.records.record_batches import a_batch, a_marker

from replication.client.fetch_values import FetchBuffer
from replication.client.producer_identity import ProducerIdentity
from replication.copier.partition.intake import take
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.position import OwnRecordCounter, Position
from replication.errors import CorruptBatch, NotCountable
from replication.model import (
    PartitionPlan,
    PartitionState,
    ProducerIdAndEpoch,
    TopicPartition,
)
from replication.provenance.record_rules import UNDECIDED
from replication.records.aborted_filter import AbortedTransaction
from replication.records.batch import walk
from replication.records.codec import decode
from replication.records.content_search import SearchedBatch
from replication.state import Anchor


@st.composite
def sources(draw):
    """Return a log, its aborted list, and what of it is deliverable.

    It has gaps, markers, aborted batches, copies that would loop, and copies to forward.
    """
    log, aborted, deliverable, offset = b"", [], [], 0
    kinds = st.sampled_from(
        ["batch", "batch", "forwarded", "forwarded", "loops", "gap", "marker", "aborted"]
    )
    for number in range(draw(st.integers(1, 12))):
        kind, size = draw(kinds), draw(st.integers(1, 4))
        content = [b"%d-%d" % (number, each) for each in range(size)]
        if kind == "batch":
            log += a_batch(offset, content)
            deliverable += content
            offset += size
        elif kind == "forwarded":
            log += a_batch(offset, content, (FORWARDED, 0, 0))
            deliverable += content
            offset += size
        elif kind == "loops":
            log += a_batch(offset, content, (LOOPING, 0, 0))
            offset += size
        elif kind == "aborted":
            log += a_batch(offset, content, (20, 0, 0), transactional=True)
            aborted.append(AbortedTransaction(20, offset))
            log += a_marker(offset + size, 20, 0)
            offset += size + 1
        elif kind == "marker":
            log += a_marker(offset, 21, 0)
            offset += 1
        else:
            offset += size
    return log, aborted, deliverable


def take_over(anchor: Anchor, target: Target, epoch: int) -> PartitionCopy:
    """Fence and count, as the takeover does over the network."""
    partition = by_registry(a_partition(anchor, epoch), epoch)
    if anchor.clean:
        partition.exact = True
        return partition
    target.marker(epoch)
    ids = {number for _, number in partition.claimed.appenders}
    own = OwnRecordCounter(anchor.target or 0, ids, dict.fromkeys(ids, epoch))
    for batch in walk(memoryview(target.log)):
        own.add(batch)
    assert own.complete
    partition.counted.note(own)
    if own.records == 0:
        partition.acked, partition.exact = Position(partition.acked.source, own.next_offset), True
    return partition


def run(partition: PartitionCopy, target: Target, source, data, *, to_the_end: bool) -> Anchor:
    """Fetch, append, lose answers, back off; return the last anchor that was written."""
    anchor = partition.anchor(0)
    steps = 200 if to_the_end else data.draw(st.integers(0, 12))
    for _ in range(steps):
        before = partition.position, partition.acked
        act = "all" if to_the_end else data.draw(st.sampled_from(ACTS))
        if act in {"fetch", "all"}:
            fetch_or_find(partition, target, source)
        if act in {"append", "all"} and partition.sends:
            producer_batch = partition.queue.next_batch()
            partition.queue.responses_due -= 1
            partition.appended(
                producer_batch, target.append(producer_batch.batch, producer_batch.count)
            )
        if act == "unanswered" and partition.sends:
            producer_batch = partition.queue.next_batch()
            partition.queue.responses_due -= 1
            if data.draw(st.booleans()):
                target.append(producer_batch.batch, producer_batch.count)
            return data.draw(st.sampled_from([anchor, partition.anchor(0)]))  # and the unit dies
        if act == "back off" and not partition.queue.in_flight:
            partition.back_off(0.0)
            partition.retry_at = None
        if act == "foreign":
            target.foreign()
        if act == "anchor":
            anchor = partition.anchor(0)
        if act == "all" and (partition.position, partition.acked) == before:
            break  # all is copied
    return partition.anchor(0) if to_the_end else anchor


def fetch_or_find(partition: PartitionCopy, target: Target, source) -> None:
    """Fetch; where the log has gaps, so that its records cannot be counted, find the position."""
    try:
        take(partition, fetch(*source[:2], partition.position, 3), FetchBuffer())
    except NotCountable:
        find(partition, target, source)


def find(partition: PartitionCopy, target: Target, source) -> None:
    """Search the position by content, as the takeover does over the network."""
    log, aborted, _ = source
    listed = [each for each in walk(memoryview(target.log)) if not each.is_control]
    last = [each for each in listed if each.producer_id in {OURS, PASSING_ON}][-1]
    expected, scan = SearchedBatch(last, "t"), by_registry(a_partition(a_start()))
    take(scan, fetch(log, aborted, 0, 99), FetchBuffer())
    for each in scan.queue.waiting:
        (batch,) = walk(each.batch)
        expected.add(decode(batch), each.offsets)
    (place,) = expected.found
    partition.resume_at(place.end)
    partition.counted.skip = 0
    partition.set_position(Position(place.end, partition.counted.end))


ACTS = ["fetch", "append", "append", "unanswered", "back off", "foreign", "anchor"]


@settings(max_examples=300, deadline=None)
@given(sources(), st.data())
def test_invariants_b_c_d_whatever_crashes_every_record_is_there_once_and_in_order(source, data):
    target, anchor = Target(), a_start()
    for epoch in range(1, data.draw(st.integers(1, 5)) + 1):
        partition = take_over(anchor, target, epoch)
        anchor = run(partition, target, source, data, to_the_end=False)
    last = take_over(anchor, target, 99)
    run(last, target, source, data, to_the_end=True)
    assert target.ours() == source[2]
    assert last.counters.records == len(source[2])  # nor is anything counted twice


def crashed_twice(
    sizes: list[int], appended: int, fetched: int
) -> tuple[Anchor, Target, list[bytes]]:
    """Crash after ``appended`` batches and no anchor, again after ``fetched`` of them were skipped.

    Returns the second owner's anchor, the target after a third one copied the rest, and all values
    of the source.
    """
    log, values, offset = b"", [], 0
    for number, size in enumerate(sizes):
        content = [b"%d-%d" % (number, each) for each in range(size)]
        log += a_batch(offset, content) + a_marker(offset + size, 21, 0)
        values += content
        offset += size + 1
    target, partition = Target(), take_over(a_start(), Target(), 1)
    partition.queue.writer.proven, partition.queue.largest = True, 1 << 20  # nothing is merged
    take(partition, fetch(log, [], 0, 2 * appended), FetchBuffer())
    for _ in range(appended):
        sent = partition.queue.next_batch()
        target.append(sent.batch, sent.count)
        partition.appended(sent, target.end - sent.count)
    second = take_over(a_start(), target, 2)
    take(second, fetch(log, [], 0, 2 * fetched), FetchBuffer())
    anchor = second.anchor(0)
    assert second.counted.skip == sum(sizes[fetched:appended])  # so much is still to be skipped
    third, source = take_over(anchor, target, 3), (log, [], values)
    run(third, target, source, None, to_the_end=True)
    return anchor, target, values


def test_the_anchor_stays_while_only_a_part_of_the_counted_records_is_skipped():
    anchor, target, values = crashed_twice([4, 6], appended=2, fetched=1)
    assert target.ours() == values  # 10 records
    assert (anchor.source, anchor.target) == (0, 0)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=6), st.data())
def test_invariant_d_a_crash_in_the_midst_of_skipping_copies_nothing_twice(sizes, data):
    appended = data.draw(st.integers(2, len(sizes)))
    _, target, values = crashed_twice(sizes, appended, data.draw(st.integers(1, appended - 1)))
    assert target.ours() == values


@settings(max_examples=100, deadline=None)
@given(sources(), st.data())
def test_invariant_g_a_clean_end_needs_no_marker(source, data):
    target = Target()
    partition = take_over(a_start(), target, 1)
    run(partition, target, source, data, to_the_end=True)
    anchor = partition.anchor(0, clean=True)
    assert anchor.clean
    before = target.log
    run(take_over(anchor, target, 2), target, source, data, to_the_end=True)
    assert target.log == before


@given(sources(), st.data())
def test_invariant_e_what_is_delivered_does_not_depend_on_how_it_was_fetched(source, data):
    log, aborted, deliverable = source
    partition, target = by_registry(a_partition(a_start(), 1)), Target()
    for _ in range(60):
        take(
            partition,
            fetch(log, aborted, partition.position, data.draw(st.integers(1, 4))),
            FetchBuffer(),
        )
        while partition.sends:
            producer_batch = partition.queue.next_batch()
            partition.appended(
                producer_batch, target.append(producer_batch.batch, producer_batch.count)
            )
        if partition.position >= max((b.last for b in walk(memoryview(log))), default=-1) + 1:
            break
    assert target.ours() == deliverable


def a_running_partition(batches: int = 4) -> PartitionCopy:
    partition = a_partition(a_start(), 1)
    log = b"".join(a_batch(2 * n, [b"a" * 3000, b"b" * 3000]) for n in range(batches))
    take(partition, fetch(log, [], 0, batches), FetchBuffer())
    return partition


def test_the_first_append_of_an_epoch_goes_alone():
    partition = a_running_partition()
    producer_batch = partition.queue.next_batch()
    assert not partition.sends
    partition.appended(producer_batch, 0)
    assert partition.sends


def test_what_was_sent_is_sent_again_as_it_was_and_the_rest_is_fetched_again():
    partition = a_running_partition(6)
    partition.queue.writer.proven = True
    sent = [partition.queue.next_batch() for _ in range(3)]
    before = [bytes(each.batch) for each in sent]
    partition.queue.responses_due = 0
    partition.back_off(0.0)
    assert partition.position == 6
    assert not partition.anchor(0, clean=True).clean
    partition.retry_at = None
    again = [partition.queue.next_batch() for _ in range(3)]
    assert [bytes(each.batch) for each in again] == before


def test_a_partition_that_dropped_what_may_have_landed_does_not_end_cleanly():
    partition = a_running_partition()
    partition.exact = True
    partition.queue.next_batch()
    partition.queue.responses_due = 0
    partition.halt(PartitionState.LOST_RANGE, "gone")
    assert not partition.anchor(0, clean=True).clean


def test_a_partition_whose_append_was_refused_ends_cleanly():
    partition = a_running_partition()
    partition.exact = True
    partition.queue.next_batch().rejected = True
    partition.queue.responses_due = 0
    partition.halt(PartitionState.REFUSED, "too large")
    assert partition.anchor(0, clean=True).clean


def test_a_partition_that_was_not_taken_over_keeps_its_anchor():
    known = Anchor("f", "t", 0, "t", 41, 42, appenders=(("x", OURS),), source_topic_id="aa")
    here = TopicPartition("t", 0)
    partition = PartitionCopy("f", PartitionPlan(here, here), b"", known, UNDECIDED)
    partition.halt(PartitionState.SOURCE_RECREATED, "recreated")
    written = partition.anchor(5, clean=True)
    assert (written.source, written.target, written.clean) == (41, 42, False)
    assert written.state == PartitionState.SOURCE_RECREATED


def test_nothing_is_copied_before_it_is_decided_which_records_are_copies():
    partition = a_partition(a_start())
    partition.rules = UNDECIDED
    with pytest.raises(RuntimeError, match="before it is known which of its records are copies"):
        take(partition, fetch(a_batch(0, [b"a"]), [], 0, 1), FetchBuffer())
    assert not partition.queue.waiting


@pytest.mark.parametrize(
    "state", ["LOST_RANGE", "REFUSED", "SOURCE_CORRUPT", "SOURCE_TRUNCATED", "TARGET_RESET"]
)
def test_a_state_in_which_a_person_must_act_stays_until_its_cause_is_gone(state):
    partition = a_running_partition()
    partition.halt(PartitionState(state), "because")
    again = a_partition(partition.anchor(0), 2)
    anchor = again.anchor(0)
    assert again.fetches  # it tries
    assert (anchor.state, anchor.reason) == (state, "because")
    take(again, fetch(a_batch(0, [b"a"]), [], 0, 1), FetchBuffer())
    again.appended(again.queue.next_batch(), 0)
    assert (again.anchor(0).state, again.anchor(0).reason) == (PartitionState.RUNNING, "")


def test_a_state_that_passes_by_itself_is_not_kept():
    partition = a_running_partition()
    partition.halt(PartitionState.WAITING, "no leader")
    assert a_partition(partition.anchor(0), 2).anchor(0).state == PartitionState.RUNNING


@given(st.permutations(range(4)), st.integers(0, 4))
def test_invariant_d_an_anchor_never_leads_whichever_answer_comes_first(order, answered):
    partition = fill(a_partition(a_start()), 4)
    partition.queue.writer.proven = True
    sent = [partition.queue.next_batch() for _ in range(4)]
    for number in order[:answered]:
        partition.appended(sent[number], 100 + number)
        anchor = partition.anchor(0)
        acked = set(order[: order.index(number) + 1])
        reach = next(each for each in range(5) if each not in acked)
        assert anchor.source == reach
        assert anchor.target == (100 + reach if reach else 0)
        assert anchor.records == reach


def test_offsets_beyond_the_end_of_the_log_are_damage_and_what_came_before_is_queued():
    partition = a_partition(a_start())
    log = a_batch(0, [b"a"]) + a_batch(9, [b"b"])
    answer = fetch(log, [], 0, 2)._replace(high_watermark=10)
    assert take(partition, answer, FetchBuffer())
    partition = a_partition(a_start())
    with pytest.raises(CorruptBatch, match=r"t-0 at offset 9: a batch up to 9 in a log .* at 9"):
        take(partition, answer._replace(high_watermark=9), FetchBuffer())
    assert len(partition.queue.waiting) == 1
    assert partition.position == 1
    take(partition, fetch(a_batch(1, [b"b"]), [], 0, 1)._replace(high_watermark=1), FetchBuffer())
    assert partition.position == 2  # it came while the answer was made


def test_a_batch_of_another_producer_waits_until_nothing_is_in_flight_and_then_goes_alone():
    partition = by_registry(a_partition(a_start()))
    partition.queue.writer.proven = True
    log = a_batch(0, [b"a"], (LOCAL, 0, 0)) + b"".join(
        a_batch(n, [b"%d" % n + LARGE], (FORWARDED, 0, 0)) for n in (1, 2)
    )
    take(partition, fetch(log, [], 0, 3), FetchBuffer())
    local = partition.queue.next_batch()
    assert not partition.sends
    partition.appended(local, 0)
    assert partition.sends
    forwarded = partition.queue.next_batch()
    assert next(walk(forwarded.batch)).producer_id == PASSING_ON
    assert not partition.sends  # the broker may have forgotten this producer
    partition.appended(forwarded, 1)
    assert partition.sends


@pytest.mark.parametrize("renewal", ["renew", "begin"])
def test_the_first_batch_of_the_next_producer_epoch_goes_alone(renewal):
    partition = a_running_partition()
    partition.queue.writer.proven = True
    getattr(partition.queue.writer, renewal)(ProducerIdAndEpoch(OURS, 2))
    assert partition.queue.writer.sequence == 0
    partition.queue.next_batch()
    assert not partition.sends


def test_backing_off_frees_every_fetch_buffer_and_keeps_the_bytes_that_were_sent():
    partition, buffer = a_partition(a_start()), FetchBuffer()
    log = b"".join(a_batch(n, [b"%d" % n + LARGE]) for n in range(4))
    found = fetch(log, [], 0, 4)
    take(partition, found, buffer)
    partition.queue.writer.proven = True
    sent = [bytes(partition.queue.next_batch().batch) for _ in range(2)]
    assert buffer.holders == 4
    partition.queue.responses_due = 0
    partition.back_off(0.0)
    assert buffer.holders == 0
    found.records[:] = bytes(len(found.records))  # the next Fetch response
    assert [bytes(each.batch) for each in partition.queue.waiting] == sent


def test_what_was_counted_from_another_claim_on_is_forgotten():
    partition = a_partition(a_start())
    partition.counted.note(OwnRecordCounter(50, (), {}))
    assert partition.behind_counted(7) == Position(7, 50)
    partition.begin(ProducerIdentity("x", OURS, 1, 1), exact=True)
    assert partition.behind_counted(7) == Position(7, 0)
