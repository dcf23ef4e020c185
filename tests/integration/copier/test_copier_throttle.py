"""Byte budget and priority topics on real brokers."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from support.flows.copier_flows import Flow
from support.records import kafka_records

from replication.state import Anchor, anchors_topic

pytestmark = pytest.mark.integration

MB, RECORD = 1 << 20, 100 << 10


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    def make(*partitions: int) -> Flow:
        topics = {topic_name("pace"): each for each in partitions}
        for topic, count in topics.items():
            for cluster in (source_cluster, target_cluster):
                kafka_records.create_topic(cluster.bootstrap_servers, topic, count)
        return Flow(source_cluster, target_cluster, topics)

    return make


def fill(flow: Flow, topic: str, megabytes: int) -> None:
    values = [bytes([n % 250]) * RECORD for n in range(10 * megabytes)]
    partitions = flow.topics[topic]
    records = [(n % partitions, b"k", each) for n, each in enumerate(values)]
    kafka_records.produce(flow.here, topic, records, {"batch.size": 110 << 10})


def test_a_backlog_is_copied_no_faster_than_the_budget_and_fairly(flow):
    one = flow(4)
    (topic,) = one.topics
    fill(one, topic, 4)
    begin = time.monotonic()
    with one.copying(one.spec(bytes_per_second=MB)) as reports:
        half = one.wait_for(lambda seen: sum(e.bytes for e in seen.values()) > 2 * MB, "half of it")
        one.wait_copied()
        assert time.monotonic() - begin > 3.5
    copied = [each.bytes for each in half.values()]
    assert len(copied) == 4
    assert max(copied) - min(copied) <= 250 << 10  # two records and what the anchors lag
    assert reports[0].outcome == "clean"
    one.assert_equal()


def test_a_priority_topic_catches_up_before_the_others(flow):
    both = flow(2, 2)
    first, other = both.topics
    for topic in both.topics:
        fill(both, topic, 6)
    plans = tuple(
        replace(each, first=each.source.topic == first) for each in both.spec().partitions
    )
    both.copy_all(partitions=plans, bytes_per_second=4 * MB)
    assert copied_when_done(both, first, 60 * RECORD)[other] < 30 * RECORD
    both.assert_equal()


def copied_when_done(flow: Flow, topic: str, size: int) -> dict[str, int]:
    """Return how many bytes of each topic were copied when ``size`` of ``topic`` were."""
    tail, copied = flow.store.tail(anchors_topic(flow.alias)), {}
    try:
        for each in (found for found in tail.catch_up() if isinstance(found, Anchor)):
            copied[each.topic, each.partition] = each.bytes
            totals = {name: sum(copied.get((name, n), 0) for n in range(2)) for name in flow.topics}
            if totals[topic] >= size:
                return totals
    finally:
        tail.close()
    raise AssertionError(f"{topic} was not copied: {copied}")
