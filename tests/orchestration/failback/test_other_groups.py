"""Where groups continue on the source after its topics were deleted and are filled again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.fakes.memory_groups import Groups
from support.settings.configs import a_flow

from orchestration.failback.other_groups import set_other_groups
from replication.errors import ClusterRejected, ClusterUnavailable, ReplicationError
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import Committed
from replication.offsets.groups.group_sync import GroupSync
from replication.offsets.offset_map import Answer

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
    assert set_other_groups(back, OFFSETS) == "set the offsets of 1 other group"
    assert back.sync.target.held == {
        "g": {HERE: Committed(107), OTHER: Committed(109)},
        "h": {HERE: Committed(3)},
    }


def test_what_time_does_not_help_is_left_and_named_and_the_others_are_set():
    """The topics are deleted already: the failback would never end."""
    back = a_back(u=ClusterRejected("not authorized to describe topic u"))
    assert set_other_groups(back, OFFSETS) == (
        "set the offsets of 1 other group; left: g, u-0: not authorized to describe topic u"
    )
    assert back.sync.target.held == {"g": {HERE: Committed(107)}, "h": {HERE: Committed(3)}}


def test_while_a_partition_does_not_answer_none_is_set():
    back = a_back(u=ClusterUnavailable("no leader"))
    with pytest.raises(ClusterUnavailable, match="in u-0 were not translated: no leader"):
        set_other_groups(back, OFFSETS)
    assert back.sync.target.held == {"h": {HERE: Committed(3)}}
