"""Where groups continue whose offsets go with a topic: all of them are known before it goes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.fakes.memory_groups import Groups

from orchestration.failback.deleted_topic import groups_on_target
from replication.errors import ClusterRejected, ClusterUnavailable, ReplicationError
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import UNSTABLE, Committed
from replication.offsets.groups.group_sync import GroupSync
from replication.offsets.groups.shared_partitions import DesiredPositions
from replication.offsets.groups.sync_round import by_group
from replication.offsets.offset_map import Answer
from replication.state import DivergedTail, ProvenPosition

HERE = TopicPartition("t", 0)
TAILS = [DivergedTail("A->B", "op", *HERE, first=50)]
POSITIONS = [ProvenPosition("A->B", "op", "t", 0, "t", source=50, target=60)]


class Reader:
    """The flow's offsets: the copies stand 10 offsets further on."""

    def __init__(self) -> None:
        self.errors: dict[TopicPartition, ReplicationError] = {}

    def look(self):
        return None

    def translate(self, wanted):
        there = {where: its for where, its in wanted.items() if where not in self.errors}
        return {where: {each: Answer(each + 10) for each in its} for where, its in there.items()}


def a_work(**held):
    flow = SimpleNamespace(source="A")
    sync = SimpleNamespace(source=Groups(**held), errors={}, flow=flow)
    sync.unreadable = lambda: GroupSync.unreadable(sync)
    sync.desired = lambda translated: DesiredPositions(by_group(translated), sync.errors)
    return SimpleNamespace(sync=sync, reader=Reader())


def found(work):
    return groups_on_target(work, {"t"}, TAILS, POSITIONS)


def test_a_group_continues_behind_its_offset_or_behind_what_was_copied():
    work = a_work(g={HERE: Committed(7)}, h={HERE: Committed(55)}, i={HERE: Committed(-1)})
    assert found(work) == {"g": {HERE: 17}, "h": {HERE: 60}}


def test_while_a_transaction_may_change_an_offset_nothing_is_noted():
    work = a_work(g={HERE: Committed(7)}, h={HERE: Committed(UNSTABLE)})
    with pytest.raises(ClusterUnavailable, match=r"group h: a transaction with its offset in t-0"):
        found(work)


def test_while_a_coordinator_is_silent_nothing_is_noted():
    work = a_work(g={HERE: Committed(7)})
    work.sync.source.unavailable = {2: "broker 2 gave no answer"}
    with pytest.raises(ClusterUnavailable, match="some groups were not read: broker 2"):
        found(work)


def test_while_the_copy_of_an_offset_is_not_known_nothing_is_noted():
    work = a_work(g={HERE: Committed(7)})
    work.reader.errors = {HERE: ClusterUnavailable("no leader")}
    with pytest.raises(ClusterUnavailable, match="some groups were not read: no leader"):
        found(work)


@pytest.mark.parametrize("of", ["reader", "sync"], ids=["the flow", "the flow back"])
def test_where_time_does_not_help_it_is_not_tried_again(of):
    work = a_work(g={HERE: Committed(7)})
    getattr(work, of).errors = {HERE: ClusterRejected("not authorized to describe topic t")}
    with pytest.raises(ClusterRejected, match="some groups were not read: not authorized"):
        found(work)


def test_while_it_is_not_known_what_a_group_has_read_of_other_clients_nothing_is_noted():
    work = a_work(g={HERE: Committed(7)})
    work.sync.errors = {HERE: ClusterUnavailable("broker 1 gave no answer")}
    with pytest.raises(ClusterUnavailable, match="some groups were not read: broker 1"):
        found(work)


def test_a_group_that_may_not_be_read_is_asked_for_before_its_offset_goes_with_the_topic():
    work = a_work(g={HERE: Committed(7)}, h={HERE: Committed(7)})
    work.sync.source.unreadable = {"h": "reading its offsets: denied"}
    with pytest.raises(ClusterRejected, match="not read: h: its offsets on A are unknown: reading"):
        found(work)
