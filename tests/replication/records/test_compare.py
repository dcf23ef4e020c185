"""What a comparison finds in two streams of records."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.records.compare import compare
from replication.records.comparison_result import (
    Comparison,
    DifferenceKind,
    Example,
    Fingerprint,
    Limits,
    NoCounterpart,
    PartitionFacts,
    RecordPart,
    fingerprint,
)


def stream(content: str | list[int]) -> list[Fingerprint]:
    digests = map(ord, content) if isinstance(content, str) else content
    return [Fingerprint(offset, digest) for offset, digest in enumerate(digests)]


def found(comparison: Comparison) -> dict[DifferenceKind, list[tuple]]:
    return {kind: each.examples for kind, each in comparison.found.items() if each.count}


def counts(comparison: Comparison) -> dict[DifferenceKind, int]:
    return {kind: comparison.count(kind) for kind in DifferenceKind if comparison.count(kind)}


@pytest.mark.parametrize(
    ("source", "target", "finding"),
    [
        pytest.param("abcd", "abcd", {}, id="equal"),
        pytest.param("", "", {}, id="both empty"),
        pytest.param("abcd", "abd", {DifferenceKind.LOST: [(2, None)]}, id="lost"),
        pytest.param("abcd", "bcd", {DifferenceKind.LOST: [(0, None)]}, id="lost at the start"),
        pytest.param("abcd", "abc", {DifferenceKind.LOST: [(3, None)]}, id="lost at the end"),
        pytest.param("ab", "", {DifferenceKind.LOST: [(0, None), (1, None)]}, id="all lost"),
        pytest.param(
            "abcd", "abbcd", {DifferenceKind.REPEATED: [(None, 2)]}, id="repeated at once"
        ),
        pytest.param(
            "abcd", "abcbcd", {DifferenceKind.REPEATED: [(None, 3), (None, 4)]}, id="rewound"
        ),
        pytest.param(
            "abcd", "abcda", {DifferenceKind.REPEATED: [(None, 4)]}, id="repeated at the end"
        ),
        pytest.param("abcd", "abXd", {DifferenceKind.DIFFERENT: [(2, 2)]}, id="different"),
        pytest.param(
            "abcd", "abcX", {DifferenceKind.DIFFERENT: [(3, 3)]}, id="different at the end"
        ),
        pytest.param("abcd", "acbd", {DifferenceKind.OUT_OF_ORDER: [(2, 1)]}, id="swapped"),
        pytest.param(
            "abcdef", "bcdefa", {DifferenceKind.OUT_OF_ORDER: [(0, 5)]}, id="moved to the end"
        ),
        pytest.param("abcd", "XabcdY", {DifferenceKind.EXTRA: [(None, 0), (None, 5)]}, id="extra"),
        pytest.param(
            "aab", "ab", {DifferenceKind.LOST: [(1, None)]}, id="one of two equal records lost"
        ),
        pytest.param(
            "abcde",
            "aXe",
            {DifferenceKind.DIFFERENT: [(1, 1)], DifferenceKind.LOST: [(2, None), (3, None)]},
            id="different and lost together",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_offsets(source, target, finding):
    result = compare(stream(source), stream(target))
    assert found(result) == finding
    assert result.is_clean() == (not finding)
    assert (result.source_records, result.target_records) == (len(source), len(target))


def test_records_of_other_writers_can_be_allowed():
    result = compare(stream("abcd"), stream("XaYYbcZd"), foreign_ok=True)
    assert counts(result) == {DifferenceKind.EXTRA: 4}
    assert result.is_clean(foreign_ok=True)
    assert not result.is_clean()


def test_among_other_writers_an_altered_record_is_a_lost_one():
    result = compare(stream("abcd"), stream("aXcd"), foreign_ok=True)
    assert counts(result) == {DifferenceKind.LOST: 1, DifferenceKind.EXTRA: 1}
    assert not result.is_clean(foreign_ok=True)


def test_other_writers_in_runs_longer_than_the_window_cost_nothing_their_place():
    target = [1, *range(1000, 1300), 2, 3]
    result = compare(stream([1, 2, 3]), stream(target), foreign_ok=True, limits=Limits(window=64))
    assert counts(result) == {DifferenceKind.EXTRA: 300}


def no_counterpart(comparison: Comparison) -> dict[NoCounterpart, int]:
    return {why: count for why, count in comparison.no_counterpart.items() if count}


@pytest.mark.parametrize(
    ("source", "target", "copied", "in_flight", "finding"),
    [
        pytest.param("abcd", "ab", 2, 2, {}, id="the end is not copied yet"),
        pytest.param("abcd", "abc", 2, 1, {}, id="more is there than the anchor says"),
        pytest.param("abcd", "ab", 3, 1, {DifferenceKind.LOST: 1}, id="less is there than it says"),
        pytest.param("abcd", "acd", 4, 0, {DifferenceKind.LOST: 1}, id="all is said to be copied"),
        pytest.param(
            "abcd", "abX", 2, 2, {DifferenceKind.EXTRA: 1}, id="another producer behind the copies"
        ),
        pytest.param("abcd", "abd", 2, 1, {}, id="in flight, yet the next one is there"),
        pytest.param("ab", "", 0, 2, {}, id="nothing is copied yet"),
        pytest.param(
            "ab", "", None, 0, {DifferenceKind.LOST: 2}, id="nothing is known of the copy"
        ),
    ],
)
def test_records_behind_what_the_anchor_says_are_in_flight(
    source, target, copied, in_flight, finding
):
    known = PartitionFacts(copied, source_end=len(source))
    result = compare(stream(source), stream(target), known=known)
    assert (no_counterpart(result).get(NoCounterpart.IN_FLIGHT, 0), counts(result)) == (
        in_flight,
        finding,
    )
    assert result.source_records == len(source) - in_flight


def test_a_long_backlog_in_flight_is_counted_and_not_read():
    read = 0

    def backlog():
        nonlocal read
        for each in stream(list(range(5_000))):
            read += 1
            yield each

    known = PartitionFacts(copied=10, source_end=6_000)  # the rest of the offsets counts too
    few = Limits(window=100)
    result = compare(backlog(), stream(list(range(10))), known=known, limits=few)
    assert (result.is_clean(), result.no_counterpart[NoCounterpart.IN_FLIGHT]) == (True, 5_990)
    assert read <= 200


@pytest.mark.parametrize(
    ("source", "target", "known", "counted", "finding"),
    [
        pytest.param(
            "abcdef",
            "cdef",
            PartitionFacts(target_deleted=2),
            {NoCounterpart.DELETED_ON_TARGET: 2},
            {},
            id="on the target",
        ),
        pytest.param(
            "cdef",
            "abcdef",
            PartitionFacts(source_deleted=2),
            {NoCounterpart.DELETED_ON_SOURCE: 2},
            {},
            id="on the source",
        ),
        pytest.param(
            "abcdef",
            "def",
            PartitionFacts(target_deleted=2),
            {NoCounterpart.DELETED_ON_TARGET: 2},
            {DifferenceKind.LOST: 1},
            id="more is missing than was deleted",
        ),
        pytest.param(
            "abcdef",
            "ceX",
            PartitionFacts(target_deleted=2),
            {NoCounterpart.DELETED_ON_TARGET: 2},
            {DifferenceKind.LOST: 1, DifferenceKind.DIFFERENT: 1},
            id="loss behind what was deleted",
        ),
        pytest.param(
            "abcd",
            "",
            PartitionFacts(target_deleted=9),
            {NoCounterpart.DELETED_ON_TARGET: 4},
            {},
            id="all of the target",
        ),
        pytest.param(
            "abcd",
            "Xcd",
            PartitionFacts(target_deleted=1),
            {NoCounterpart.DELETED_ON_TARGET: 1},
            {DifferenceKind.DIFFERENT: 1},
            id="an altered record behind what was deleted",
        ),
    ],
)
def test_what_retention_deleted_in_front_is_told_apart_from_loss(
    source, target, known, counted, finding
):
    result = compare(stream(source), stream(target), known=known)
    assert (no_counterpart(result), counts(result)) == (counted, finding)


def test_retention_excuses_no_more_than_it_deleted_however_long_the_gap_is():
    few, known = Limits(window=16, memory=10), PartitionFacts(target_deleted=20)
    result = compare(stream(list(range(100))), stream([]), limits=few, known=known)
    assert (no_counterpart(result), counts(result)) == (
        {NoCounterpart.DELETED_ON_TARGET: 20},
        {DifferenceKind.LOST: 80},
    )


def test_retention_excuses_nothing_between_records_that_agree():
    result = compare(stream("abcd"), stream("abd"), known=PartitionFacts(target_deleted=100))
    assert counts(result) == {DifferenceKind.LOST: 1}


@pytest.mark.parametrize(
    ("memory", "finding"),
    [
        pytest.param(
            100, {DifferenceKind.LOST: 2, DifferenceKind.OUT_OF_ORDER: 1}, id="remembered"
        ),
        pytest.param(2, {DifferenceKind.LOST: 3, DifferenceKind.EXTRA: 1}, id="forgotten"),
    ],
)
def test_a_record_that_moved_further_than_the_memory_is_still_a_fault(memory, finding):
    target = stream([0, 4, 5, 6, 7, 8, 9, 1])
    result = compare(stream(list(range(10))), target, limits=Limits(memory=memory))
    assert counts(result) == finding


def test_a_record_that_is_found_again_takes_no_memory_any_more():
    """11 records are remembered for a while, but never more than four at a time."""
    target = [0, 4, 5, 6, 1, 7, 9, 11, 12, 13, 14, 2, *range(15, 30)]
    result = compare(stream(list(range(30))), stream(target), limits=Limits(memory=4))
    assert counts(result) == {DifferenceKind.LOST: 3, DifferenceKind.OUT_OF_ORDER: 4}


def test_the_nearest_agreement_counts_even_if_a_farther_one_is_seen_first():
    target = [*range(100, 110), 10, *range(110, 116), *range(10), *range(11, 30)]
    result = compare(stream(list(range(30))), stream(target))
    assert counts(result) == {DifferenceKind.EXTRA: 16, DifferenceKind.OUT_OF_ORDER: 1}


def test_only_the_first_examples_are_kept():
    result = compare(stream(list(range(100))), stream([]), limits=Limits(examples=2))
    assert result.count(DifferenceKind.LOST) == 100
    assert found(result) == {DifferenceKind.LOST: [Example(0, None), Example(1, None)]}


def test_streams_that_agree_are_walked_in_step():
    at = {"source": 0, "target": 0}
    distances = []

    def watched(name):
        for each in stream(list(range(100))):
            at[name] = each.offset
            distances.append(abs(at["source"] - at["target"]))
            yield each

    assert compare(watched("source"), watched("target")).is_clean()
    assert max(distances) == 1


faults = st.lists(
    st.sampled_from(["keep"] * 5 + ["drop", "alter", "repeat", "foreign"]), max_size=300
)


@settings(max_examples=300)
@given(faults, st.randoms(use_true_random=False))
def test_every_single_fault_is_counted_as_what_it_is(faults, chance):
    target: list[int] = []
    copied: list[int] = []
    expected = dict.fromkeys(DifferenceKind, 0)
    for number, fault in enumerate(faults):
        match fault:
            case "drop":
                expected[DifferenceKind.LOST] += 1
                continue
            case "alter":
                expected[DifferenceKind.DIFFERENT] += 1
                target.append(-number - 1)
                continue
            case "repeat" if copied:
                expected[DifferenceKind.REPEATED] += 1
                target.append(chance.choice(copied))
        target.append(number)
        copied.append(number)
    result = compare(stream(list(range(len(faults)))), stream(target))
    assert {kind: result.count(kind) for kind in DifferenceKind} == expected


@given(st.lists(st.integers(0, 4), max_size=40), st.lists(st.integers(0, 4), max_size=40))
def test_the_verdict_is_exact_for_any_two_streams(source, target):
    small = Limits(window=16, memory=5)
    result = compare(stream(source), stream(target), limits=small)
    assert result.is_clean() == (source == target)
    one_sided = (
        result.count(DifferenceKind.LOST)
        - result.count(DifferenceKind.REPEATED)
        - result.count(DifferenceKind.EXTRA)
    )
    assert one_sided == len(source) - len(target)


@given(st.permutations(range(50)))
def test_a_shuffled_copy_loses_and_adds_nothing(shuffled):
    result = compare(stream(list(range(50))), stream(shuffled))
    assert set(counts(result)) <= {DifferenceKind.OUT_OF_ORDER}


@given(st.lists(st.integers(0, 50), unique=True), st.lists(st.integers(100, 150)), st.data())
def test_interleaving_another_writer_is_clean_where_it_is_allowed(ours, others, data):
    slots = data.draw(st.permutations([True] * len(ours) + [False] * len(others)))
    mine, theirs = iter(ours), iter(others)
    target = [next(mine if own else theirs) for own in slots]
    result = compare(stream(ours), stream(target), foreign_ok=True, limits=Limits(window=16))
    assert result.is_clean(foreign_ok=True)
    assert result.count(DifferenceKind.EXTRA) == len(others)


RECORD = (b"k", b"v", [("h", b"1")], 7)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((b"kv", b"", [("h", b"1")], 7), id="key and value cut elsewhere"),
        pytest.param((None, b"v", [("h", b"1")], 7), id="no key"),
        pytest.param((b"k", None, [("h", b"1")], 7), id="tombstone"),
        pytest.param((b"k", b"", [("h", b"1")], 7), id="empty value"),
        pytest.param((b"k", b"v", [], 7), id="no header"),
        pytest.param((b"k", b"v", [("i", b"1")], 7), id="header of another name"),
        pytest.param((b"k", b"v", [("h", None)], 7), id="header without value"),
        pytest.param((b"k", b"v", [("h", b"1"), ("h", b"1")], 7), id="header twice"),
        pytest.param((b"k", b"v", [("h", b"1")], 8), id="timestamp"),
        pytest.param((b"k", b"v", [("h", b"1")], None), id="timestamp that does not count"),
    ],
)
def test_a_fingerprint_tells_contents_apart(other):
    assert fingerprint(*RECORD) != fingerprint(*other)
    assert fingerprint(*RECORD) == fingerprint(*RECORD)


def test_a_fingerprint_has_64_bits():
    """It is packed into as many, a million times."""
    found = [fingerprint(b"k", str(n).encode(), [], None) for n in range(100)]
    assert max(found) < 1 << 64
    assert max(found) > 1 << 60, "and uses them"


@pytest.mark.parametrize(
    ("null", "empty"),
    [
        pytest.param((None, b"v", [], 7), (b"", b"v", [], 7), id="key"),
        pytest.param((b"k", None, [], 7), (b"k", b"", [], 7), id="value"),
        pytest.param((b"k", b"v", [("h", None)], 7), (b"k", b"v", [("h", b"")], 7), id="header"),
    ],
)
def test_null_and_empty_are_different_contents(null, empty):
    assert fingerprint(*null) != fingerprint(*empty)


def test_which_parts_of_a_record_differ_is_counted_where_that_is_asked():
    source = [Fingerprint(n, n, (1, 2, 3, n)) for n in range(6)]
    target = [*source]
    target[2] = Fingerprint(2, 102, (1, 9, 3, 2))
    target[4] = Fingerprint(4, 104, (8, 2, 7, 5))
    result = compare(source, target)
    assert {part: count for part, count in result.parts.items() if count} == {
        RecordPart.KEY: 1, RecordPart.VALUE: 1, RecordPart.HEADERS: 1, RecordPart.TIMESTAMP: 1
    }  # fmt: skip
    finding = result.found[DifferenceKind.DIFFERENT]
    assert finding.examples == [(2, 2), (4, 4)]
    assert finding.differs == [
        (RecordPart.VALUE,),
        (RecordPart.KEY, RecordPart.HEADERS, RecordPart.TIMESTAMP),
    ]
