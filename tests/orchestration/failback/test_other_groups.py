"""Where groups continue on the source after its topics were deleted and are filled again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.fakes.memory_groups import Groups
from support.settings.configs import a_flow

from orchestration.failback.other_groups import set_other_groups
from replication.errors import ClusterRejected, ClusterUnavailable, ReplicationError
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import Committed, LeaveGroup, LeaveOffset
from replication.offsets.groups.group_sync import GroupSync
from replication.offsets.offset_map import NOT_YET, Answer, without_answer

HERE, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)
OFFSETS = {HERE: {"g": 7, "h": 8}, OTHER: {"g": 9}}


class Reader:
    """The offsets of the flow back: the source's records stand 100 offsets further on."""

    def __init__(self, **errors: ReplicationError) -> None:
        self.errors = {TopicPartition(topic, 0): error for topic, error in errors.items()}

    def look(self):
        return None

    def translate(self, wanted):
        there = {where: its for where, its in wanted.items() if where not in self.errors}
        return {where: {each: Answer(each + 100) for each in its} for where, its in there.items()}


def a_back(**errors: ReplicationError):
    reader = Reader(**errors)
    sync = GroupSync(a_flow("B", "A"), None, reader, Groups(), Groups(h={HERE: Committed(3)}))
    return SimpleNamespace(sync=sync, reader=reader)


def test_groups_without_an_offset_are_set():
    back = a_back()
    assert set_other_groups(back, OFFSETS) == ("set the offsets of 1 other group", ())
    assert back.sync.target.held == {
        "g": {HERE: Committed(107), OTHER: Committed(109)},
        "h": {HERE: Committed(3)},
    }


def test_what_time_does_not_help_is_left_and_named_and_the_others_are_set():
    """The topics are deleted already: the failback would never end."""
    back = a_back(u=ClusterRejected("not authorized to describe topic u"))
    why = "u-0 offset 9 of its copy was not translated: not authorized to describe topic u"
    did = f"set the offsets of 1 other group; left: g, {why}"
    assert set_other_groups(back, OFFSETS) == (did, (LeaveOffset("g", OTHER, why),))
    assert back.sync.target.held == {"g": {HERE: Committed(107)}, "h": {HERE: Committed(3)}}


def test_while_a_partition_does_not_answer_none_is_set():
    back = a_back(u=ClusterUnavailable("no leader"))
    with pytest.raises(ClusterUnavailable, match="in u-0 were not translated: no leader"):
        set_other_groups(back, OFFSETS)
    assert back.sync.target.held == {"h": {HERE: Committed(3)}}


@pytest.mark.parametrize(
    ("answer", "why"),
    [(NOT_YET, "is not copied yet"), (without_answer("does not exist"), "does not exist")],
)
def test_an_offset_without_a_place_is_left_and_named(answer, why):
    back = a_back()
    back.reader.translate = lambda _: {HERE: {7: answer, 8: Answer(108)}, OTHER: {9: Answer(109)}}
    reason = f"t-0 offset 7 of its copy {why}"
    _, left = set_other_groups(back, OFFSETS)
    assert left == (LeaveOffset("g", HERE, reason),)
    assert back.sync.target.held["g"] == {OTHER: Committed(109)}


def test_a_group_that_brokers_refuse_is_left_and_named_and_the_others_are_set():
    back = a_back()
    back.sync.target.refused = {"g": ClusterRejected("Isthmus' user needs READ on the group")}
    del back.sync.target.held["h"]
    why = "its offsets were refused: Isthmus' user needs READ on the group"
    did = f"set the offsets of 1 other group; left: g, {why}"
    assert set_other_groups(back, OFFSETS) == (did, (LeaveGroup("g", why),))
    assert back.sync.target.held == {"h": {HERE: Committed(108)}}


def test_a_group_that_may_not_be_read_is_left_and_named():
    back = a_back()
    back.sync.target.held["g"] = {HERE: Committed(5)}
    back.sync.target.unreadable = {"g": "reading its offsets: denied"}
    _, left = set_other_groups(back, OFFSETS)
    why = "its offsets on the target could not be read: reading its offsets: denied"
    assert left == (LeaveGroup("g", why),)
    assert back.sync.target.held["g"] == {HERE: Committed(5)}
