"""What may be missing after the loss of a source."""

from __future__ import annotations

from replication.model import TopicPartition
from replication.recovery.group_positions import GroupPosition
from replication.recovery.missing_records import missing_of_group, recovery_point
from replication.recovery.proven_positions import needs_count, proven
from replication.state import Anchor

ANCHOR = Anchor(
    "A->B", "t", 0, "A.t", 90, 90, records=90, bytes=9000, source_end=120, behind_ms=2500, at_ms=77
)


def test_what_was_seen_and_not_copied_may_be_missing():
    point = recovery_point([proven("op", ANCHOR)])
    (missing,) = point.partitions
    assert (missing.first, missing.records, missing.bytes) == (90, 30, 3000)
    assert (point.records, point.seconds, point.seen_ms) == (30, 2.5, 77)


def test_records_counted_behind_the_anchor_are_not_missing_but_their_offsets_are_not_exact():
    (missing,) = recovery_point([proven("op", ANCHOR, 12, 105)]).partitions
    assert (missing.first, missing.records, missing.exact) == (102, 18, False)


def test_a_partition_without_lag_misses_nothing_that_was_seen():
    idle = recovery_point([proven("op", Anchor("A->B", "t", 0, "t", 5, 5, source_end=5))])
    assert (idle.records, idle.seconds) == (0, 0.0)


def test_of_a_group_what_it_had_not_read_counts():
    where = TopicPartition("t", 0)
    point = recovery_point([proven("op", ANCHOR)])
    groups = [
        GroupPosition("slow", where, 10, where, 10),
        GroupPosition("fast", where, 100, where, 90),
        GroupPosition("ahead", where, 130, where, 90),
    ]
    assert missing_of_group(groups, point) == {"slow": 30, "fast": 20, "ahead": 0}


def test_only_appends_behind_an_unclean_anchor_are_counted():
    assert needs_count(Anchor("f", "t", 0, "t", 1, 1))
    assert not needs_count(Anchor("f", "t", 0, "t", 1, 1, clean=True))
    assert not needs_count(Anchor("f", "t", 0, "t", 1, 1, mode="transactional"))
