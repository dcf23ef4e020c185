"""Offsets translated both ways, compared with logs whose content is known."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from support.records.copied_logs import OURS, Copy, a_life

from replication.model import Mode
from replication.offsets.offset_points import OffsetPoints
from replication.records.batch import COMMIT


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_every_offset_lands_on_the_same_record_both_ways(seed):
    copy = a_life(seed)
    offsets = range(copy.source.end + 1)
    assert copy.ask(offsets) == {each: copy.truth(each) for each in offsets}
    back = range(copy.target.end + 1)
    assert copy.ask(back, back=True) == {each: copy.truth_back(each) for each in back}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9))
def test_one_offset_alone_has_the_same_answer_as_among_others(seed):
    copy = a_life(seed, 30)
    for each in random.Random(seed).sample(range(copy.source.end + 1), 5):
        assert copy.ask([each]) == {each: copy.truth(each)}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.floats(0, 1), st.floats(0, 1))
def test_retention_skips_nothing_that_is_left(seed, source_gone, target_gone):
    copy = a_life(seed)
    copy.source.first = int(copy.source.end * source_gone)
    copy.target.first = int(copy.target.end * target_gone)
    found = copy.answers(range(copy.source.end + 1))
    for offset, (answer, exact, _) in found.items():
        truth = copy.truth(offset)
        assert answer <= truth
        assert exact or offset < copy.source.first
        if exact:
            own = {t for _, t in copy.pairs}  # what others wrote may lie between
            assert not own & set(range(answer, truth)), (offset, answer, truth)


def test_what_is_not_copied_yet_has_no_answer():
    copy = Copy()
    copy.write(10)
    copy.copy(4)
    copy.note()
    assert copy.ask(range(11)) == {**{n: n for n in range(5)}, **dict.fromkeys(range(5, 11))}


def test_what_was_copied_since_the_last_anchor_counts_only_if_asked():
    copy = Copy()
    copy.write(10)
    copy.copy(4)
    copy.note()
    base = copy.target.end
    copy.target.add(range(base, base + 3), OURS)  # acked, and no anchor says so yet
    assert copy.ask([6, 7, 8]) == {6: 6, 7: 7, 8: None}
    strict = asyncio.run(copy.translation(ahead=False).translate([4, 6]))
    assert [each.offset for each in strict.values()] == [4, None]


def test_what_is_behind_the_last_point_is_not_read_for_who_does_not_look_ahead():
    copy = Copy()
    copy.write(8)
    copy.copy(5)
    copy.note()
    late = asyncio.run(copy.translation(ahead=False).translate([6, 7]))
    assert [each.offset for each in late.values()] == [None, None]
    assert copy.target.fetched == 0


def test_bl_071_a_group_at_the_end_of_a_transactional_topic_has_no_lag():
    copy = Copy()
    copy.transact(5, COMMIT)
    copy.copy(5)
    copy.copy(1)  # past the marker
    copy.target.mark(OURS)  # and a fence marker on the target
    copy.note()
    assert copy.ask([copy.source.end]) == {6: copy.target.end}


def test_bl_072_a_group_at_the_end_of_an_emptied_topic_is_at_the_start_of_its_copy():
    copy = Copy()
    copy.source.end = copy.source.first = 100
    copy.at = replace(copy.at, source=100, target=0)
    copy.offset_points = OffsetPoints.of(copy.at)
    copy.note()
    assert copy.ask([0, 50, 100]) == {0: 0, 50: 0, 100: 0}


def test_bl_078_timestamps_play_no_part():
    copy = Copy()  # all records have the same one
    copy.write(1000)
    copy.copy(1000)
    copy.note()
    assert copy.ask([500]) == {500: 500}


def test_a_straight_run_is_translated_without_reading():
    copy = Copy()
    for _ in range(50):
        copy.write(20)
        copy.copy(20)
        copy.note()
    copy.write(3)
    copy.copy(3)
    copy.at = copy.offset_points.note(copy.at)
    copy.ask(range(900))
    assert copy.source.fetched == copy.target.fetched == 0


def test_an_early_offset_is_counted_without_reading_to_the_end_of_its_interval():
    copy = Copy()
    for _ in range(400):
        copy.write(1, hole=1)
    copy.copy(400)
    copy.note()
    assert copy.ask([9]) == {9: 4}
    early = copy.source.fetched
    assert copy.ask([790]) == {790: 395}
    assert early < copy.source.fetched / 20


def test_identical_records_of_a_compacted_topic_are_told_apart_by_their_places():
    """As long as compaction has taken none: by content the first of them would be found."""
    copy = Copy()
    copy.at = replace(copy.at, mode=Mode.TRANSACTIONAL)
    copy.offset_points = OffsetPoints.of(copy.at)
    copy.target.add(range(4))
    copy.write(4)
    copy.copy(4)
    copy.target.mark(OURS, COMMIT)
    copy.note()
    assert copy.ask(range(4)) == {0: 4, 1: 5, 2: 6, 3: 7}
    assert copy.ask(range(4, 8), back=True) == {4: 0, 5: 1, 6: 2, 7: 3}


def test_old_offsets_are_exact_after_their_points_have_thinned_out():
    copy = Copy()
    for _ in range(300):  # breaks
        copy.write(2)
        copy.target.mark(OURS)
        copy.copy(2)
        copy.note()
    assert len(copy.points) < 90
    offsets = range(copy.source.end + 1)
    assert copy.ask(offsets) == {each: copy.truth(each) for each in offsets}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_after_compaction_only_superseded_records_are_passed_over(seed):
    chance, copy = random.Random(seed), Copy()
    copy.at = replace(copy.at, mode=Mode.TRANSACTIONAL)
    copy.offset_points = OffsetPoints.of(copy.at)
    for turn in range(20):
        count, begin = chance.randint(1, 8), copy.source.end
        values = [(b"%d" % chance.randrange(6), b"%d-%d" % (turn, n)) for n in range(count)]
        copy.source.add(range(begin, begin + count), values=values)
        copy.deliverable += range(begin, begin + count)
        copy.target.add(range(copy.target.end, copy.target.end + count), OURS, values=values)
        copy.pairs += zip(
            range(begin, begin + count),
            range(copy.target.end - count, copy.target.end),
            strict=True,
        )
        copy.done += count
        copy.target.mark(OURS, COMMIT)
        copy._moved(begin + count, count)
        if chance.random() < 0.3:
            copy.note()
    copy.note()
    copy.source.compact(chance.randrange(copy.source.end + 1))
    copy.target.compact(chance.randrange(copy.target.end + 1))
    left = copy.target.held()
    found = copy.ask(range(copy.source.end + 1))
    for offset, answer in found.items():
        passed = [key for at, key, _ in left if copy.truth(offset) <= at < answer]
        assert set(passed) <= {key for at, key, _ in left if at >= answer}


def test_a_compacted_stretch_that_is_too_long_never_skips(monkeypatch):
    copy = Copy()
    copy.at = replace(copy.at, mode="transactional")
    copy.offset_points = OffsetPoints.of(copy.at)
    copy.write(30)
    copy.target.mark(OURS)
    copy.copy(30)
    copy.note()
    copy.target.batches = copy.target.batches[:1]  # compaction took all records but the last ones
    copy.target.add([28, 29, 30], OURS)
    monkeypatch.setattr("replication.offsets.closed_interval._MAX_DECODED", 10)
    found = asyncio.run(copy.translation().translate(range(30)))
    assert [each.exact for each in found.values()] == [False] * 30
    assert all(found[offset].offset <= offset + 1 for offset in found)
