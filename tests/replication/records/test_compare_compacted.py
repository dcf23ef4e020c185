"""What a comparison finds where a side is compacted: the last record of each key, and the order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.records.compare_compacted import Compacted, compare_compacted
from replication.records.comparison_result import (
    Comparison,
    DifferenceKind,
    Example,
    NoCounterpart,
    PartitionFacts,
)
from replication.records.keyed_log import Keyed

BOTH, NOTHING = Compacted(), PartitionFacts()


def stream(text: str) -> list[Keyed]:
    """Return records as in "a1 b2": a key and its value each; "a-" is a tombstone, "." a hole."""
    words = enumerate(text.split())
    return [Keyed(at, hash(w[0]), hash(w), w.endswith("-")) for at, w in words if w != "."]


def judged(source: str, target: str, known: PartitionFacts = NOTHING, which: Compacted = BOTH):
    return compare_compacted(stream(source), stream(target), known, which)


def counts(comparison: Comparison) -> dict[DifferenceKind, int]:
    return {kind: comparison.count(kind) for kind in DifferenceKind if comparison.count(kind)}


def no_counterpart(comparison: Comparison) -> dict[NoCounterpart, int]:
    return {why: count for why, count in comparison.no_counterpart.items() if count}


@pytest.mark.parametrize(
    ("source", "target", "reported"),
    [
        pytest.param("a1 b1 a2", "a1 b1 a2", {}, id="equal"),
        pytest.param(
            "a1 b1 a2", "b1 a2", {NoCounterpart.COMPACTED_ON_TARGET: 1}, id="target compacted"
        ),
        pytest.param(
            ". b1 a2", "a1 b1 a2", {NoCounterpart.COMPACTED_ON_SOURCE: 1}, id="source compacted"
        ),
        pytest.param(
            "a1 b1 a-", "b1", {NoCounterpart.COMPACTED_ON_TARGET: 2}, id="tombstone gone there"
        ),
        pytest.param(
            ". b1", "a1 b1 a-", {NoCounterpart.COMPACTED_ON_SOURCE: 2}, id="tombstone gone here"
        ),
    ],
)
def test_what_a_later_record_replaced_is_told_apart(source, target, reported):
    result = judged(source, target)
    assert (counts(result), no_counterpart(result)) == ({}, reported)


@pytest.mark.parametrize(
    ("source", "target", "finding"),
    [
        pytest.param(
            "a1 b1 a2", "a1 b1", {DifferenceKind.LOST: 1}, id="the last record of a key is lost"
        ),
        pytest.param("a1 b1", "a1", {DifferenceKind.LOST: 1}, id="a key is lost"),
        pytest.param(
            "a1 b1", "a1 bX", {DifferenceKind.DIFFERENT: 1}, id="the last record is another"
        ),
        pytest.param("a1 b1 c1", "b1 a1 c1", {DifferenceKind.OUT_OF_ORDER: 1}, id="order"),
        pytest.param("a1 b1", "a1 a1 b1", {DifferenceKind.REPEATED: 1}, id="repeated"),
        pytest.param("a1 a1 b1", "a1 a1 b1", {}, id="as often as on the source"),
        pytest.param("a1", "a1 aX", {DifferenceKind.EXTRA: 1}, id="another producer's last record"),
        pytest.param("a1", "a1 X9", {DifferenceKind.EXTRA: 1}, id="another producer's key"),
        pytest.param("a1 b-", "a1 b0", {DifferenceKind.DIFFERENT: 1}, id="a deleted key is back"),
    ],
)
def test_the_last_record_of_each_key_and_the_order_must_be_the_same(source, target, finding):
    assert counts(judged(source, target)) == finding


def test_a_side_that_is_not_compacted_must_hold_every_record():
    assert counts(judged("a1 a2", "a2", which=Compacted(target=False))) == {DifferenceKind.LOST: 1}
    assert counts(judged(". a2", "a1 a2", which=Compacted(source=False))) == {
        DifferenceKind.EXTRA: 1
    }


@pytest.mark.parametrize(
    ("source", "target", "reported", "finding"),
    [
        ("a1 b1 a2", "a1 b1", {NoCounterpart.IN_FLIGHT: 1}, {}),
        (
            ". b1 a2",
            "a1 b1",
            {NoCounterpart.IN_FLIGHT: 1, NoCounterpart.COMPACTED_ON_SOURCE: 1},
            {},
        ),
        (
            "a1 a2 a3",
            ". a2",
            {NoCounterpart.IN_FLIGHT: 1, NoCounterpart.COMPACTED_ON_TARGET: 1},
            {},
        ),
        ("a1 b1 a2", ". b1", {NoCounterpart.IN_FLIGHT: 1}, {DifferenceKind.LOST: 1}),
        ("a1 a2 a3", "a1", {NoCounterpart.IN_FLIGHT: 1}, {DifferenceKind.LOST: 1}),
    ],
)
def test_a_record_in_flight_may_have_replaced_what_the_target_still_has(
    source, target, reported, finding
):
    result = judged(source, target, PartitionFacts(copied=2, source_end=3))
    assert (no_counterpart(result), counts(result)) == (reported, finding)


def test_an_equal_record_on_the_target_is_no_reason_why_the_last_copied_one_lacks():
    """b1 stands behind the first a1, so that one is there; the second was copied and lacks."""
    result = judged("a1 b1 a1 a2", "a1 b1", PartitionFacts(copied=3, source_end=4))
    assert (no_counterpart(result), counts(result)) == (
        {NoCounterpart.IN_FLIGHT: 1},
        {DifferenceKind.LOST: 1},
    )


def test_retention_deletes_from_compacted_topics_too():
    deleted = judged("a1 b1 c1", ". . c1", PartitionFacts(target_deleted=2))
    assert (counts(deleted), no_counterpart(deleted)) == ({}, {NoCounterpart.DELETED_ON_TARGET: 2})
    deleted = judged(". b1", "a1 b1", PartitionFacts(source_deleted=1))
    assert (counts(deleted), no_counterpart(deleted)) == ({}, {NoCounterpart.DELETED_ON_SOURCE: 1})
    assert counts(judged("a1 b1 c1", "a1 . c1", PartitionFacts(target_deleted=2))) == {
        DifferenceKind.LOST: 1
    }
    partly = judged("a1 b1 c1", ". b1", PartitionFacts(target_deleted=1))
    assert (counts(partly), no_counterpart(partly)) == (
        {DifferenceKind.LOST: 1},
        {NoCounterpart.DELETED_ON_TARGET: 1},
    )
    assert no_counterpart(judged("a1 b1", "", PartitionFacts(target_deleted=2))) == {
        NoCounterpart.DELETED_ON_TARGET: 2
    }


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=40), st.data())
def test_whatever_the_cleaners_dropped_a_copy_is_equal(written, data):
    log = [Keyed(at, key, at + 100, dead) for at, (key, dead) in enumerate(written)]
    last = {each.key: each for each in log}
    sides = [
        [each for each in log if each is last[each.key] or data.draw(st.booleans())]
        for _ in range(2)
    ]
    result = compare_compacted(*sides, PartitionFacts(), BOTH)
    assert result.is_clean()
    assert (
        result.source_records
        == result.equal + result.no_counterpart[NoCounterpart.COMPACTED_ON_TARGET]
    )
    assert (
        result.target_records
        == result.equal + result.no_counterpart[NoCounterpart.COMPACTED_ON_SOURCE]
    )


UNTIMED = PartitionFacts(timed=False)


@pytest.mark.parametrize(
    ("source", "target", "reported", "finding"),
    [
        pytest.param("a1 b1 a1", "a1 b1 a1", {}, {}, id="the same value again"),
        pytest.param(
            "a1 b1 a1", "b1 a1", {NoCounterpart.COMPACTED_ON_TARGET: 1}, {}, id="target compacted"
        ),
        pytest.param(
            ". b1 a1", "a1 b1 a1", {NoCounterpart.COMPACTED_ON_SOURCE: 1}, {}, id="source compacted"
        ),
        pytest.param(
            ". b1 a2", "a1 a1 b1 a2", {NoCounterpart.COMPACTED_ON_SOURCE: 2}, {}, id="all of them"
        ),
        pytest.param(
            "a1 b1 a1 c1", "a1 b1 c1 a1", {}, {DifferenceKind.OUT_OF_ORDER: 1}, id="order"
        ),
        pytest.param(
            "a1 a2 a1", "a1 a2", {}, {DifferenceKind.LOST: 1}, id="the last record of the key"
        ),
    ],
)
def test_equal_records_are_told_apart_by_their_places(source, target, reported, finding):
    result = judged(source, target, UNTIMED)
    assert (no_counterpart(result), counts(result)) == (reported, finding)


def test_an_equal_record_that_is_out_of_order_stands_for_one_of_the_source_and_none_is_lost():
    known = PartitionFacts()  # with timestamps, so that all that is equal is a copy
    result = judged("a1 b1 a1 c1", "a1 a1 b1 c1", known)
    assert (counts(result), no_counterpart(result), result.equal) == (
        {DifferenceKind.OUT_OF_ORDER: 1},
        {},
        4,
    )
    assert result.found[DifferenceKind.OUT_OF_ORDER].examples == [Example(2, 0)]
    result = judged("b1 a1 a1 c1", "a1 a1 c1 b1", known)
    assert result.found[DifferenceKind.OUT_OF_ORDER].examples == [Example(3, 2)], (
        "c1 alone is displaced"
    )


def test_only_where_no_side_is_compacted_every_record_must_be_there():
    assert [bool(Compacted(a, b)) for a in (False, True) for b in (False, True)] == [
        False,
        True,
        True,
        True,
    ]


def test_a_side_that_is_not_compacted_must_hold_equal_records_as_often():
    one_side = judged("a1 b1 a1", "a1 b1", UNTIMED, Compacted(target=False))
    assert counts(one_side) == {DifferenceKind.LOST: 1}
    one_side = judged("a1 b1", "a1 b1 a1", UNTIMED, Compacted(source=False))
    assert counts(one_side) == {DifferenceKind.REPEATED: 1}


def test_the_same_value_again_may_be_in_flight_or_deleted():
    flying = judged("a1 b1 a1", "a1 b1", PartitionFacts(copied=2, source_end=3, timed=False))
    assert (no_counterpart(flying), counts(flying)) == ({NoCounterpart.IN_FLIGHT: 1}, {})
    which, known = Compacted(source=False), PartitionFacts(source_deleted=1, timed=False)
    deleted = judged(". b1 a1", "a1 b1 a1", known, which)
    assert (no_counterpart(deleted), counts(deleted)) == ({NoCounterpart.DELETED_ON_SOURCE: 1}, {})
    which, known = Compacted(target=False), PartitionFacts(target_deleted=1, timed=False)
    deleted = judged("a1 b1 a1", ". b1 a1", known, which)
    assert (no_counterpart(deleted), counts(deleted)) == ({NoCounterpart.DELETED_ON_TARGET: 1}, {})


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=30),
    st.sampled_from([BOTH, Compacted(target=False), Compacted(source=False)]),
    st.data(),
)
def test_whatever_was_cleaned_a_copy_with_equal_values_and_no_timestamps_is_equal(
    written, which, data
):
    """A cleaner leaves, up to some offset, the last record of each key."""
    log = [Keyed(at, key, 10 * key + value, not value) for at, (key, value) in enumerate(written)]

    def cleaned(records: list[Keyed], *, compacted: bool) -> list[Keyed]:
        up_to = data.draw(st.integers(0, len(records))) if compacted else 0
        last = {each.key: each for each in records[:up_to]}
        return [e for e in records[:up_to] if e is last[e.key]] + records[up_to:]

    copied = data.draw(st.integers(0, len(log)))
    here = cleaned(log, compacted=which.source)
    there = cleaned(log[:copied], compacted=which.target)
    anchor = data.draw(st.integers(0, copied))
    result = compare_compacted(here, there, PartitionFacts(anchor, len(log), timed=False), which)
    assert counts(result) == {}
    reported = result.no_counterpart
    assert result.source_records == result.equal + reported[NoCounterpart.COMPACTED_ON_TARGET]
    assert result.target_records == result.equal + reported[NoCounterpart.COMPACTED_ON_SOURCE]
