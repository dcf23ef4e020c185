"""MirrorMaker 2's clients read our records: MirrorClient, a real checkpoint connector."""

from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import Consumer, TopicPartition
from support.brokers.mirrormaker import (
    ask_mirror_client,
    kill_mirrormaker,
    start_checkpoint_connector,
)
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records
from support.settings import kafka_settings

from replication.adapters.topics.internal_topic_client import InternalTopicClient
from replication.mm2.wire import Checkpoint, OffsetSync, parse_all
from replication.model import FlowState

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

MORE = """
B->SOURCE.emit.heartbeats.enabled = true
emit.checkpoints.interval.seconds = 1
offset-syncs.topic.location = target
groups = mine-.*
"""


@pytest.fixture(scope="module")
def app(source_cluster, target_cluster, tmp_path_factory):
    """A flow that has copied a topic, with a group of ours and one of MirrorMaker 2's on it."""
    forget(source_cluster.bootstrap_servers, "mm2-offset-syncs.B.internal")
    home = tmp_path_factory.mktemp("mm2") / "app"
    with closing(Application(source_cluster, target_cluster, home, MORE)) as made:
        made.orders = made.topic()
        made.produce(made.orders, 300)
        made.start()
        made.await_state(FlowState.RUNNING)
        wait_for(lambda: made.is_copied(made.orders))
        commit(made, "mine-group", {0: 100, 1: 150})
        commit(made, "theirs-group", {0: 550, 1: 150})
        yield made
    forget(source_cluster.bootstrap_servers, "heartbeats")  # other tests' flows would copy them


def commit(app: Application, group: str, offsets: dict[int, int]) -> None:
    servers = app.source.bootstrap_servers
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, **kafka_records.QUIET})
    places = [TopicPartition(app.orders, *each, metadata="m") for each in offsets.items()]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


def checkpoints(app: Application, group: str) -> dict[int, tuple[int, int]]:
    client = {"bootstrap.servers": app.target.bootstrap_servers}
    records = InternalTopicClient(client).read(f"{app.alias}.checkpoints.internal")
    found = parse_all(Checkpoint.parse, records)
    return {e.partition: (e.upstream, e.downstream) for e in found if e.group == group}


def syncs(app: Application) -> list[OffsetSync]:
    client = {"bootstrap.servers": app.target.bootstrap_servers}
    records = InternalTopicClient(client).read(f"mm2-offset-syncs.{app.alias}.internal")
    return [each for each in parse_all(OffsetSync.parse, records) if each.topic == app.orders]


def test_mc_04_mc_05_mc_06_mc_07_mc_09_kafkas_client_answers_rightly_about_what_we_wrote(app):
    wait_for(lambda: len(checkpoints(app, "mine-group")) == 2)
    copy, beats = f"{app.alias}.{app.orders}", f"{app.alias}.heartbeats"
    servers = app.target.bootstrap_servers
    wait_for(lambda: beats in known_topics(servers))
    output = ask_mirror_client(servers, app.alias, "mine-group")
    assert {"heartbeats", beats} <= listed(output["heartbeatTopics"])
    assert f"{app.alias}.checkpoints.internal" in listed(output["checkpointTopics"])
    assert app.alias in listed(output["upstreamClusters"])
    assert output["replicationHops"] == "1"
    assert output["noHops"] == "-1"
    assert listed(output["remoteTopics"]) == {copy, beats}
    assert {copy, beats} <= listed(output["allRemoteTopics"])
    assert output[f"offset {copy}-0"].rstrip("\0") == "100|m"  # the committing client adds a zero
    assert output["translateOffsets"] == f"{{{copy}-0=100, {copy}-1=150}}"


def test_it_06_a_real_checkpoint_connector_works_from_our_offset_syncs(app, tmp_path):
    assert "mm2-offset-syncs.B.internal" not in known_topics(app.source.bootstrap_servers)
    app.produce(app.orders, 800, seed=2)  # 550 in each partition
    wait_for(lambda: app.is_copied(app.orders))
    wait_for(lambda: {(e.partition, e.upstream, e.downstream) for e in syncs(app)}
             >= {(0, 549, 549), (1, 549, 549)})  # fmt: skip
    more = {"offset-syncs.topic.location": "target", "groups": "theirs-.*", "topics": app.orders}
    servers = app.source.bootstrap_servers, app.target.bootstrap_servers
    connector = start_checkpoint_connector(tmp_path, servers, app.alias, more)
    try:
        # Its pairs say nothing of offset 150, long before the first of them; ours do.
        wait_for(lambda: checkpoints(app, "theirs-group").get(0) == (550, 550))
    finally:
        kill_mirrormaker(connector)


def forget(servers: str, topic: str) -> None:
    """Delete what a real MirrorMaker 2 of other tests may have left behind."""
    if topic in known_topics(servers):
        kafka_records.delete_topics(servers, topic)


def known_topics(servers: str) -> set[str]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "tests", **kafka_records.QUIET})
    try:
        return set(consumer.list_topics(timeout=10).topics)
    finally:
        consumer.close()


def listed(text: str) -> set[str]:
    return set(text.strip("[]").split(", "))


def test_the_list_of_kafkas_settings_is_what_its_jars_declare():
    assert kafka_settings.LIST.read_text("utf-8") == kafka_settings.list_from_jars()
