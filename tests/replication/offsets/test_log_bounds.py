"""Offsets that do not exist, lie below the log start or are undecided: one clear answer each."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.records.copied_logs import OURS, Copy, a_life

from replication.client import log_end
from replication.model import Mode, OffsetRange
from replication.offsets.log_bounds import nonexistent, within
from replication.offsets.offset_map import NOT_YET, Answer
from replication.offsets.offset_points import OffsetPoints
from replication.records.batch import COMMIT

INT64_MAX = (1 << 63) - 1


@pytest.fixture(scope="module", autouse=True)
def without_pauses():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_end, "_PAUSE_S", 0)
        yield


def copied(at=0):
    """Return a copy of ten batches without lag; ``at``: the place of its first record."""
    copy = Copy()
    if at:
        copy.target.add(range(at))
    for _ in range(10):
        copy.write(1)
        copy.copy(1)
    copy.note()
    return copy


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("lag", [0, 3])
@pytest.mark.parametrize("beyond", [1, 2, 90_000_000, INT64_MAX - 10])
def test_only_the_end_itself_maps_to_the_end(ahead, lag, beyond):
    copy = copied(at=4)
    if lag:
        copy.write(lag)
    end = 10 + lag
    found = copy.answers([9, 10, end, end + beyond], ahead=ahead)
    assert (found[9], found[10]) == (Answer(13), Answer(14))
    assert found[end] == (NOT_YET if lag else Answer(14))
    assert found[end + beyond].offset is None
    assert found[end + beyond].problem == f"is beyond the end of the source ({end})"
    assert not found[end + beyond].exact


@pytest.mark.parametrize("lag", [0, 3])
@pytest.mark.parametrize("beyond", [1, 90_000_000, INT64_MAX - 14])
def test_back_only_the_end_itself_maps_to_what_is_read_next(lag, beyond):
    copy = copied(at=4)
    if lag:
        copy.write(lag)
    found = copy.answers([14, 14 + beyond], back=True)
    assert found[14] == Answer(10)
    assert found[14 + beyond].problem == "is beyond the end of the target (14)"
    assert found[14 + beyond].offset is None


@pytest.mark.parametrize("back", [False, True])
def test_a_negative_offset_is_none_of_a_record(back):
    found = copied().answers([-1, -(1 << 63)], back=back)
    assert {each.problem for each in found.values()} == {"is negative: offsets begin at 0"}
    assert {each.offset for each in found.values()} == {None}


@pytest.mark.parametrize("back", [False, True])
def test_no_offsets_have_no_answers(back):
    assert copied().answers([], back=back) == {}


def test_what_the_source_lost_at_its_end_is_not_translated():
    copy = copied()
    copy.source.truncate(6)
    found = copy.answers([5, 6, 7, 10])
    assert found[5] == Answer(5)
    assert found[6] == NOT_YET, "the next record there is another one than was copied"
    assert {found[7].problem, found[10].problem} == {"is beyond the end of the source (6)"}
    back = copy.answers([5, 6, 8, 10], back=True)
    assert (back[5], back[6]) == (Answer(5), Answer(6))
    assert (
        back[8].problem
        == "would be beyond the end of the source (6), which has lost its last records"
    )
    assert (
        back[10].problem
        == "would be beyond the end of the source (6), which has lost its last records"
    )


def test_what_the_source_has_now_where_it_lost_what_was_copied_is_not_taken_for_it():
    copy = copied()
    copy.source.truncate(6)
    copy.write(9)  # the source ends at 15 now, and 6 to 9 are other records than were copied

    def ask(*offsets, back=False):
        return asyncio.run(copy.translation(kept=6).translate(offsets, back=back))

    assert ask(5, 6, 8, 10, 15) == {5: Answer(5), **dict.fromkeys((6, 8, 10, 15), NOT_YET)}
    assert ask(16)[16].problem == "is beyond the end of the source (15)"
    found = ask(5, 6, 8, 10, back=True)
    assert (found[5], found[6]) == (Answer(5), Answer(6))
    lost = "follows the copy of a record that the source no longer has"
    assert {found[8].problem, found[10].problem} == {lost}


def test_what_the_target_lost_at_its_end_has_no_place_there():
    copy = copied()
    copy.target.truncate(6)
    found = copy.answers([5, 6, 7, 11])
    assert (found[5], found[6]) == (Answer(5), Answer(6))
    assert (
        found[7].problem
        == "would be beyond the end of the target (6), which has lost its last records"
    )
    assert found[11].problem == "is beyond the end of the source (10)"
    assert copy.answers([7], back=True)[7].problem == "is beyond the end of the target (6)"


def test_what_was_copied_and_then_lost_before_an_anchor_says_so():
    copy = copied()
    copy.write(2)
    copy.write(3)
    copy.target.add(range(10, 15), OURS)  # acked, and no anchor says so yet
    copy.source.truncate(12)
    found = copy.answers(range(10, 16), back=True)
    assert [found[each].offset for each in (10, 11, 12)] == [10, 11, 12]
    assert {found[each].problem for each in (13, 14, 15)} == {
        "follows the copy of a record that the source no longer has"
    }


def test_an_undecided_transaction_is_not_copied_yet_and_not_the_end():
    copy = copied()
    copy.source.begin_transaction(4)
    assert copy.answers([10, 11, 13, 14, 15]) == {
        10: Answer(10),
        **dict.fromkeys((11, 13, 14), NOT_YET),
        15: nonexistent([15], 14, "source")[15],
    }


def test_an_open_transaction_on_the_target_hides_what_stands_behind_it():
    copy = copied()
    copy.target.begin_transaction(3)
    copy.target.add(range(13, 15), OURS)
    copy.write(2)
    found = copy.answers([10, 12, 15], back=True)
    assert found == {10: Answer(10), 12: Answer(10, exact=False), 15: Answer(10, exact=False)}


def test_what_the_target_lost_among_records_of_others_has_no_place_there():
    copy = Copy()
    copy.note()
    for _ in range(5):
        copy.write(2)
        copy.target.add([copy.target.end])  # so that our records have to be counted
        copy.copy(2)
    copy.note()
    copy.target.truncate(7)
    found = copy.answers([3, 9])
    assert found[3] == Answer(5)
    assert (
        found[9].problem
        == "would be beyond the end of the target (7), which has lost its last records"
    )


def a_compacted_copy():
    """Return six copied records; an open transaction hides those behind the second."""
    copy = Copy()
    copy.at = replace(copy.at, mode=Mode.TRANSACTIONAL)
    copy.offset_points = OffsetPoints.of(copy.at)
    copy.note()
    values = [(b"k%d" % each, b"v") for each in range(6)]
    copy.source.add(range(6), values=values)
    copy.target.add(range(2), OURS, values=values[:2])
    copy.target.begin_transaction(1)
    copy.target.add(range(3, 7), OURS, values=values[2:])
    copy.at = replace(copy.at, source=6, target=7, records=6)
    copy.note()
    return copy


def test_records_that_are_compared_and_cannot_be_read_yet_are_not_passed_over():
    copy = a_compacted_copy()
    assert copy.answers([1, 4]) == {1: Answer(1), 4: NOT_YET}
    found = copy.answers([1, 5], back=True)
    assert found[1] == Answer(1)
    assert not found[5].exact
    assert found[5].offset <= 4
    copy.target.open = None
    assert copy.answers([1, 4]) == {1: Answer(1), 4: Answer(5)}
    assert copy.answers([5], back=True) == {5: Answer(4)}


def test_below_the_log_start_a_copy_that_is_still_there_keeps_its_place():
    copy = copied(at=4)
    copy.source.first = 8
    assert copy.answers([0, 3, 8]) == {0: Answer(4), 3: Answer(7), 8: Answer(12)}
    copy.target.first = 6
    assert copy.answers([0, 3]) == {0: Answer(6), 3: Answer(7)}
    assert copy.answers([0, 7, 13], back=True) == {
        0: Answer(8, exact=False),  # what the target deleted there may have been of others
        7: Answer(8),
        13: Answer(9),
    }


def test_what_cannot_be_counted_below_the_log_start_is_not_called_exact():
    copy = Copy()
    copy.write(5)
    copy.write(5, hole=3)
    copy.copy(10)
    copy.note()
    copy.source.first = 4
    found = copy.answers([0, 3, 4, 5, 8])
    assert [found[each].exact for each in (0, 3)] == [False, False]
    assert all(found[each].offset <= each for each in (0, 3))
    assert {each: found[each] for each in (4, 5, 8)} == {4: Answer(4), 5: Answer(5), 8: Answer(5)}


def test_what_retention_took_before_an_anchor_named_it_is_never_passed_over():
    copy = copied()
    copy.write(6)
    copy.target.add(range(10, 16), OURS)  # acked, and no anchor says so yet
    copy.source.first = 13
    assert copy.answers([15], back=True) == {15: Answer(13, exact=False)}
    assert copy.answers([14])[14] == Answer(10, exact=False)
    copy.source.first, copy.target.first = 0, 12
    assert copy.answers([13])[13] == Answer(12, exact=False)


def test_answers_that_stay_are_stored_and_still_held_against_both_logs():
    copy = Copy()
    for _ in range(3):
        copy.write(5, hole=2)
        copy.copy(5)
        copy.note()
    stored = {}

    def ask(*offsets):
        return asyncio.run(copy.translation(stored=stored).translate(offsets))

    assert ask(8, 20) == {8: Answer(copy.truth(8)), 20: Answer(copy.truth(20))}
    read = copy.source.fetched
    assert ask(8) == {8: Answer(copy.truth(8))}
    assert copy.source.fetched == read
    copy.target.first = 9
    assert ask(8) == {8: Answer(9)}
    copy.source.truncate(7)
    assert ask(8)[8].problem == "is beyond the end of the source (7)"


def same_place(copy, one, other):
    """Say whether who reads our copies reads the same from both offsets of the target."""
    own = [t for _, t in copy.pairs if t >= copy.target.first]
    low, high = sorted((one, other))
    return not any(low <= each < high for each in own)


def next_copied(copy, offset):
    """Return the offset where the next deliverable is, the end if there is none, or None."""
    skipped = {each.start for each in copy.refused}
    due = next((d for d in copy.deliverable if d >= offset and d not in skipped), None)
    return copy.target.end if due is None else dict(copy.pairs).get(due)


def a_rough_life(seed):
    """Return a copy that lags, with open transactions, retention and lost ends, as they fall."""
    copy, chance = a_life(seed, 25), random.Random(seed)
    if chance.random() < 0.3:
        copy.target.begin_transaction(2)  # and what we copy from now on stands behind it
        for _ in range(6):
            copy.write(3, hole=chance.choice((0, 2)))
            copy.copy(2)
            copy.note()
        copy.copy(10_000)
    if chance.random() < 0.7:
        copy.write(chance.randint(1, 9))
        copy.copy(chance.randint(1, 5))
    if chance.random() < 0.5:
        copy.source.begin_transaction(chance.randint(1, 4))
    elif chance.random() < 0.3:
        copy.source.truncate(copy.source.end - chance.randint(1, min(12, copy.source.end)))
    if chance.random() < 0.3:
        copy.target.truncate(copy.target.end - chance.randint(1, min(12, copy.target.end)))
    for log in (copy.source, copy.target):
        log.first = chance.choice((0, chance.randint(0, log.end)))
    return copy


@pytest.mark.parametrize("back", [False, True])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), ahead=st.booleans())
def test_every_number_has_one_clear_answer(back, seed, ahead):
    copy = a_rough_life(seed)
    here, there = (copy.target, copy.source) if back else (copy.source, copy.target)
    offsets = [*range(here.end + 1), -(1 << 63), -1, here.end + 1, here.end + 77, INT64_MAX]
    random.Random(seed).shuffle(offsets)
    answers = copy.answers(offsets, back=back, ahead=ahead)
    assert answers.keys() == set(offsets)
    none = nonexistent(offsets, here.end, "target" if back else "source")
    assert none.keys() == {each for each in offsets if not 0 <= each <= here.end}
    assert {each: answers[each] for each in none} == none
    found = {each: answer for each, answer in answers.items() if answer.offset is not None}
    for offset, answer in found.items():
        assert there.first <= answer.offset <= there.end, (offset, answer)
        assert not answer.problem
        (skips_nothing_back if back else skips_nothing)(copy, offset, answer)


def skips_nothing(copy, offset, answer):
    truth = next_copied(copy, offset)
    assert offset <= copy.source.stable, (offset, answer)
    if truth is None or truth > copy.target.end:
        return  # it was copied, and one of the logs has lost it
    if answer.exact or answer.offset > truth:
        assert same_place(copy, answer.offset, truth), (offset, answer, truth)


def skips_nothing_back(copy, offset, answer):
    there = [(s, t) for s, t in copy.pairs if copy.source.first <= s < copy.source.end]
    after = [s for s, t in there if t >= offset]
    assert answer.offset <= min(after, default=copy.source.end), (offset, answer, after)
    before = [s for s, t in there if t < offset]
    if answer.exact and before:
        assert answer.offset > max(before), (offset, answer, before)


def test_an_answer_is_moved_into_the_log_or_has_none():
    log = OffsetRange(5, 9)
    assert [within(Answer(each), log, "target") for each in (0, 5, 9)] == [
        Answer(5),
        Answer(5),
        Answer(9),
    ]
    assert within(NOT_YET, log, "target") == NOT_YET
    assert within(Answer(2, exact=False), log, "target") == Answer(5, exact=False)
    assert "beyond the end of the target (9)" in within(Answer(10), log, "target").problem


def test_a_transaction_that_was_decided_maps_its_end_to_the_end():
    copy = Copy()
    copy.transact(4, COMMIT)
    copy.copy(4)
    copy.note()
    copy.copy(1)
    copy.note()
    assert copy.answers([4, 5, 6]) == {
        4: Answer(4),
        5: Answer(4),
        6: nonexistent([6], 5, "source")[6],
    }
