"""What happened to either log between an anchor and the takeover that counts from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.copier.partition_copies import LARGE, a_partition, a_start, fetch
from support.copier.two_clusters import HERE, TwoClusters
from support.records.record_batches import a_batch, a_marker, compacted

from replication.client.fetch_values import FetchBuffer
from replication.copier.partition.intake import take
from replication.copier.partition.position import OwnRecordCounter
from replication.errors import NotCountable
from replication.model import Choice, PartitionPlan, PartitionState
from replication.records.batch import walk
from replication.records.codec import decode, key_and_value

COPIED = [b"%d" % each + LARGE for each in range(20)]  # so that each has its own batch
MORE = [b"more 0", b"more 1"]


@pytest.fixture
def pair():
    two = TwoClusters()
    yield two
    two.close()


def crashed(pair: TwoClusters):
    """Copy 20 records, and crash before any ack; return the logs at the source and the target."""
    pair.feed(*COPIED)
    copy_until(pair, lambda: pair.copied() == COPIED)
    pair.crash()
    return pair.source.logs[HERE], pair.target.logs[HERE]


def appended_after(pair: TwoClusters, offset: int) -> list[bytes]:
    """Let the next owner copy; return what it appended behind ``offset``."""
    pair.feed(*MORE)
    there = pair.target.logs[HERE]

    def appended() -> list[bytes]:
        listed = [each for batch in there.batches for each in walk(memoryview(batch))]
        late = [each for each in listed if each.base >= offset and not each.is_control]
        return [key_and_value(each)[1] for batch in late for each in decode(batch)]

    halted = {PartitionState.TARGET_RESET, PartitionState.LOST_RANGE}
    copy_until(pair, lambda: appended() or pair.anchors()[-1].state in halted)
    return appended()


def copy_until(pair: TwoClusters, reached) -> None:
    """Copy epochs, of which a busy machine may need several."""
    for epoch in range(20):
        pair.copy(epoch)
        if reached():
            return
    raise AssertionError("it was not reached")


# The source has records 0 to 19, as the target has. What retention deletes before an offset, and
# what compaction removes, by log. By the time of the takeover the cleanup policy is delete again.
SURVIVED = {
    "nothing": {},
    "the source's log start moved past the anchor": {"source": (7, ())},
    "the target's log start moved past the anchor": {"target": (7, ())},
    "both log starts moved": {"source": (12, ()), "target": (7, ())},
    "the source was compacted": {"source": (0, (0, 3, 4, 11))},
    "the source was compacted at the end": {"source": (0, (18,))},
    "the target was compacted": {"target": (0, (0, 3, 4, 11))},
    "both were compacted": {"source": (0, (0, 5)), "target": (0, (3, 18))},
    "compaction, then retention": {"source": (7, (3, 4)), "target": (0, (9,))},
}


def test_records_of_a_tail_that_was_rewritten_after_the_crash_are_not_skipped(pair):
    """BL-224: the source has grown past what was copied, so that as many could be skipped."""
    source, _ = crashed(pair)
    source.batches, source.end = source.batches[:12], 12
    pair.feed(*[b"new %d" % each + LARGE for each in range(30)])
    assert appended_after(pair, 20) == []
    anchor = pair.anchors()[-1]
    assert (anchor.state, anchor.source) == ("TARGET_RESET", 0)
    assert (
        "offset 19 differs from our last one on the target: the source was rewritten"
        in anchor.reason
    )


@pytest.mark.parametrize("lacks", [8, 3])
def test_a_target_that_lacks_records_before_our_last_one_is_not_taken_for_whole(pair, lacks):
    """BL-240: it had forgotten our producer, and appended a batch behind one that it rejected."""
    _, target = crashed(pair)
    gone = target.batches[lacks]
    target.batches.remove(gone)
    for number, each in enumerate(target.batches):
        target.batches[number] = number.to_bytes(8, "big") + each[8:]
    target.end -= 1
    assert appended_after(pair, 19) == []
    anchor = pair.anchors()[-1]
    assert (anchor.state, anchor.source) == ("TARGET_RESET", 0)
    assert "the target lacks 1 of the 20 records that the source has" in anchor.reason


def happen(logs, what) -> None:
    for log, side in zip(logs, ("source", "target"), strict=True):
        start, removed = what.get(side, (0, ()))
        log.compact(*removed)
        log.delete_before(start)


@pytest.mark.parametrize("what", SURVIVED)
def test_the_next_owner_copies_what_is_missing_and_nothing_twice(pair, what):
    """Invariants C and S."""
    logs = crashed(pair)
    happen(logs, SURVIVED[what])
    assert appended_after(pair, 20) == MORE
    assert (pair.anchors()[-1].state, pair.anchors()[-1].source) == ("RUNNING", 22)


HALTED = {
    "the source lost our last record": {"source": (0, (3, 19))},
    "the target lost our last record": {"target": (0, (3, 19))},
    "compaction of both, and retention": {"source": (7, (9, 10)), "target": (0, (9,))},
    "the target lost all": {"target": (0, range(20))},
}


@pytest.mark.parametrize("what", HALTED)
def test_a_position_that_cannot_be_proven_halts_the_partition(pair, what):
    logs = crashed(pair)
    happen(logs, HALTED[what])
    assert appended_after(pair, 20) == []
    anchor = pair.anchors()[-1]
    assert anchor.state == "TARGET_RESET"
    assert "compaction removed records of the" in anchor.reason


@pytest.mark.parametrize("what", HALTED)
@pytest.mark.parametrize("choice", ["reseed", "continue"])
def test_a_decision_ends_the_halt_of_a_position_that_could_not_be_proven(pair, what, choice):
    """Else the takeover of each epoch would come to the same end, whatever was decided."""
    logs = crashed(pair)
    happen(logs, HALTED[what])
    assert appended_after(pair, 20) == []
    anchor, before = pair.anchors()[-1], len(pair.copied())
    decision = Choice(anchor.state, anchor.source, choice)
    decided = (PartitionPlan(HERE, HERE, decision=decision),)
    expected = pair.source.logs[HERE].values()
    for epoch in range(30, 40):
        pair.copy(epoch, partitions=decided)
        if pair.copied()[before:] == expected:
            break
    assert pair.copied()[before:] == expected
    assert (pair.anchors()[-1].state, pair.anchors()[-1].source) == ("RUNNING", 22)


OURS, FOREIGN = 7, 8


@given(
    st.lists(st.tuples(st.sampled_from([OURS, FOREIGN]), st.integers(1, 3)), min_size=1),
    st.sets(st.integers(0, 20)),
)
def test_a_log_that_was_compacted_is_never_counted_as_if_it_were_whole(writers, removed):
    """Invariant C: whatever compaction removed before our marker, of whomever, is noticed."""
    log, end, ours = [], 0, 0
    for producer, size in writers:
        log.append(a_batch(end, [b"v"] * size, (producer, 0, end)))
        end, ours = end + size, ours + size * (producer == OURS)
    log.append(a_marker(end, OURS, 1))
    count = OwnRecordCounter(0, {OURS}, {OURS: 1})
    for batch in walk(memoryview(b"".join(compacted(each, removed - {end}) for each in log))):
        count.add(batch)
    assert count.complete
    gone = {each for each in removed if each < end}
    assert count.hole is not None if gone else (count.hole, count.records) == (None, ours)
    if count.last is not None:  # it is whole, and nothing is missing behind it
        (last,) = walk(memoryview(count.last))
        assert last.producer_id == OURS
        assert not {each for each in gone if each >= last.base}


@given(st.data())
def test_records_are_skipped_only_if_they_are_those_that_were_copied(data):
    """Invariant C: compaction and a rewritten tail below our position are noticed, above it not."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=8))
    total = sum(sizes)
    copied = data.draw(st.integers(1, total))
    removed = data.draw(st.sets(st.integers(0, total)))
    rewritten_from = data.draw(st.integers(0, total + 1))
    values = [b"%d" % each if each < rewritten_from else b"new %d" % each for each in range(total)]
    log, end = b"", 0
    for size in sizes:
        log += compacted(a_batch(end, values[end : end + size]), removed)
        end += size
    partition = a_partition(a_start())
    partition.counted.skip, partition.counted.end = copied, copied
    places = [each for size in sizes for each in range(size)]  # of each record in its batch
    partition.counted.last = a_batch(
        70, [b"%d" % (copied - 1)], (OURS, 0, 0), timestamp=1000 + places[copied - 1]
    )
    changed = rewritten_from < copied or any(each < copied for each in removed)
    try:
        take(partition, fetch(log, [], 0, len(sizes)), FetchBuffer())
    except NotCountable:
        assert changed or _shares_a_batch(sizes, copied, removed)
        return
    if partition.counted.skip == 0:
        assert not changed
    found = [each for queued in partition.queue.waiting for each in queued.offsets]
    assert found == [each for each in range(copied, total) if each not in removed]


def _shares_a_batch(sizes: list[int], copied: int, removed: set[int]) -> bool:
    """Say whether compaction removed a record of the batch that holds the last copied one."""
    ends = [sum(sizes[: each + 1]) for each in range(len(sizes))]
    end = next(each for each in ends if each >= copied)
    return any(each < end for each in removed)
