"""What a failover says in sentences."""

from __future__ import annotations

from dataclasses import replace

from orchestration.recovery.failover_report import FailoverReport
from replication.model import TopicPartition
from replication.recovery.group_positions import GroupPosition
from replication.recovery.group_sync_age import GroupSyncAge
from replication.state import GroupPositions, ProvenPosition
from replication.supervision.lag import FlowLag, PartitionLag
from replication.supervision.recovery_point import recovery_point

HERE = TopicPartition("t", 0)
PROVEN = ProvenPosition("A->B", "op1", "t", 0, "t", 5, 5, source_end=7, seen_ms=1_000)
SET = GroupPosition("g", HERE, 3, HERE, 3, at_ms=61_000)
SYNCED = GroupSyncAge(70_000, 63_000)
LEFT = replace(SET, offset=None, problem="does not exist")


def lines(*groups: GroupPosition) -> list[str]:
    stored = [
        GroupPositions("A->B", each.group, ((*each.source, each.committed),)) for each in groups
    ]
    point = recovery_point([PROVEN], stored)
    return list(FailoverReport("A->B", point, groups, (), SYNCED).lines())


def test_the_time_of_the_last_look_is_that_of_an_anchor_which_may_be_later():
    assert "of the source were last read at 1970-01-01 00:00:01 UTC: records pro" in lines()[0]


def test_times_of_partitions_that_differ_are_told():
    later = replace(PROVEN, partition=1, seen_ms=9_000)
    reported = next(FailoverReport("A->B", recovery_point([PROVEN, later]), (), (), SYNCED).lines())
    assert reported.endswith(
        "may be missing; the ends of the source were last read between 1970-01-01 00:00:01 and "
        "1970-01-01 00:00:09 UTC: records produced after that may be missing too, and are not "
        "counted"
    )


def test_a_partition_without_a_position_is_named():
    point = replace(recovery_point([PROVEN]), unplaced=(TopicPartition("t", 9),))
    reported = list(FailoverReport("A->B", point, (), (), SYNCED).lines())
    assert "  t-9: no copied offset is known, so all of its records may be missing" in reported
    alone = replace(point, partitions=())
    assert any("t-9" in each for each in FailoverReport("A->B", alone, (), (), SYNCED).lines())


def test_what_a_source_that_answers_told_is_as_of_now():
    lag = FlowLag((PartitionLag(HERE, 4, 1.5),))
    reported = next(
        FailoverReport("A->B", recovery_point([PROVEN], (), lag, 77), (), (), SYNCED).lines()
    )
    assert reported == (
        "A->B: 4 records (about 0 bytes, the oldest 1.5 s old) of 1 partition may be missing now"
    )


def test_a_failover_that_knows_no_group_says_which_setting_stores_them():
    assert lines()[-1] == (
        "no group offsets are stored (sync.group.offsets.enabled = true): no group is set, and "
        "consumers begin by auto.offset.reset"
    )


def test_a_group_none_of_whose_offsets_can_be_set_is_not_said_to_continue_anywhere():
    assert lines(SET)[-1] == (
        "group g: 1 offset, last changed at 1970-01-01 00:01:01 UTC, at the record after its last "
        "commit; of the records that it had not read, 2 may be missing"
    )
    assert "none of them can be set; of the records" in lines(LEFT)[-1]
    assert "7 records may be read again" in lines(LEFT, replace(SET, again=7))[-1]
    some = lines(SET, replace(LEFT, source=TopicPartition("t", 1)))[-1]
    assert "2 offsets, last changed at 1970-01-01 00:01:01 UTC, at the record after its" in some
    assert "last commit, but 1 of them cannot be set; of the records" in some


def test_the_age_of_the_groups_offsets_is_told_and_a_silent_sync_is_warned_of():
    point = recovery_point([PROVEN])
    told = list(FailoverReport("A->B", point, (SET,), (), SYNCED).lines())
    assert (
        "the offsets of groups were last read at the source at 1970-01-01 00:01:03 UTC, 7 s before"
        in told
    )
    assert not any(each.startswith("warning") for each in told)
    silent = replace(SYNCED, silence="it failed")
    for groups in ((SET,), ()):
        report = FailoverReport("A->B", point, groups, (), silent)
        assert f"warning: {silent.warning}" in list(report.lines())
        assert report.as_json()["group_sync"] == {
            "last_read_ms": 63_000, "age_s": 7.0, "warning": silent.warning,
        }  # fmt: skip


def test_a_sync_that_is_off_is_warned_of_only_where_it_once_stored_offsets():
    off = replace(
        SYNCED, read_ms=None, silence="sync.group.offsets.enabled is false", enabled=False
    )
    point = recovery_point([PROVEN])
    assert FailoverReport("A->B", point, (), (), off).warning == ""
    assert FailoverReport("A->B", point, (SET,), (), off).warning == off.warning
