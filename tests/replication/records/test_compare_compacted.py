"""What a comparison finds where a side is compacted: the last record of each key, and the order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.records.compare_compacted import Compacted, Keyed, compare_compacted
from replication.records.comparison_result import Apart, Comparison, Kind, Known

BOTH = Compacted()


def stream(text: str) -> list[Keyed]:
    """Return records as in "a1 b2": a key and its value each; "a-" is a tombstone, "." a hole."""
    words = enumerate(text.split())
    return [Keyed(at, hash(w[0]), hash(w), w.endswith("-")) for at, w in words if w != "."]


def judged(source: str, target: str, known: Known = Known(), which: Compacted = BOTH):  # noqa: B008 - frozen
    return compare_compacted(stream(source), stream(target), known, which)


def counts(comparison: Comparison) -> dict[Kind, int]:
    return {kind: comparison.count(kind) for kind in Kind if comparison.count(kind)}


def apart(comparison: Comparison) -> dict[Apart, int]:
    return {why: count for why, count in comparison.apart.items() if count}


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        pytest.param("a1 b1 a2", "a1 b1 a2", {}, id="equal"),
        pytest.param("a1 b1 a2", "b1 a2", {Apart.COMPACTED_ON_TARGET: 1}, id="target compacted"),
        pytest.param(". b1 a2", "a1 b1 a2", {Apart.COMPACTED_ON_SOURCE: 1}, id="source compacted"),
        pytest.param("a1 b1 a-", "b1", {Apart.COMPACTED_ON_TARGET: 2}, id="tombstone gone there"),
        pytest.param(". b1", "a1 b1 a-", {Apart.COMPACTED_ON_SOURCE: 2}, id="tombstone gone here"),
    ],
)
def test_what_a_later_record_replaced_is_told_apart(source, target, told):
    result = judged(source, target)
    assert (counts(result), apart(result)) == ({}, told)


@pytest.mark.parametrize(
    ("source", "target", "finding"),
    [
        pytest.param("a1 b1 a2", "a1 b1", {Kind.LOST: 1}, id="the last record of a key is lost"),
        pytest.param("a1 b1", "a1", {Kind.LOST: 1}, id="a key is lost"),
        pytest.param("a1 b1", "a1 bX", {Kind.DIFFERENT: 1}, id="the last record is another"),
        pytest.param("a1 b1 c1", "b1 a1 c1", {Kind.OUT_OF_ORDER: 1}, id="order"),
        pytest.param("a1 b1", "a1 a1 b1", {Kind.REPEATED: 1}, id="repeated"),
        pytest.param("a1 a1 b1", "a1 a1 b1", {}, id="as often as on the source"),
        pytest.param("a1", "a1 aX", {Kind.EXTRA: 1}, id="another producer's last record"),
        pytest.param("a1", "a1 X9", {Kind.EXTRA: 1}, id="another producer's key"),
        pytest.param("a1 b-", "a1 b0", {Kind.DIFFERENT: 1}, id="a deleted key is back"),
    ],
)
def test_the_last_record_of_each_key_and_the_order_must_be_the_same(source, target, finding):
    assert counts(judged(source, target)) == finding


def test_a_side_that_is_not_compacted_must_hold_every_record():
    assert counts(judged("a1 a2", "a2", which=Compacted(target=False))) == {Kind.LOST: 1}
    assert counts(judged(". a2", "a1 a2", which=Compacted(source=False))) == {Kind.EXTRA: 1}


@pytest.mark.parametrize(
    ("source", "target", "told", "finding"),
    [
        ("a1 b1 a2", "a1 b1", {Apart.IN_FLIGHT: 1}, {}),
        (". b1 a2", "a1 b1", {Apart.IN_FLIGHT: 1, Apart.COMPACTED_ON_SOURCE: 1}, {}),
        ("a1 a2 a3", ". a2", {Apart.IN_FLIGHT: 1, Apart.COMPACTED_ON_TARGET: 1}, {}),
        ("a1 b1 a2", ". b1", {Apart.IN_FLIGHT: 1}, {Kind.LOST: 1}),
        ("a1 a2 a3", "a1", {Apart.IN_FLIGHT: 1}, {Kind.LOST: 1}),
    ],
)
def test_a_record_in_flight_may_have_replaced_what_the_target_still_has(
    source, target, told, finding
):
    result = judged(source, target, Known(copied=2, source_end=3))
    assert (apart(result), counts(result)) == (told, finding)


def test_retention_deletes_from_compacted_topics_too():
    deleted = judged("a1 b1 c1", ". . c1", Known(target_deleted=2))
    assert (counts(deleted), apart(deleted)) == ({}, {Apart.DELETED_ON_TARGET: 2})
    deleted = judged(". b1", "a1 b1", Known(source_deleted=1))
    assert (counts(deleted), apart(deleted)) == ({}, {Apart.DELETED_ON_SOURCE: 1})
    assert counts(judged("a1 b1 c1", "a1 . c1", Known(target_deleted=2))) == {Kind.LOST: 1}
    partly = judged("a1 b1 c1", ". b1", Known(target_deleted=1))
    assert (counts(partly), apart(partly)) == ({Kind.LOST: 1}, {Apart.DELETED_ON_TARGET: 1})
    assert apart(judged("a1 b1", "", Known(target_deleted=2))) == {Apart.DELETED_ON_TARGET: 2}


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=40), st.data())
def test_whatever_the_cleaners_dropped_a_copy_is_equal(written, data):
    log = [Keyed(at, key, at + 100, dead) for at, (key, dead) in enumerate(written)]
    last = {each.key: each for each in log}
    sides = [
        [each for each in log if each is last[each.key] or data.draw(st.booleans())]
        for _ in range(2)
    ]
    result = compare_compacted(*sides, Known(), BOTH)
    assert result.is_clean()
    assert result.source_records == result.equal + result.apart[Apart.COMPACTED_ON_TARGET]
    assert result.target_records == result.equal + result.apart[Apart.COMPACTED_ON_SOURCE]
