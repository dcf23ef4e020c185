"""Claims, ranks and counting: who may append, and which records the target has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.record_batches import a_batch, a_marker

from replication.client.producer_identity import ProducerIdentity
from replication.copier.partition.position import (
    OwnRecordCounter,
    claim,
    missing_appenders,
    outranks,
)
from replication.records.batch import walk
from replication.state import Anchor

OURS, FORMER, FOREIGN = 7, 8, 9
pairs = st.tuples(st.sampled_from(["u0", "u1", "u2"]), st.integers(1, 3))
anchors = st.builds(
    Anchor,
    *map(st.just, ("f", "t", 0, "t", 5, 6)),
    appenders=st.lists(pairs, unique=True, max_size=4).map(tuple),
    generation=st.integers(0, 3),
    epoch=st.integers(0, 3),
    clean=st.booleans(),
)
producer_identities = st.builds(
    ProducerIdentity,
    transactional_id=st.sampled_from(["u0", "u1", "u2"]),
    producer_id=st.integers(1, 3),
    epoch=st.integers(0, 3),
    generation=st.integers(0, 3),
)


@given(anchors, producer_identities)
def test_a_claim_keeps_the_position_and_all_who_may_still_append(before, me):
    mine = (me.transactional_id, me.producer_id)
    claimed = claim(before, me)
    assert (claimed.source, claimed.target, claimed.clean) == (before.source, before.target, False)
    assert (claimed.generation, claimed.epoch) == me.rank
    assert mine in claimed.appenders
    if before.clean:
        assert claimed.appenders == (mine,)
    else:
        assert set(claimed.appenders) == {*before.appenders, mine}


@given(anchors, producer_identities)
def test_claiming_twice_is_claiming_once(before, me):
    once = claim(before, me)
    assert claim(once, me) == once


@given(anchors, producer_identities, producer_identities)
def test_of_two_claimants_at_most_one_outranks_the_other(before, one, other):
    assert not (outranks(claim(before, one), other) and outranks(claim(before, other), one))


@given(anchors, producer_identities)
def test_nobody_outranks_himself(before, me):
    assert not outranks(claim(before, me), me)


@pytest.mark.parametrize(
    ("theirs", "wins"),
    [
        (ProducerIdentity("u0", 1, 0, 5), True),  # a newer driver, whatever its unit and epoch
        (ProducerIdentity("u9", 9, 0, 5), True),
        (ProducerIdentity("u0", 1, 9, 3), False),  # an older one, whatever its epoch
        (ProducerIdentity("u0", 1, 3, 4), True),  # a later start of the same unit
        (ProducerIdentity("u0", 1, 1, 4), False),
        (
            ProducerIdentity("u1", 2, 9, 4),
            False,
        ),  # a sister unit: the later claim fences the earlier
    ],
)
def test_a_newer_driver_and_a_later_start_of_the_unit_take_precedence(theirs, wins):
    me = ProducerIdentity("u0", 1, 2, 4)
    start = Anchor("f", "t", 0, "t", 0, 0, clean=True)
    assert outranks(claim(start, theirs), me) is wins


@given(anchors, anchors)
def test_who_is_missing_is_who_only_they_know_of(theirs, mine):
    more = missing_appenders(theirs, mine.appenders)
    assert {*more, *mine.appenders} == {*theirs.appenders, *mine.appenders}
    assert not set(more) & set(mine.appenders)


producer_batches = st.lists(
    st.tuples(st.sampled_from([OURS, FORMER, FOREIGN]), st.integers(1, 4)), max_size=8
)


def a_log(parts, start: int = 0) -> tuple[bytes, int]:
    """Return batches of (producer id, records) from ``start`` on, and the offset after them."""
    data = b""
    for producer_id, count in parts:
        data += a_batch(start, [b"x"] * count, (producer_id, 0, 0))
        start += count
    return data, start


def counted(data: bytes, start: int, ids, markers) -> OwnRecordCounter:
    own = OwnRecordCounter(start, ids, markers)
    for batch in walk(memoryview(data)):
        if own.complete:
            break
        own.add(batch)
    return own


@given(producer_batches, producer_batches, producer_batches)
def test_invariant_c_what_is_ours_is_counted_whoever_writes_between(early, before, after):
    skipped, start = a_log(early)
    mine, middle = a_log(before, start)
    later, _ = a_log(after, middle + 1)
    log = skipped + mine + a_marker(middle, OURS, 3) + later
    own = counted(log, start, {OURS, FORMER}, {OURS: 3})
    assert own.complete
    assert own.records == sum(n for who, n in before if who != FOREIGN)
    assert own.next_offset == middle + 1
    expected = [b for b in walk(memoryview(mine)) if b.producer_id != FOREIGN]
    assert own.bytes == sum(len(each.view) for each in expected)


@given(producer_batches, producer_batches)
def test_invariant_b_a_zombies_append_before_the_marker_counts_and_the_end_waits_for_it(
    before, late
):
    first, middle = a_log(before)
    zombie, end = a_log([(OURS, 2), *late, (FORMER, 1)], middle)
    own = OwnRecordCounter(0, {OURS, FORMER}, {OURS: 4, FORMER: 2})
    for batch in walk(memoryview(first + zombie)):
        own.add(batch)
    assert not own.complete
    for batch in walk(memoryview(a_marker(end, OURS, 4))):
        own.add(batch)
    assert not own.complete  # the other one's requests may still land
    for batch in walk(memoryview(a_marker(end + 1, FORMER, 2))):
        own.add(batch)
    assert own.complete
    assert own.records == sum(n for who, n in [*before, *late] if who != FOREIGN) + 3


@pytest.mark.parametrize(("epoch", "enough"), [(3, False), (4, True), (5, True)])
def test_a_marker_of_an_earlier_takeover_is_not_ours(epoch, enough):
    own = OwnRecordCounter(0, {OURS}, {OURS: 4})
    for batch in walk(memoryview(a_marker(0, OURS, epoch))):
        own.add(batch)
    assert own.complete is enough


@given(producer_batches, st.data())
def test_batches_that_are_fetched_again_count_once(parts, data):
    log, end = a_log(parts)
    whole = log + a_marker(end, OURS, 1)
    own = OwnRecordCounter(0, {OURS}, {OURS: 1})
    while not own.complete:  # a Fetch begins with the batch that holds its offset, or before it
        behind = data.draw(st.integers(0, 3))
        listed = [b for b in walk(memoryview(whole)) if b.last >= own.next_offset - behind]
        for batch in listed[: data.draw(st.integers(1, 4)) + behind]:
            own.add(batch)
    assert own.records == sum(n for who, n in parts if who == OURS)


def test_an_anchor_inside_a_batch_counts_the_whole_batch_never_less():
    own = OwnRecordCounter(2, {OURS}, {})
    for batch in walk(memoryview(a_batch(0, [b"x"] * 4, (OURS, 0, 0)))):
        own.add(batch)
    assert (own.records, own.next_offset) == (4, 4)


@given(anchors)
def test_a_claim_of_the_next_driver_lists_the_former_one(before):
    one, two = ProducerIdentity("u0", 1, 0, 1), ProducerIdentity("u1", 2, 0, 2)
    both = claim(claim(replace(before, clean=True), one), two)
    assert both.appenders == (("u0", 1), ("u1", 2))
