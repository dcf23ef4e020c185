"""Brokers of the release line before ours, as source and as target, and logs older than these."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.flows.copier_flows import Flow
from support.records import kafka_records

from orchestration.flows.comparison.compared_partition import TopicPair
from orchestration.flows.comparison.topic_comparison import Options, compare_topics

pytestmark = [pytest.mark.integration, pytest.mark.slow]
OLD_SEGMENTS = Path(__file__).parents[2] / "replication" / "old_segments"


@pytest.fixture(scope="module")
def older(kafka_cluster):
    return kafka_cluster(version="3.9.1")


@pytest.mark.parametrize("end", ["source", "target"])
def test_an_older_cluster_is_copied_from_and_to(older, source_cluster, target_cluster, end):
    clusters = {"source": source_cluster, "target": target_cluster, end: older}
    topic = f"from-{end}"
    for cluster in clusters.values():
        kafka_records.create_topic(cluster.bootstrap_servers, topic, 2)
    flow = Flow(clusters["source"], clusters["target"], {topic: 2})
    kafka_records.produce(flow.here, topic, kafka_records.some_records(200, 2))
    flow.copy_all(generation=1)
    kafka_records.produce(flow.here, topic, kafka_records.some_records(200, 2, seed=2))
    flow.copy_all(generation=2)
    flow.assert_equal()


def test_logs_that_begin_in_message_format_0_or_1_are_copied(older, target_cluster, topic_name):
    segments = {topic_name(each.stem): each for each in sorted(OLD_SEGMENTS.glob("*.log"))}
    for topic in segments:
        for cluster in (older, target_cluster):
            kafka_records.create_topic(cluster.bootstrap_servers, topic)
    older.stop()
    for topic, segment in segments.items():
        log = older.home / "broker-1" / "data" / f"{topic}-0" / f"{'0' * 20}.log"
        log.write_bytes(segment.read_bytes())
    older.start()
    flow = Flow(older, target_cluster, dict.fromkeys(segments, 1))
    for topic in segments:
        kafka_records.produce(flow.here, topic, kafka_records.some_records(10))
    flow.copy_all()
    for topic in segments:
        expected, found = (kafka_records.consume_all(each, topic) for each in (flow.here, flow.to))
        assert [_without_kind(each) for each in found] == [_without_kind(each) for each in expected]
        assert len(found) > 10
    pairs = [TopicPair(each, each) for each in segments if "append-time" not in each]
    clients = ({"bootstrap.servers": each} for each in (flow.here, flow.to))
    results = compare_topics(*clients, pairs, Options())
    assert [each.work.source.topic for each in results if not each.comparison.is_clean()] == []


def _without_kind(record: kafka_records.Rec) -> tuple:
    """Return a record's content; format 2 has no word for a message without a timestamp but -1."""
    stamp = record.timestamp if record.timestamp_type else -1
    return record.key, record.value, record.headers, stamp
