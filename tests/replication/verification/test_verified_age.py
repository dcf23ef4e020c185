"""How old a good verification may be, and what a difference does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from replication.state import Verification
from replication.verification.verified_age import verified_age

DAY_MS = 86_400_000
WEEK = timedelta(days=7)
GOOD = Verification("A->B", 10 * DAY_MS, "equal", 10 * DAY_MS, records=1_500)


def test_a_good_verification_has_an_age_limit():
    passed, reason = verified_age(GOOD, WEEK, 17 * DAY_MS)
    assert passed
    assert reason == (
        "the last good verification is of 1970-01-11 00:00:00 UTC; the last verification, of "
        "1970-01-11 00:00:00 UTC, ended with: equal, 1,500 records"
    )
    passed, reason = verified_age(GOOD, WEEK, 17 * DAY_MS + 1)
    assert not passed
    assert reason == (
        "the last good verification is of 1970-01-11 00:00:00 UTC, longer ago than "
        "verify.max.age = 7d: isthmus verify FILE"
    )


def test_an_incomplete_one_does_not_end_the_age_of_the_good_one_before():
    later = Verification("A->B", 12 * DAY_MS, "incomplete", 10 * DAY_MS)
    assert verified_age(later, WEEK, 13 * DAY_MS)[0]
    assert not verified_age(later, WEEK, 18 * DAY_MS)[0]


@pytest.mark.parametrize(
    ("last", "reported"),
    [
        pytest.param(None, "nothing was verified yet; verify.max.age is 7d", id="none"),
        pytest.param(
            Verification("A->B", 11 * DAY_MS, "different", 10 * DAY_MS, 10, 1_200),
            "of 1970-01-12 00:00:00 UTC, found 1,200 differences", id="a difference since",
        ),
        pytest.param(
            Verification("A->B", 11 * DAY_MS, "incomplete"),
            "ended with: incomplete; none was good yet", id="none was good",
        ),
    ],
)  # fmt: skip
def test_it_fails(last, reported):
    passed, reason = verified_age(last, WEEK, 11 * DAY_MS)
    assert not passed
    assert reported in reason
