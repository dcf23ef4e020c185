"""The verdict of the hybrid example: what is lost, repeated, altered or out of order."""

from __future__ import annotations

import pytest

from orchestration.demo.hybrid_round import differences

A, B, C = (b"a", b"1", (), 1), (b"b", b"2", (), 2), (b"c", b"3", (), 3)


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ([A, B, C], (0, 0, 0)),
        ([A, C], (1, 0, 0)),
        ([A, B, B, C], (0, 1, 0)),
        ([A, B, (b"c", b"x", (), 3)], (1, 0, 1)),
        ([B, A, C], (0, 0, 2)),
    ],
)
def test_each_difference_is_counted_as_what_it_is(target, found):
    counts = differences([A, B, C], target)
    assert (counts["lost"], counts["repeated"], counts["different"]) == found
