"""What the step that sets the groups of deleted topics leaves for later."""

from __future__ import annotations

from types import SimpleNamespace

from support.fakes.memory_groups import Groups
from support.settings.configs import a_flow

from orchestration.failback.topic_recreation import TopicRecreation
from replication.model import TopicPartition
from replication.naming.selection import TopicSelector
from replication.offsets.groups.consumer_groups import Committed
from replication.offsets.groups.group_sync import GroupSync
from replication.offsets.known_points import KnownPoints
from replication.settings.mm2_settings import GroupSettings


def test_a_group_that_may_not_be_read_does_not_keep_the_failback_from_its_end(monkeypatch):
    monkeypatch.setattr(TopicRecreation, "_noted", lambda *_: [])
    flow = a_flow().model_copy(update={"groups": GroupSettings(sync=True)})
    known = KnownPoints(flow.name)
    offsets = SimpleNamespace(known=known, errors={}, look=lambda: known)
    source = Groups(g={TopicPartition("other", 0): Committed(3)}, h={})
    source.unreadable = {"h": "reading its offsets: denied"}
    sync = GroupSync(flow, TopicSelector.for_flow(flow, ("A", "B")), offsets, source, Groups())
    sync.offsets.translate = lambda *_, **__: {}
    work = SimpleNamespace(flow=flow, sync=sync)
    step = TopicRecreation(work, clients=None)
    assert step.set_groups(None) == ("no other group read there", ())
