"""How far a copy goes, by its content, whatever crashes MirrorMaker 2 had."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.mm2.proof import furthest
from replication.records.comparison_result import Fingerprint


def prints(text: str, first: int = 0) -> list[Fingerprint]:
    return [Fingerprint(first + at, ord(letter)) for at, letter in enumerate(text)]


@pytest.mark.parametrize(
    ("copy", "source", "stored", "last"),
    [
        pytest.param("abc", "abcdef", 2, 2, id="stopped cleanly"),
        pytest.param("abcde", "abcdefgh", 1, 4, id="stopped before it stored its position"),
        pytest.param("abcdecd", "abcdefgh", 3, 4, id="repeated, and killed while it did"),
        pytest.param("abcdecdcd", "abcdefgh", 3, 4, id="twice"),
        pytest.param("abcdecdefg", "abcdefgh", 3, 6, id="repeated, and gone on"),
        pytest.param("cde", "abcdefgh", 2, 4, id="only the copy's end is known"),
        pytest.param("abcXYZ", "abcdefgh", 0, 2, id="another writer came after it"),
        pytest.param("abXcYd", "abcdefgh", 0, 3, id="another writer between"),
        pytest.param("abdf", "abcdefgh", 5, 5, id="compacted copy"),
        pytest.param("abc", "", 2, None, id="the source has lost it all"),
        pytest.param("", "abc", 2, None, id="nothing there"),
        pytest.param("XYZ", "abc", 2, None, id="nothing of it there"),
    ],
)
def test_the_furthest_record_of_any_run_counts(copy, source, stored, last):
    assert furthest(prints(copy), prints(source), stored).last == last


def test_records_of_equal_content_are_reported_apart_by_what_comes_before():
    proof = furthest(prints("abxcdx"), prints("abxcdxefxgh"), 2)
    assert (proof.last, proof.ambiguous) == (5, False)


def test_where_contents_repeat_the_earliest_place_counts_and_it_is_reported():
    proof = furthest(prints("aaa"), prints("aaaaaaaa"), 1)
    assert proof.ambiguous
    assert proof.last == 2


def test_many_places_of_one_content_do_not_take_forever():
    same = prints("a" * 20_000)
    assert furthest(same, same, 10).ambiguous


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_crashes_did_nothing_is_left_out_or_copied_again(data):
    """A copier that goes back to its stored position after each crash; contents are unique."""
    source = [Fingerprint(each * 2, 1000 + each) for each in range(60)]  # with holes in the offsets
    copy, stored, done = [], -1, 0
    for _ in range(data.draw(st.integers(1, 5))):
        begin = stored + 1
        end = data.draw(st.integers(begin, 50))
        copy += source[begin:end]
        done = max(done, end)
        stored = data.draw(st.integers(stored, max(end - 1, stored)))
    window = data.draw(st.integers(60, 200))
    known = source[stored].offset if stored >= 0 else -1
    tail = [Fingerprint(at, each.digest) for at, each in enumerate(copy)][-window:]
    proof = furthest(tail, source, known)
    whole = len(copy) <= window
    if done and whole:
        assert proof.last == source[done - 1].offset
        assert not proof.ambiguous
