"""Hundreds of partitions in one unit, records much larger than the buffer, tiny ones that grow."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.flows.copier_flows import Flow
from support.records import kafka_records

from replication.adapters.wire import connect

pytestmark = pytest.mark.integration

MB = 1 << 20


def make_topics(bootstrap: str, names: list[str], partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **kafka_records.QUIET})
    new = [NewTopic(each, partitions, 1) for each in names]
    for answer in admin.create_topics(new, request_timeout=60).values():
        answer.result(60)


class Hearing:
    """``connect`` as the copier's own; ``named`` has the partitions that each Fetch named."""

    def __init__(self) -> None:
        self.named: list[int] = []

    def connect(self, properties, client_id, verify):
        network = connect(properties, client_id, verify)
        fetch = network.begin_fetch

        def received(node, entries, options, into, answer):
            if options.line == "fetch":
                self.named.append(len(entries))
            fetch(node, entries, options, into, answer)

        network.begin_fetch = received
        return network


def test_hundreds_of_partitions_start_restart_and_cost_only_what_has_news(
    source_cluster, target_cluster, topic_name
):
    """BL-116."""
    names = [topic_name("many") for _ in range(30)]
    for cluster in (source_cluster, target_cluster):
        make_topics(cluster.bootstrap_servers, names, 10)
    flow = Flow(source_cluster, target_cluster, dict.fromkeys(names, 10))
    for name in names[::10]:
        kafka_records.produce(flow.here, name, kafka_records.some_records(30, 10))
    assert flow.copy_all().outcome == "clean"
    hearing, touched = Hearing(), names[7]
    with flow.copying(flow.spec(epoch=1), hearing.connect) as reports:
        flow.wait_copied()
        kafka_records.produce(flow.here, touched, [(3, b"k", b"touched")])
        flow.wait_copied()
    assert (reports[0].outcome, reports[0].takeovers, reports[0].records) == ("clean", 0, 1)
    assert hearing.named[0] == 300
    assert max(hearing.named[1:]) <= 1
    for name in (*names[::10], touched):
        assert len(kafka_records.consume_all(flow.to, name)) == (1 if name == touched else 30)


def test_a_record_larger_than_the_whole_buffer_is_copied(
    source_cluster, target_cluster, topic_name
):
    """BL-049."""
    topic = topic_name("large")
    for cluster in (source_cluster, target_cluster):
        limit = {"max.message.bytes": str(12 * MB)}
        kafka_records.create_topic(cluster.bootstrap_servers, topic, 2, limit)
    flow = Flow(source_cluster, target_cluster, {topic: 2})
    records = [(n % 2, b"k", bytes([n]) * 10 * MB) for n in range(4)]
    large = {"message.max.bytes": 11 * MB, "queue.buffering.max.kbytes": 1 << 20}
    kafka_records.produce(flow.here, topic, [*records, (0, b"k", b"small")], large)
    assert flow.copy_all(buffer_bytes=MB).outcome == "clean"
    flow.assert_equal()


def test_a_record_that_compresses_to_next_to_nothing_is_copied(
    source_cluster, target_cluster, topic_name
):
    """BL-050."""
    topic = topic_name("zeros")
    for cluster in (source_cluster, target_cluster):
        kafka_records.create_topic(
            cluster.bootstrap_servers, topic, 1, {"max.message.bytes": "1000000"}
        )
    flow = Flow(source_cluster, target_cluster, {topic: 1})
    zstd = {"compression.type": "zstd", "message.max.bytes": 8 * MB}
    kafka_records.produce(flow.here, topic, [(0, b"k", bytes(3 * MB))], zstd)
    assert flow.copy_all(buffer_bytes=MB).outcome == "clean"
    flow.assert_equal()
