"""How many events an hour of a flow costs: Dagster deletes none of them by itself."""

from __future__ import annotations

import time
from collections import Counter

import dagster as dg
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config

from orchestration.dagster.sensors import supervise
from replication.model import TopicPartition
from replication.state import Anchor, TaskReport, anchors_topic, status_topic

TOPICS = 1000


def test_a_thousand_quiet_topics_are_about_a_hundred_events_an_hour(monkeypatch):
    clock = [1_800_000_000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    world, known, cursor = World(a_config()), set[str](), None
    world.watched = world.driven = {"B"}
    names = [f"t{number}" for number in range(TOPICS)]
    world.origin.ends = {TopicPartition(each, 0): 5 for each in names}

    def tick() -> list:
        nonlocal cursor
        clock[0] += 60
        now_ms = int(clock[0] * 1000)
        world.copy(records=5, end=5)
        anchors = (
            Anchor("A->B", each, 0, f"A.{each}", 5, 5, records=5, state="RUNNING", at_ms=now_ms)
            for each in names
        )
        world.target.write(anchors_topic("A"), *anchors)
        tasks = (TaskReport("A->B", each, now_ms) for each in ("heartbeats", "checkpoints"))
        world.target.write(status_topic("A"), *tasks)
        result = supervise(FakeIsthmus.of(world), frozenset(), cursor, lambda _: known)
        for each in result.dynamic_partitions_requests or []:
            assert isinstance(each, dg.AddDynamicPartitionsRequest)
            known.update(each.partition_keys)
        cursor = result.cursor
        return result.asset_events

    while len(known) <= TOPICS:
        assert len(tick()) < 80, "a tick must end in seconds"
    quarter = [each for _ in range(15) for each in tick()]
    kinds = Counter(type(each).__name__ for each in quarter)
    assert kinds.total() <= 28, kinds
    assert len({each.partition for each in quarter if each.partition}) in {14, 15}, "in turn"
    assert len(cursor) < 1500
