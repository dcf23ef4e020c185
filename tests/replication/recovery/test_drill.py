"""What a failover announced beside what is missing, and how old a good drill may be."""

from __future__ import annotations

from datetime import timedelta

import pytest

from replication.errors import ConfigError
from replication.model import TopicPartition
from replication.recovery.canaries import FoundRecord
from replication.recovery.drill import DrillOptions, drill_age, misannounced
from replication.state import Drill, parse
from replication.supervision.recovery_point import MissingRecords, RecoveryPoint

HERE = TopicPartition("t", 0)
DAY_MS = 86_400_000


def lacking(*offsets: int) -> dict[TopicPartition, list[FoundRecord]]:
    return {HERE: [FoundRecord(0, at, b"k", b"v", 1) for at in offsets]}


def named(first: int, records: int = 0, *, exact: bool = True) -> RecoveryPoint:
    end = first + records
    return RecoveryPoint((MissingRecords(HERE, first, end, records, 0, 0.0, 1, exact),))


def test_records_that_were_named_are_as_announced():
    assert misannounced(named(5, 2), lacking(5, 6, 7)) == ()
    assert misannounced(named(5), {}) == ()
    assert misannounced(named(4, exact=False), lacking(6, 7)) == ()


@pytest.mark.parametrize(
    ("point", "missing", "reported"),
    [
        (
            RecoveryPoint(),
            lacking(5),
            "t-0: offset 5 is missing; the failover did not report it",
        ),
        (
            named(6),
            lacking(5, 6),
            "offsets from 5 on are missing; the failover reported 6 as the first missing offset",
        ),
        (
            named(4),
            lacking(6),
            "offsets from 6 on are missing; the failover reported 4 as the first missing offset",
        ),
        (named(5, 3), lacking(5), "the failover reported 3 missing records, but 1 are missing"),
    ],
)
def test_others_are_a_problem(point, missing, reported):
    (problem,) = misannounced(point, missing)
    assert reported in problem


def test_a_good_drill_has_an_age_limit():
    limit = timedelta(days=30)
    good = Drill("A->B", good=True, ended_ms=10 * DAY_MS, rto_s=9.9, rpo_records=3)
    assert drill_age(good, limit, 40 * DAY_MS)[0]
    passed, reason = drill_age(good, limit, 41 * DAY_MS)
    assert not passed
    assert reason == (
        "the last good drill ended at 1970-01-11 00:00:00 UTC, longer ago than drill.max.age = "
        "30d: isthmus drill FILE"
    )
    assert not drill_age(None, limit, 0)[0]


def test_a_good_drill_and_a_bad_one_are_kept_beside_each_other():
    good, bad = Drill("A->B", good=True, id="1"), Drill("A->B", good=False, id="2")
    assert good.key() != bad.key()
    assert parse(good.key(), good.value()) == good


def test_options_that_cannot_succeed_are_refused():
    with pytest.raises(ConfigError, match="must be above 0"):
        DrillOptions(rate=0)
