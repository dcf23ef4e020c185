"""What checkpoints say of a flow's groups."""

from __future__ import annotations

from support.fakes.memory_groups import Groups
from support.settings.configs import a_flow

from replication.adapters.mm2_writers import checkpoint_positions
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import Committed
from replication.offsets.groups.group_sync import GroupSync
from replication.offsets.groups.sync_round import TranslatedPosition
from replication.offsets.offset_map import Answer

HERE, COPY = TopicPartition("t", 0), TopicPartition("A.t", 0)


def test_a_group_that_may_not_be_read_has_no_checkpoint_and_is_named(monkeypatch):
    sync = GroupSync(a_flow(), None, None, Groups(), Groups())
    moved = TranslatedPosition("h", HERE, Committed(5), COPY, Answer(15))
    monkeypatch.setattr(GroupSync, "translated", lambda _: [moved])
    sync.source.unreadable = {"g": "reading its offsets: denied"}
    good, left = checkpoint_positions(sync)
    assert (good.group, good.target, good.downstream, good.problem) == ("h", COPY, 15, "")
    why = "its offsets on A are unknown: reading its offsets: denied"
    assert (left.group, left.downstream, left.problem) == ("g", None, why)
