"""The admin adapter against a real broker, and against what is no broker."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import threading
import time
from datetime import timedelta

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from support.flows.spark_driver import wait_for
from support.flows.waiting import await_equal
from support.records.kafka_records import create_topic, delete_topics, produce, some_records

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.admin.planned_cluster import PlannedCluster
from replication.client.acl_values import Resource
from replication.client.admin import Absence
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition

pytestmark = pytest.mark.integration
SOON = timedelta(seconds=2)


@pytest.fixture(scope="module")
def admin(source_cluster):
    return KafkaAdmin({"bootstrap.servers": source_cluster.bootstrap_servers})


def test_a_created_topic_is_listed_with_its_id_partitions_and_configs(admin, topic_name):
    topic = topic_name()
    admin.create_topic(topic, 3, -1, {"retention.ms": "1000"})
    wait_for(lambda: topic in admin.topics())
    info = admin.topics()[topic]
    assert (info.name, info.partitions) == (topic, 3)
    assert re.fullmatch("[0-9a-f]{32}", info.topic_id)
    assert admin.topic_configs([topic, "gone"]) == {topic: {"retention.ms": "1000"}}


def test_a_topic_that_another_flow_made_meanwhile_is_let_be(admin, topic_name):
    topic = topic_name()
    admin.create_topic(topic, 3, -1, {})
    admin.create_topic(topic, 2, -1, {})
    wait_for(lambda: topic in admin.topics())
    assert admin.topics()[topic].partitions == 3


def test_a_recreated_topic_has_another_id(admin, source_cluster, topic_name):
    first, second = topic_name(), topic_name()
    for topic in (first, second):
        create_topic(source_cluster.bootstrap_servers, topic)
    topics = admin.topics()
    assert topics[first].topic_id != topics[second].topic_id


def test_planning_lists_the_same_topics_and_sees_one_recreated(admin, source_cluster, topic_name):
    topic, other, address = topic_name(), topic_name("wide"), source_cluster.bootstrap_servers
    create_topic(address, topic, 3)
    create_topic(address, other, 12)
    planned = PlannedCluster({"bootstrap.servers": address})
    first, full = planned.topics(), admin.topics()
    for each in (topic, other):
        assert first[each] == full[each]
    delete_topics(address, topic)
    create_topic(address, topic, 3)
    again = planned.topics()
    planned.close()
    assert again[topic].partitions == 3
    assert again[topic].topic_id not in {"", first[topic].topic_id}
    assert again[other] == first[other]


def test_a_listing_of_another_broker_comes_from_those_that_the_cluster_names(source_cluster):
    planned = PlannedCluster({"bootstrap.servers": source_cluster.bootstrap_servers})
    first = planned.topics(another_broker=True)
    assert planned.topics(another_broker=True).keys() >= first.keys()
    (node,) = [each for each in planned._listing._connections.brokers if each >= 0]
    assert planned._listing._node == node
    planned.close()


def test_by_name_a_topic_is_there_or_deleted_or_denied(guarded_clusters, topic_name):
    guard, seen, hidden, gone = guarded_clusters[0], topic_name(), topic_name(), topic_name()
    for topic in (seen, hidden):
        create_topic(guard.everyone, topic, 2)
    guard.allow_only([(Resource("topic", each), "DESCRIBE") for each in (seen, gone)])
    planned = PlannedCluster(guard.login())
    found = planned.look_up([seen, hidden, gone])
    assert found == {
        seen: guard.admin.topics()[seen],
        hidden: Absence.DENIED,
        gone: Absence.DELETED,
    }
    assert {seen, hidden} & planned.topics().keys() == {seen}
    planned.close()
    guard.allow_only(())


def test_planning_names_a_closed_port():
    planned = PlannedCluster({"bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(ClusterUnavailable, match=r"connecting to 127\.0\.0\.1:1: .*refused"):
        planned.topics()
    planned.close()


def test_the_first_call_may_read_ends_and_its_client_searches_for_no_leader(
    source_cluster, topic_name, caplog
):
    """A search for leaders that is lost is repeated 3 s later."""
    topic = create_topic(source_cluster.bootstrap_servers, topic_name())
    caplog.set_level(logging.DEBUG, "librdkafka")
    received = {"debug": "metadata", "logger": logging.getLogger("librdkafka")}
    fresh = KafkaAdmin({"bootstrap.servers": source_cluster.bootstrap_servers, **received})
    assert fresh.end_offsets([TopicPartition(topic, 0)]) == {TopicPartition(topic, 0): 0}
    fresh.cluster_id()  # later than all that the client has logged
    fresh._checked._clients.get().poll(0)  # this is what logs
    assert "Received metadata" in caplog.text
    assert "query partition leaders" not in caplog.text


def test_a_topic_grows(admin, topic_name):
    topic = topic_name()
    admin.create_topic(topic, 1, 1, {})
    wait_for(lambda: topic in admin.topics())
    admin.grow_topic(topic, 4)
    await_equal(lambda: admin.topics()[topic].partitions, 4)


def test_the_cluster_is_known_by_id_and_size(admin):
    assert len(admin.cluster_id()) == 22
    assert admin.broker_count() == 1


def test_end_offsets_leave_out_what_is_not_there(admin, source_cluster, topic_name):
    topic = create_topic(source_cluster.bootstrap_servers, topic_name(), 2)
    produce(source_cluster.bootstrap_servers, topic, some_records(3))
    expected = [TopicPartition(topic, each) for each in (0, 1, 7)] + [TopicPartition("gone", 0)]
    assert admin.end_offsets(expected) == {expected[0]: 3, expected[1]: 0}
    assert admin.end_offsets([]) == {}


def test_the_client_is_asked_about_no_partition_whose_leader_it_does_not_know(
    source_cluster, topic_name, monkeypatch
):
    """Its search for leaders may end the process: see ``partition_leaders``."""
    here = source_cluster.bootstrap_servers
    topic, later, asked = create_topic(here, topic_name(), 2), topic_name(), []
    listed = AdminClient.list_offsets

    def listed_offsets(client, specs, **options):
        asked.extend((each.topic, each.partition) for each in specs)
        return listed(client, specs, **options)

    monkeypatch.setattr(AdminClient, "list_offsets", listed_offsets)
    fresh = KafkaAdmin({"bootstrap.servers": here})
    expected = [TopicPartition(topic, 0), TopicPartition(topic, 7), TopicPartition(later, 0)]
    for _ in range(2):
        assert fresh.end_offsets(expected) == {expected[0]: 0}
    assert fresh.end_offsets(expected[2:]) == {}
    assert asked == [(topic, 0)] * 2
    create_topic(here, later)
    asked.clear()
    assert fresh.end_offsets(expected[2:]) == {expected[2]: 0}
    assert asked == [(later, 0)]


def test_the_readable_end_stops_before_an_open_transaction(admin, source_cluster, topic_name):
    topic = create_topic(source_cluster.bootstrap_servers, topic_name())
    producer = Producer(
        {"bootstrap.servers": source_cluster.bootstrap_servers, "transactional.id": topic}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush(30)
    assert admin.end_offsets([TopicPartition(topic, 0)]) == {TopicPartition(topic, 0): 0}
    written = admin.end_offsets([TopicPartition(topic, 0)], undecided=True)
    assert written == {TopicPartition(topic, 0): 1}
    producer.commit_transaction(30)


def test_what_the_cluster_refuses_is_reported_in_its_words(admin, source_cluster, topic_name):
    topic = topic_name()
    with pytest.raises(ClusterRejected) as caught:
        admin.create_topic(topic, 1, 3, {})
    assert str(caught.value).startswith(
        f"creating topic {topic} at {source_cluster.bootstrap_servers}: Unable to replicate the "
        "partition 3 time(s): The target replication factor of 3 cannot be reached because only "
        "1 broker(s) are registered"
    )


def test_a_closed_port_is_named_within_the_time_given():
    admin = KafkaAdmin({"bootstrap.servers": "127.0.0.1:1"}, SOON)
    began = time.monotonic()
    with pytest.raises(ClusterUnavailable) as caught:
        admin.topics()
    assert time.monotonic() - began < 9  # 10 s is what it waits for else
    assert str(caught.value) == (
        "listing the topics at 127.0.0.1:1: Connect to ipv4#127.0.0.1:1 failed: Connection refused"
    )


def test_an_unknown_host_is_named():
    for limit in (SOON, 30 * SOON):  # the resolver of a busy machine may take its time
        admin = KafkaAdmin({"bootstrap.servers": "no-such-host.invalid:9092"}, limit)
        with pytest.raises(ClusterUnavailable) as caught:
            admin.cluster_id()
        if "Failed to resolve" in str(caught.value):
            break
    assert str(caught.value).startswith(
        "reading the cluster id at no-such-host.invalid:9092: Failed to resolve "
    )


def test_a_server_that_is_silent_does_not_hold_us_up():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ClusterUnavailable) as caught:
            KafkaAdmin({"bootstrap.servers": address}, SOON).broker_count()
    assert str(caught.value).startswith(f"counting the brokers at {address}: ")


def test_credentials_that_a_listener_does_not_take_are_rejected(source_cluster):
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    secret = {"sasl.username": "u", "sasl.password": "secret"}
    address = {"bootstrap.servers": source_cluster.bootstrap_servers}
    with pytest.raises(ClusterRejected) as caught:
        KafkaAdmin({**address, **login, **secret}, SOON).topics()
    assert source_cluster.bootstrap_servers in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("inside", [False, True], ids=["a thread", "an event loop"])
def test_a_client_that_nobody_holds_leaves_no_thread_and_no_connection(source_cluster, inside):
    """A process that serves for months, as Dagster's, makes a few of them a minute."""

    async def drop(client: PlannedCluster) -> None:
        del client

    before = threading.active_count(), psutil.Process().num_fds()
    for _ in range(3):
        client = PlannedCluster({"bootstrap.servers": source_cluster.bootstrap_servers})
        client.topics()
        holders, client = [client], None
        if inside:
            asyncio.run(drop(holders.pop()))
        holders.clear()
    wait_for(lambda: threading.active_count() <= before[0])
    wait_for(lambda: psutil.Process().num_fds() <= before[1])
