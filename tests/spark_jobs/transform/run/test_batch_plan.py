"""Which ranges a batch takes, and how a poison record is found among them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.model import OffsetRange, PartitionPlan, TopicPartition
from replication.state import Anchor
from spark_jobs.transform.run.batch_plan import BatchLimits, plan_batch

ONE, TWO, THREE = (TopicPartition("t", number) for number in range(3))
PLANS = {each: PartitionPlan(each, each) for each in (ONE, TWO)}


def anchors(one: int, two: int) -> dict[TopicPartition, Anchor]:
    return {each: Anchor("A->B", *each, "t", at, 0) for each, at in ((ONE, one), (TWO, two))}


def ranges(slots) -> dict[TopicPartition, tuple[int, int]]:
    return {e.source: (e.anchor.source, e.end) for some in slots.values() for e in some}


def test_each_partition_gets_what_is_there_up_to_the_limit_in_its_own_slot():
    found = plan_batch(PLANS, anchors(5, 0), {ONE: 7, TWO: 300}, BatchLimits(100), 2)
    assert ranges(found) == {ONE: (5, 7), TWO: (0, 100)}
    assert sorted(len(each) for each in found.values()) == [1, 1]


def test_a_partition_without_news_takes_part_in_no_batch():
    assert plan_batch(PLANS, anchors(5, 9), {ONE: 5}, BatchLimits(100), 1) == {}


@given(
    bad=st.sets(st.integers(0, 60), max_size=4),
    most=st.integers(1, 50),
)
def test_every_poison_record_is_found_and_no_other_record_is_left_out(bad, most):
    """The property that matters: each offset is written once, or is one of the poison records."""
    limits, at, written, dead, failures = BatchLimits(most), {ONE: 0, TWO: 0}, [], [], 0
    for _ in range(600):
        slots = plan_batch(PLANS, anchors(at[ONE], at[TWO]), {ONE: 61, TWO: 20}, limits, 1)
        if not slots:
            break
        taken = ranges(slots)
        works = [each for some in slots.values() for each in some]
        poisoned = {(each.source, n) for each in works for n in each.poisons}
        offsets = [(p, n) for p, (start, end) in taken.items() for n in range(start, end)]
        if any(p == ONE and n in bad and (p, n) not in poisoned for p, n in offsets):
            limits.failed(taken, "why")
            failures += 1
            continue
        for each in works:
            begin, end = taken[each.source]
            for n in range(begin, end):
                (dead if n in each.poisons else written).append((each.source, n))
            at[each.source] = end
        limits.succeeded(taken)
    assert limits.poisons == {}
    assert failures <= 8 * len(bad), "halving finds each in log2 of the batch"
    assert sorted(dead) == [(ONE, n) for n in sorted(bad)]
    everything = [(ONE, n) for n in range(61) if n not in bad] + [(TWO, n) for n in range(20)]
    assert sorted(written) == everything
    for partition in (ONE, TWO):
        in_order = [n for p, n in written if p == partition]
        assert in_order == sorted(in_order)


def test_records_that_are_known_to_be_poison_go_with_the_range_that_they_are_in():
    limits = BatchLimits(10)
    for offset in (3, 7, 12):
        limits.poison(ONE, offset, f"why {offset}")
    ((work,),) = plan_batch(PLANS, anchors(0, 0), {ONE: 20}, limits, 1).values()
    assert (work.end, work.poisons) == (10, {3: "why 3", 7: "why 7"})
    limits.succeeded({ONE: (0, 10)})
    ((work,),) = plan_batch(PLANS, anchors(10, 0), {ONE: 20}, limits, 1).values()
    assert (work.end, work.poisons) == (20, {12: "why 12"})


@pytest.mark.parametrize("gone", [ONE, TWO, THREE], ids=["first", "second", "last"])
@pytest.mark.parametrize("bad", [ONE, TWO, THREE], ids=["first", "second", "last"])
def test_a_record_that_hangs_is_found_although_another_suspect_is_gone(bad, gone):
    """Its topic was deleted, say, or its partition halted."""
    everything = (ONE, TWO, THREE)
    plans = {each: PartitionPlan(each, each) for each in everything}
    at, limits = dict.fromkeys(everything, 0), BatchLimits(1000)
    limits.failed({each: OffsetRange(0, 1000) for each in everything}, "too slow")
    for _ in range(30):
        here = {p: Anchor("A->B", *p, "t", at[p], 0) for p in everything if p != gone}
        limits.forget_others(here)
        slots = plan_batch(plans, here, dict.fromkeys(everything, 1000), limits, 1)
        if not slots:
            break
        taken = ranges(slots)
        if bad in taken and taken[bad][0] <= 700 < taken[bad][1] and not poisons(slots):
            limits.failed({p: OffsetRange(*each) for p, each in taken.items()}, "too slow")
        else:
            at |= {p: end for p, (_, end) in taken.items()}
            limits.succeeded({p: OffsetRange(*each) for p, each in taken.items()})
    assert [at[each] for each in everything if each != gone] == [1000, 1000]
    assert not limits.searching


def poisons(slots) -> dict[int, str]:
    return {at: why for some in slots.values() for e in some for at, why in e.poisons.items()}
