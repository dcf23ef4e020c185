"""Where a partition begins or continues, or why it waits, and the loss that is recorded."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.copier.partition_copies import OURS
from support.copier.two_clusters import a_spec
from support.copier.unit_specs import changed
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_batch

from replication.copier.partition.position import Position
from replication.copier.spec import UnitSpec
from replication.copier.takeover.connections import new_connections
from replication.copier.takeover.placement.isolation import choose_isolation
from replication.copier.takeover.placement.lost_anchor import LostAnchors
from replication.copier.takeover.placement.start_position import StartPositions
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.mm2.syncs import pair_of
from replication.mm2.wire import OffsetSync
from replication.model import (
    Choice,
    Mode,
    NameChange,
    PartitionPlan,
    PartitionState,
    TopicPartition,
)
from replication.offsets.offset_points import OffsetPoints
from replication.settings.state_policies import Policies
from replication.state import Anchor

HERE = TopicPartition("t", 0)
CLUSTER = MemoryCluster()
PRESENT = CLUSTER.topic_id("t").hex()
KNOWN = Anchor(
    "f", "t", 0, "t", 5, 8, appenders=(("x", OURS),), clean=True, source_topic_id=PRESENT,
    target_topic_id=PRESENT, lost=2,
)  # fmt: skip


def place(known: Anchor, target_records: int = 0, **policies: str):
    """Return the start positions of a unit, and the one partition whose anchor is ``known``."""
    source, target = MemoryCluster("source"), MemoryCluster("target")
    for _ in range(target_records):
        target.logs[HERE].append(a_batch(0, [b"v"]))
    connections = new_connections(a_spec(flow="f"), source, target, {})
    connections.takeover.seen[HERE] = known
    spec = UnitSpec("f", "A", "B", 0, 1, 0, (), {}, {}, policies=Policies(**policies))
    positions = StartPositions(spec, connections, LostAnchors(spec, connections, {}))
    return positions, asyncio.run(positions.place(PartitionPlan(HERE, HERE)))


CLAIMED = Anchor("f", "t", 0, "", None, None, appenders=(("x", OURS),), clean=False)


def test_who_has_claimed_a_partition_without_an_anchor_is_fenced_though_nothing_was_copied():
    """The claim alone remains where a unit died before its first anchor, or anchors were lost."""
    _, partition = place(CLAIMED)
    claimed = partition.claimed
    assert (claimed.source, claimed.target, claimed.target_topic) == (0, 0, "t")
    assert (claimed.appenders, claimed.clean, claimed.former) == ((("x", OURS),), False, "")


def test_what_is_copied_before_the_first_anchor_is_one_run_from_the_claim_on():
    """Else MirrorMaker 2's offset syncs lack a pair until more is copied (Y)."""
    _, partition = place(CLAIMED)
    points = OffsetPoints.of(partition.claimed)
    partition.set_position(Position(3, 3))
    partition.counters.records = 3
    anchor = points.note(partition.anchor(1))
    assert anchor.run[2:] == (0, 0, 0)
    assert pair_of(None, anchor) == OffsetSync(*HERE, 2, 2)


def test_a_partition_that_waits_with_a_claim_alone_names_its_target():
    """Else its topic counts as one whose records somebody else has produced."""

    async def silent(*_):
        raise ClusterUnavailable("broker 3 is silent")

    positions, _ = place(CLAIMED)
    positions.connections.target.offset_at = silent
    partition = asyncio.run(positions.place(PartitionPlan(HERE, HERE)))
    assert partition.anchor(0).state == PartitionState.WAITING
    assert partition.anchor(0).target_topic == "t"


@pytest.mark.parametrize("choice", ["continue", "reseed"])
def test_a_decision_is_claimed_as_a_position_to_count_from_and_is_not_carried_out_again(choice):
    """A unit may die before its first anchor, with records appended behind the claim."""
    halted = replace(KNOWN, clean=False, state=PartitionState.TARGET_RESET, reason="why")
    _, partition = place(halted, target_records=9, target_reset=choice)
    claimed = partition.claimed
    assert (claimed.source, claimed.target) == (5 if choice == "continue" else 0, 9)
    assert (claimed.state, claimed.reason, claimed.appenders) == ("WAITING", "", (("x", OURS),))
    _, again = place(claimed, target_records=11, target_reset=choice)
    assert (again.claimed.source, again.claimed.target) == (claimed.source, 9)


def test_going_on_with_a_recreated_source_records_one_loss_and_begins_at_its_first_record():
    former = replace(KNOWN, source_topic_id="aa")
    positions, partition = place(former, source_recreated="continue")
    (loss,) = positions.losses
    assert (loss.flow, loss.topic, loss.partition) == ("f", "t", 0)
    assert (loss.first, loss.next, loss.state, loss.topic_id) == (
        5, 5, PartitionState.SOURCE_RECREATED, "aa",
    )  # fmt: skip
    assert positions.restarts == {partition: 0}
    assert (partition.claimed.lost, partition.state) == (2, PartitionState.WAITING)


def test_a_source_that_was_recreated_before_anything_was_copied_has_an_empty_loss_at_its_start():
    former = replace(KNOWN, source=0, source_topic_id="aa")
    (loss,) = place(former, source_recreated="continue")[0].losses
    assert (loss.first, loss.next) == (0, 0)


def test_going_on_with_a_recreated_target_records_all_that_it_held_and_appends_at_its_start():
    positions, partition = place(replace(KNOWN, target_topic_id="bb"), target_reset="continue")
    (loss,) = positions.losses
    assert (loss.first, loss.next, loss.state, loss.topic_id) == (
        0, 5, PartitionState.TARGET_RESET, PRESENT,
    )  # fmt: skip
    claimed = partition.claimed
    assert (claimed.source, claimed.target, claimed.lost) == (5, 0, 7)
    assert claimed.target_topic_id == PRESENT


def test_going_on_with_an_emptied_target_records_the_loss_and_appends_behind_its_new_end():
    positions, partition = place(KNOWN, target_records=3, target_reset="continue")
    (loss,) = positions.losses
    assert (loss.first, loss.next, loss.state) == (0, 5, PartitionState.TARGET_RESET)
    assert "ends at offset 3, before our last record, 7" in loss.reason
    claimed = partition.claimed
    assert (claimed.source, claimed.target, claimed.lost) == (5, 3, 7)


@pytest.mark.parametrize(
    ("known", "policy", "state"),
    [
        (replace(KNOWN, source_topic_id="aa"), "source_recreated", PartitionState.SOURCE_RECREATED),
        (replace(KNOWN, target_topic_id="bb"), "target_reset", PartitionState.TARGET_RESET),
        (KNOWN, "target_reset", PartitionState.TARGET_RESET),
    ],
)
def test_stop_halts_the_partition_and_records_no_loss(known, policy, state):
    positions, partition = place(known, **{policy: "stop"})
    assert (positions.losses, positions.restarts) == ([], {})
    assert partition.state is state
    assert (partition.claimed.source, partition.claimed.target) == (5, 8)


def test_a_target_that_holds_what_the_anchor_says_is_not_reset():
    positions, partition = place(KNOWN, target_records=8, target_reset="continue")
    assert positions.losses == []
    assert (partition.claimed.target, partition.claimed.lost) == (8, 2)


class Moments(MemoryCluster):
    """Six records, of the ms 100 to 105; ``silence`` is what its answers are instead."""

    silence: BaseException | None = None

    def __init__(self, name: str, first: int = 0) -> None:
        super().__init__(name)
        self.first, self.leaderless = first, False
        for number in range(6):
            self.logs[HERE].append(a_batch(0, [b"v"], timestamp=100 + number))

    def leader(self, partition):
        return None if self.leaderless else super().leader(partition)

    async def offset_at(self, partition, timestamp: int) -> int:
        if self.silence is not None:
            raise self.silence
        if timestamp < 0:
            return self.first if timestamp == -2 else self.logs[partition].end
        return next((n for n in range(self.first, 6) if timestamp <= 100 + n), -1)


GONE = "its anchors are gone"


class Examined:
    """Says what an examination of the target ended with: ``lost`` why a position is lost."""

    def __init__(self, lost: str = "") -> None:
        self.lost = lost

    def are_all_gone(self) -> bool:
        return bool(self.lost)

    async def examine(self, partition, end: int) -> str:
        return self.lost


def ends(known: Anchor | None = None, *, copied_before: bool = False, mode: str = Mode.APPEND,
         delivery: str = "auto", start: str = "earliest", **policies: str):  # fmt: skip
    """Return the start positions of a unit whose source begins at 2 and whose target ends at 6."""
    connections = new_connections(a_spec(flow="f"), Moments("source", 2), Moments("target"), {})
    if known is not None:
        connections.takeover.seen[HERE] = known
    plans = (PartitionPlan(HERE, HERE, mode=mode),)
    spec = UnitSpec("f", "A", "B", 0, 3, 0, plans, {}, {}, policies=Policies(**policies))
    spec = changed(spec, delivery=delivery, start=start)
    return StartPositions(spec, connections, Examined(GONE if copied_before else ""))


def begin(positions: StartPositions, **plan: object):
    return asyncio.run(positions.place(PartitionPlan(HERE, HERE, **plan)))


@pytest.mark.parametrize(
    ("start", "plan", "at"),
    [
        pytest.param("earliest", {}, 2, id="the first record that the source has"),
        pytest.param("latest", {}, 6, id="the end"),
        pytest.param("latest", {"since_ms": 104}, 4, id="what came since the flow first started"),
        pytest.param("latest", {"since_ms": 200}, 6, id="nothing came since"),
        pytest.param("latest", {"created_later": True}, 2, id="a new partition is copied whole"),
        pytest.param("latest", {"start": 3}, 3, id="what another copier had not copied"),
        pytest.param("earliest", {"start": 1}, 2, id="of that, what the source still has"),
        pytest.param("103", {}, 3, id="a moment"),
        pytest.param("300", {}, 6, id="a moment to come"),
    ],
)
def test_a_partition_that_was_never_copied_begins_where_copy_start_says(start, plan, at):
    positions = ends(start=start)
    partition = begin(positions, **plan)
    claimed = partition.claimed
    assert (claimed.source, claimed.target, claimed.generation) == (at, 6, 3)
    assert (claimed.clean, claimed.appenders, claimed.former) == (True, (), "")
    assert claimed.target_topic_id == PRESENT
    assert positions.losses == []


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    ("silence", "reason"),
    [
        (ClusterUnavailable("broker 3 is silent"), "broker 3 is silent"),
        (ClusterRejected("not authorized"), "not authorized"),
        (TimeoutError(), "the source or target partition has no leader"),
    ],
)
def test_a_partition_whose_bounds_are_unknown_waits_and_is_not_begun(side, silence, reason):
    positions = ends()
    getattr(positions.connections, side).silence = silence
    partition = begin(positions)
    assert partition.state_and_reason == (PartitionState.WAITING, reason)
    assert (partition.topic_id, partition.claimed.source) == (b"", None)


def test_a_topic_that_the_source_does_not_know_waits():
    positions = ends()
    positions.connections.source.hidden.add("t")
    assert begin(positions).state_and_reason == (
        PartitionState.WAITING, "the source does not know the topic",
    )  # fmt: skip


def test_a_known_partition_waits_while_the_target_has_no_leader_for_it():
    """It must not be taken for a target that was emptied or recreated."""
    positions = ends(replace(KNOWN, target_topic_id="bb"), target_reset="reseed")
    positions.connections.target.leaderless = True
    partition = begin(positions)
    assert partition.state_and_reason == (
        PartitionState.WAITING, "the target has no such partition, or it has no leader",
    )  # fmt: skip
    assert partition.claimed.source == 5


@pytest.mark.parametrize(
    ("silence", "reason"),
    [
        (ClusterUnavailable("broker 3 is silent"), "broker 3 is silent"),
        (TimeoutError(), "the target partition has no leader"),
    ],
)
def test_a_target_whose_end_is_unknown_is_neither_emptied_nor_checked(silence, reason):
    positions = ends(KNOWN, target_reset="reseed")
    target = positions.connections.target
    target.silence = silence
    assert begin(positions).state_and_reason == (PartitionState.WAITING, reason)
    assert positions.connections.checked == set()
    target.silence = None
    assert begin(positions).claimed.source == 2, "it ends at 6, our last record was at 7"


def test_the_end_of_a_target_is_checked_once_and_only_after_a_clean_end():
    positions = ends(replace(KNOWN, target=6))
    assert begin(positions).claimed.source == 5
    assert positions.connections.checked == {HERE}
    positions.connections.target.silence = ClusterUnavailable("not asked again")
    assert begin(positions).state is PartitionState.WAITING
    assert begin(positions).status.reason == ""
    unclean = ends(replace(KNOWN, clean=False))
    unclean.connections.target.silence = ClusterUnavailable("counting tells it")
    assert (begin(unclean).status.reason, unclean.connections.checked) == ("", set())


def test_copying_all_again_keeps_who_may_still_append_and_whether_they_ended():
    """An appender that did not end cleanly has to be fenced before the first record."""
    unclean = replace(KNOWN, clean=False, target_topic_id="bb", former="old", records=70)
    partition = begin(ends(unclean, target_reset="reseed"))
    claimed = partition.claimed
    assert (claimed.source, claimed.target, claimed.records) == (2, 6, 0)
    assert (claimed.clean, claimed.appenders) == (False, (("x", OURS),))
    assert (claimed.former, claimed.generation) == ("old", 3)


@pytest.mark.parametrize(
    ("decision", "place"),
    [
        (None, None),
        (Choice(PartitionState.POSITION_LOST, 4, "reseed"), None),
        (Choice(PartitionState.POSITION_LOST, -1, "reseed"), (2, 6)),
        (Choice(PartitionState.POSITION_LOST, -1, "continue"), (6, 6)),
    ],
)
def test_a_flow_whose_anchors_are_gone_copies_nothing_twice_unless_somebody_chose(decision, place):
    halted = replace(
        KNOWN, source=None, target=None, state=PartitionState.POSITION_LOST, reason="said before"
    )
    positions = ends(halted if decision else None, copied_before=True)
    partition = begin(positions, decision=decision)
    if place is None:
        assert partition.state_and_reason == (PartitionState.POSITION_LOST, GONE)
        assert partition.claimed.source is None
    else:
        assert (partition.claimed.source, partition.claimed.target) == place
        assert partition.topic_id


def test_a_flow_whose_anchors_are_gone_begins_a_partition_of_which_nothing_was_copied():
    positions = ends(copied_before=True)
    positions.connections.target.logs[HERE].end = 0
    assert begin(positions).claimed.source == 2
    positions.connections.target.silence = ClusterUnavailable("it may hold some")
    assert begin(positions).state_and_reason == (PartitionState.WAITING, "it may hold some")


def test_a_partition_whose_position_is_lost_stays_halted_with_its_reason():
    halted = replace(
        KNOWN, source=None, target=None, state=PartitionState.POSITION_LOST, reason="said before"
    )
    assert begin(ends(halted)).state_and_reason == (PartitionState.POSITION_LOST, "said before")


@pytest.mark.parametrize(("policy", "halts"), [("stop", True), ("continue", False)])
def test_a_partition_that_others_write_to_stays_halted_under_stop(policy, halts):
    known = replace(KNOWN, target=6, state=PartitionState.TARGET_FOREIGN, reason="x wrote")
    partition = begin(ends(known, target_foreign=policy))
    assert (partition.state is PartitionState.TARGET_FOREIGN) == halts
    assert (partition.status.reason, bool(partition.topic_id)) == (
        "x wrote" if halts else "",
        not halts,
    )


def test_a_copy_under_another_name_waits_for_a_choice_and_for_its_clean_end():
    other = replace(KNOWN, target_topic="old", clean=False)
    assert begin(ends(other)).state_and_reason == (
        PartitionState.NAME_CHANGED,
        "the topic was copied as old, and the file now names it t",
    )
    change = NameChange("old", "t", "continue")
    assert begin(ends(other), name_change=change).state_and_reason == (
        PartitionState.WAITING,
        "its copy in old has not ended yet",
    )
    claimed = begin(ends(replace(other, clean=True)), name_change=change).claimed
    assert (claimed.target_topic, claimed.source, claimed.target) == ("t", 5, 6)
    assert (claimed.former, claimed.since, claimed.generation) == ("old", (5, 6), 3)
    assert claimed.target_topic_id == PRESENT


@pytest.mark.parametrize(
    ("mode", "delivery", "used"),
    [
        (Mode.APPEND, "auto", Mode.APPEND),
        (Mode.TRANSACTIONAL, "auto", Mode.TRANSACTIONAL),
        (Mode.AT_LEAST_ONCE, Mode.AT_LEAST_ONCE, Mode.AT_LEAST_ONCE),
    ],
)
def test_a_partition_is_copied_in_the_mode_of_its_unit(mode, delivery, used):
    assert begin(ends(KNOWN, mode=mode, delivery=delivery)).mode == used


def a_former(isolation: str, number: int = 0, *, clean: bool = False):
    known = replace(KNOWN, target=6, isolation=isolation, clean=clean, partition=number)
    return begin(ends(known), origins="producer-id")


def test_invariant_e_copies_of_a_crashed_owner_are_counted_under_its_isolation():
    crashed, ended = a_former("read_uncommitted"), a_former("read_committed", clean=True)
    choose_isolation([crashed, ended], "read_committed")
    assert [each.claimed.isolation for each in (crashed, ended)] == ["read_uncommitted"] * 2
    assert (crashed.claimed.origins, ended.claimed.origins) == ("", "producer-id")
    assert ended.topic_id
    assert crashed.topic_id


def test_after_clean_ends_all_partitions_are_copied_under_the_isolation_of_the_file():
    some = [a_former("read_uncommitted", clean=True), a_former("", clean=False)]
    choose_isolation(some, "read_committed")
    assert [each.claimed.isolation for each in some] == ["read_committed"] * 2
    assert [each.claimed.origins for each in some] == ["producer-id"] * 2


def test_of_two_isolations_to_be_counted_under_one_waits_for_the_next_epoch():
    desired, other, halted = a_former("read_committed"), a_former("read_uncommitted"), None
    halted = a_former("a third one")
    halted.topic_id = b""
    choose_isolation([desired, other, halted], "read_committed")
    assert desired.state_and_reason == (
        PartitionState.WAITING,
        "waits for the next epoch: in this one existing copies are counted with read_uncommitted",
    )
    assert (desired.topic_id, bool(other.topic_id)) == (b"", True)
    assert other.claimed.isolation == "read_uncommitted"
    assert halted.claimed.isolation == "a third one"
