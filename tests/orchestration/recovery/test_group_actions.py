"""What a failover does with the positions of groups: each is set, or it says why it is not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import pytest
from support.fakes.memory_groups import Groups
from support.fakes.state_logs import LogStore
from support.settings.configs import a_config, a_flow

from orchestration.recovery.failover import Failover
from orchestration.recovery.failover_report import FailoverReport
from orchestration.recovery.group_actions import (
    committed,
    group_actions,
    named,
    on_target,
    require_committed,
)
from orchestration.recovery.left_groups import left_groups, with_left_groups
from orchestration.recovery.operator import Operator
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import Desired, OffsetRange, TopicPartition
from replication.offsets.groups.consumer_groups import (
    CommitGroup,
    Committed,
    LeaveGroup,
    LeaveOffset,
)
from replication.offsets.groups.group_sync import GroupSync
from replication.offsets.groups.shared_partitions import DesiredPositions
from replication.recovery.group_positions import GroupPosition
from replication.recovery.group_sync_age import GroupSyncAge
from replication.state import Intent, Operation, status_topic
from replication.supervision.recovery_point import recovery_point

HERE = TopicPartition("t", 0)
LOGS = {HERE: OffsetRange(10, 50)}


def at(offset: int | None, **more) -> GroupPosition:
    return GroupPosition("g", HERE, 7, HERE, offset, **more)


class Sync:
    """Of the group sync, what a failover needs; ``unknown``: other flows' positions there are."""

    def __init__(self, *unknown: TopicPartition) -> None:
        self.unknown = unknown

    def desired(self, translated, _unshared):
        found = {each.group: {} for each in translated}
        for each in translated:
            if each.answer.offset is not None and each.target not in self.unknown:
                found[each.group][each.target] = Committed(each.answer.offset)
        return DesiredPositions(found)

    towards = GroupSync.towards

    @property
    def target(self):
        return self

    unavailable: ClassVar = {}
    unreadable: ClassVar = {}

    def listed(self):
        return {}

    def positions(self, groups):
        return {}


def test_a_position_that_can_be_set_is_set_at_least_at_the_log_start():
    groups = on_target([at(12)], LOGS) + on_target([at(3)], LOGS)
    assert [each.offset for each in groups] == [12, 10]
    assert group_actions(groups[1:], Sync(), {}) == (CommitGroup("g", {HERE: Committed(10)}),)


def test_a_position_in_a_partition_of_the_target_that_tells_no_end_is_named():
    groups = on_target([at(12)], {HERE: "has no leader"})
    (left,) = group_actions(groups, Sync(), {})
    reason = "t-0 offset 7 is offset 12 on the target, which has no leader"
    assert left == LeaveOffset("g", HERE, reason)


def test_a_position_behind_the_end_of_the_target_is_named():
    groups = on_target([at(51)], LOGS)
    (left,) = group_actions(groups, Sync(), {})
    assert left.reason.startswith(
        "t-0 offset 7 is offset 51 on the target, which is beyond the end"
    )


def test_a_position_without_a_counterpart_is_named():
    groups = on_target([at(None, problem="does not exist")], LOGS)
    assert group_actions(groups, Sync(), {}) == (
        LeaveOffset("g", HERE, "t-0 offset 7 does not exist"),
    )


def test_a_position_in_a_merged_partition_is_named_while_another_source_is_silent():
    (left,) = group_actions(on_target([at(12)], LOGS), Sync(HERE), {})
    assert left == LeaveOffset(
        "g",
        HERE,
        "the partition also has records of others, and the group's position among those is unknown",
    )


SET = CommitGroup("g", {HERE: Committed(10)})
OTHER = CommitGroup("h", {HERE: Committed(20)})
LEFT = LeaveOffset("k", HERE, "why")
DONE = tuple((name, 1, "did") for name in ("stop", "fence", "prove positions", "set groups"))
TAKEN = Operation("A->B", "op1", "failover", "running", "set groups", DONE, turn=1)


def test_what_brokers_refuse_is_left_and_named_and_the_others_are_set():
    target = Groups()
    target.refused = {"g": ClusterRejected("denied")}
    unset = (LEFT, LeaveGroup("g", "its offsets were refused: denied"))
    assert committed(target, (SET, LEFT, OTHER)) == (1, unset)
    assert target.held == {"h": {HERE: Committed(20)}}
    assert named(unset) == "; left: k, why; left: g, its offsets were refused: denied"


def test_what_was_not_committed_for_a_moment_is_tried_again():
    target = Groups()
    target.refused = {"g": ClusterUnavailable("silent"), "h": ClusterRejected("denied")}
    with pytest.raises(ClusterUnavailable, match=r"^group g: silent$"):
        committed(target, (SET, OTHER))
    with pytest.raises(ClusterUnavailable, match=r"^group g: silent; group h: denied$"):
        require_committed(target.commit([SET, OTHER]))
    with pytest.raises(ClusterRejected, match=r"^group h: denied$"):
        require_committed(target.commit([OTHER]))


def test_a_failover_names_what_brokers_refused_and_opens_the_target(monkeypatch):
    target, found = Groups(), at(12)
    target.refused = {"g": ClusterRejected("denied")}
    operator = Operator(a_flow(), LogStore(), print, operation=replace(TAKEN, done=()))
    failover = Failover(a_flow(), a_config(), None, operator, None, Sync())
    point = recovery_point(())
    report = FailoverReport("A->B", point, (found,), (SET, LEFT), GroupSyncAge(5, 5))
    monkeypatch.setattr(Failover, "_report", lambda *_: report)
    monkeypatch.setattr(Failover, "proven", lambda *_: ())
    monkeypatch.setattr(Sync, "target", target)
    did = failover._set_groups(SimpleNamespace(id="1"))
    why = "its offsets were refused: denied"
    assert did == f"set the offsets of 0 of 1 group; 2 positions left; left: g, {why}"
    assert left_groups(operator.last(), "set groups") == (LEFT, LeaveGroup("g", why))


class SmallTopic(LogStore):
    """A state topic that takes no record above so many bytes."""

    most_bytes = 1_000_000

    def write(self, topic, *records):
        if any(len(each.value()) > self.most_bytes for each in records):
            raise ClusterRejected("Message size too large")
        super().write(topic, *records)


@pytest.mark.parametrize("most_bytes", [1_000_000, 20_000])
def test_a_failover_that_leaves_very_many_positions_opens_the_target(monkeypatch, most_bytes):
    """It is the command that must not fail."""
    many = tuple(
        LeaveOffset("g", TopicPartition("t", n), f"t-{n} offset 3 is not copied yet" + "." * 200)
        for n in range(5_000)
    )
    refused = [CommitGroup(f"g{n}", {HERE: Committed(10)}) for n in range(5_000)]
    target, store, said = Groups(), SmallTopic(), []
    store.most_bytes = most_bytes
    target.refused = {each.group: ClusterRejected("denied " + "." * 200) for each in refused}
    begun = replace(TAKEN, done=TAKEN.done[:3], step="")
    store.write(status_topic("A"), begun, Intent("A->B", Desired.STOP, "ada@one, failover op1", 1))
    failover = Failover(
        a_flow(), a_config(), None, Operator(a_flow(), store, said.append), None, Sync()
    )
    point = replace(recovery_point(()), unplaced=(HERE,))
    report = FailoverReport("A->B", point, (), (*many, *refused), GroupSyncAge(5, 5))
    monkeypatch.setattr(Failover, "_report", lambda *_: report)
    monkeypatch.setattr(Sync, "target", target)
    monkeypatch.setattr("orchestration.recovery.operator.WATCH_S", 0)
    done = failover.carry_out()
    assert (done.operation.state, done.operation.writable) == ("done", "B")
    assert len(done.left) + done.more_left == 10_000
    assert done.as_json()["more_left"] == done.more_left > 0
    assert list(done.lines())[-1].startswith(f"and {done.more_left} more group positions left")
    printed = [each for each in said if each.startswith("  left: group ")]
    assert len(printed) == done.more_left
    assert printed[-1].startswith("  left: group g4999: its offsets were refused: denied")


def test_a_sentence_names_the_first_ten():
    assert named([LEFT] * 10) == "; left: k, why" * 10
    assert named([LEFT] * 12) == "; left: k, why" * 10 + "; and 2 more positions"


NOTED = with_left_groups(TAKEN, [LEFT, LeaveGroup("g", "its offsets were refused: denied")])
NOW = LeaveGroup("k", "it has active members on the target (Stable)")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (NOTED, (LEFT, LeaveGroup("g", "its offsets were refused: denied"))),
        (TAKEN, (LeaveGroup("g", "its offsets were not set"), NOW)),
    ],
    ids=["noted", "of an earlier release"],
)
def test_one_that_continues_tells_what_the_killed_one_left(monkeypatch, found, told):
    store = LogStore()
    store.write(status_topic("A"), found, Intent("A->B", Desired.STOP, "ada@one, failover op1", 1))
    failover = Failover(a_flow(), a_config(), None, Operator(a_flow(), store, print), None, Sync())
    report = FailoverReport("A->B", recovery_point(()), (), (SET, NOW), GroupSyncAge(5, 5))
    monkeypatch.setattr(Failover, "_report", lambda *_: report)
    monkeypatch.setattr("orchestration.recovery.operator.WATCH_S", 0)
    done = failover.carry_out()
    assert done.left == told
    assert (done.operation.state, done.operation.writable) == ("done", "B")
