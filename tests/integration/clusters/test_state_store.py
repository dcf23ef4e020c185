"""Isthmus' own topics on a real cluster."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from support.records import kafka_records

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics.state_store import StateStore
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import Desired
from replication.state import (
    PRODUCERS_TOPIC,
    FlowStatus,
    Intent,
    anchors_topic,
    flow_topics,
    status_topic,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def client(target_cluster):
    return {"bootstrap.servers": target_cluster.bootstrap_servers}


@pytest.fixture
def store(client):
    made = StateStore(client, replication_factor=3)
    yield made
    made.close()


@pytest.fixture
def source(store, topic_name):
    name = topic_name("src")
    store.ensure_topics(name)
    return name


def test_the_state_topics_are_compacted_and_fit_the_cluster(store, client, source):
    admin = KafkaAdmin(client)
    names = [anchors_topic(source), status_topic(source), PRODUCERS_TOPIC]
    assert {admin.topics()[each].partitions for each in names} == {1}
    assert {each["cleanup.policy"] for each in admin.topic_configs(names).values()} == {"compact"}
    store.ensure_topics(source)  # and a second time there is nothing to do


def test_bl_082_topics_that_somebody_else_made_are_used_unless_they_would_lose_state(
    store, client, topic_name
):
    source, admin = topic_name("src"), KafkaAdmin(client)
    for name in flow_topics(source):
        admin.create_topic(name, 8, 1, {"cleanup.policy": "compact"})
    store.ensure_topics(source)
    store.write(status_topic(source), FlowStatus("A->B"))
    assert [each.flow for each in store.read(status_topic(source)).values()] == ["A->B"]
    address, policy = client["bootstrap.servers"], "compact,delete"
    kafka_records.set_config(address, anchors_topic(source), "cleanup.policy", policy)
    with pytest.raises(ClusterRejected) as caught:
        store.ensure_topics(source)
    assert str(caught.value) == (
        f"topic {anchors_topic(source)} at {client['bootstrap.servers']} has cleanup.policy = "
        "compact,delete, so it would lose state that is still needed: set it to compact"
    )


def test_a_topic_that_is_deleted_after_it_was_listed_is_created_again(
    store, client, source, monkeypatch
):
    topic, listed = anchors_topic(source), KafkaAdmin.topic_names

    def listed_before_it_is_deleted(admin):
        found = listed(admin)
        monkeypatch.setattr(KafkaAdmin, "topic_names", listed)
        admin.delete_topics([topic])
        return found

    monkeypatch.setattr(KafkaAdmin, "topic_names", listed_before_it_is_deleted)
    store.ensure_topics(source)
    assert topic in KafkaAdmin(client).topic_names()


def test_the_newest_record_of_a_key_counts(store, source):
    topic = status_topic(source)
    first, last = FlowStatus("A->B", generation=1), FlowStatus("A->B", generation=2)
    intent = Intent("A->B", Desired.PAUSE)
    store.write(topic, first, intent, last)
    assert store.read(topic) == {last.key(): last, intent.key(): intent}


def test_an_empty_topic_and_one_that_is_not_there_read_as_nothing(store, source, topic_name):
    assert store.read(status_topic(source)) == {}
    assert store.read(topic_name("none")) == {}


def test_a_tail_tells_each_record_once_in_order(store, source):
    topic = status_topic(source)
    store.write(topic, FlowStatus("A->B", generation=1))
    tail = store.tail(topic)
    assert [each.generation for each in tail.catch_up()] == [1]
    assert tail.catch_up() == []
    store.write(topic, *(FlowStatus("A->B", generation=each) for each in (2, 3)))
    assert [each.generation for each in tail.catch_up()] == [2, 3]
    store.post(topic, FlowStatus("A->B", generation=4))
    found = []
    deadline = time.monotonic() + 60
    while not found and time.monotonic() < deadline:
        found = tail.poll(0.1)
    assert [each.generation for each in found] == [4]
    tail.close()
    assert tail.poll() == []


def test_looking_for_news_does_not_wait(store, source):
    tail = store.tail(status_topic(source))
    tail.catch_up()
    begin = time.monotonic()
    for _ in range(200):
        assert tail.poll() == []
    assert time.monotonic() - begin < 20  # 0.1 s each: the shortest time that a poll may wait
    tail.close()


def test_a_cluster_that_is_down_is_reported_in_one_sentence_within_the_limit(monkeypatch):
    monkeypatch.setattr("replication.adapters.topics.state_producer._PATIENCE_S", 2.0)
    closed = {"bootstrap.servers": "127.0.0.1:1"}
    down = StateStore(closed, 1)
    down._admin = KafkaAdmin(closed, timedelta(seconds=1))
    begin = time.monotonic()
    with pytest.raises(ClusterUnavailable) as unanswered:
        down.write(status_topic("A"), FlowStatus("A->B"))
    assert time.monotonic() - begin < 9  # 10 s is what it waits for else
    assert str(unanswered.value) == (
        "writing to isthmus-status.A.internal at 127.0.0.1:1: "
        "Connect to ipv4#127.0.0.1:1 failed: Connection refused"
    )
    with pytest.raises(ClusterUnavailable, match=r"127\.0\.0\.1:1"):
        down.read(status_topic("A"))
    with pytest.raises(ClusterUnavailable, match=r"127\.0\.0\.1:1"):
        down.ensure_topics("A")


def test_a_record_that_did_not_arrive_is_reported_later(monkeypatch):
    monkeypatch.setattr("replication.adapters.topics.state_producer._PATIENCE_S", 1.0)
    down = StateStore({"bootstrap.servers": "127.0.0.1:1"}, 1)
    assert down.last_error is None
    deadline = time.monotonic() + 60
    while down.last_error is None and time.monotonic() < deadline:
        down.post(status_topic("A"), FlowStatus("A->B"))
        time.sleep(0.2)
    assert "isthmus-status.A.internal at 127.0.0.1:1" in (down.last_error or "")
