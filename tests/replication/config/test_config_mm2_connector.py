"""MirrorMaker 2's acceptance scenarios for connector and source settings, CON-01 to SRC-10."""

import pickle

import pytest
from support.settings.config_files import TWO, about, flow, found, loaded, texts, values

from replication.adapters.auth.client_config import to_kafka_python, to_librdkafka
from replication.config.keys.mm2_keys import CONNECTOR, TASK
from replication.config.keys.precedence import client_id, client_properties
from replication.errors import ConfigError
from replication.model import PartitionPlan, TopicPartition
from replication.naming.java_regex import compile_rules
from replication.naming.policy import policy_for
from replication.naming.selection import NameFilter, TopicSelector

NAMED = {
    "name": "ConnectorName",
    "source.cluster.alias": "source1",
    "target.cluster.alias": "target2",
}


def client(given, side, kind):
    return texts(client_properties(values({**NAMED, **given}), side, kind))


SOURCE = {"source.cluster.bootstrap.servers": "localhost:2345"}


def test_con_01_a_source_consumer_has_its_cluster_and_fixed_settings():
    assert client({**SOURCE, "consumer.max.poll.interval.ms": "120000"}, "source", "consumer") == {
        "bootstrap.servers": "localhost:2345",
        "max.poll.interval.ms": "120000",
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
    }
    latest = client({**SOURCE, "consumer.auto.offset.reset": "latest"}, "source", "consumer")
    assert latest["auto.offset.reset"] == "latest"


def test_con_01_a_client_id_names_flow_connector_and_role():
    assert client_id(values(NAMED), "test") == "source1->target2|ConnectorName|test"
    assert client_id(values(NAMED), "test", "mine") == "mine|source1->target2|ConnectorName|test"


def test_con_02_a_source_consumer_takes_the_source_prefix():
    found = client(
        {
            "source.consumer.auto.offset.reset": "latest",
            "source.consumer.max.poll.interval.ms": "100",
        },
        "source",
        "consumer",
    )
    assert found == {
        "auto.offset.reset": "latest",
        "max.poll.interval.ms": "100",
        "enable.auto.commit": "false",
    }


@pytest.mark.parametrize(
    ("key", "side", "kind", "name"),
    [
        pytest.param("producer.acks", "source", "producer", "acks", id="CON-03"),
        pytest.param("source.producer.acks", "source", "producer", "acks", id="CON-04"),
        pytest.param("admin.connections.max.idle.ms", "source", "admin",
                     "connections.max.idle.ms", id="CON-05"),
        pytest.param("source.admin.connections.max.idle.ms", "source", "admin",
                     "connections.max.idle.ms", id="CON-06"),
        pytest.param("admin.connections.max.idle.ms", "target", "admin",
                     "connections.max.idle.ms", id="CON-07"),
        pytest.param("target.admin.connections.max.idle.ms", "target", "admin",
                     "connections.max.idle.ms", id="CON-08"),
    ],
)  # fmt: skip
def test_con_03_to_con_08_a_client_takes_its_prefix_with_or_without_the_side(key, side, kind, name):
    assert client({key: "1"}, side, kind) == {name: "1"}


def test_con_04_the_other_sides_prefix_is_not_taken():
    assert client({"target.producer.acks": "1"}, "source", "producer") == {}


def test_con_09_an_unknown_security_protocol_of_a_flow_is_an_error(tmp_path):
    (message,) = about(found(tmp_path, TWO + "A->B.source.admin.security.protocol = abc\n"),
                       "A->B.source.admin.security.protocol")  # fmt: skip
    assert message.startswith("error: 'abc' is not one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL")


def test_con_10_a_security_protocol_may_be_in_lower_case(tmp_path):
    clients = flow(tmp_path, "security.protocol = ssl\n").clients
    assert to_kafka_python(clients.source_consumer)["security_protocol"] == "SSL"
    assert to_librdkafka(clients.target_admin)["security.protocol"] == "ssl"


@pytest.mark.parametrize(
    "reporters",
    [
        pytest.param("org.apache.kafka.common.metrics.JmxReporter", id="CON-11"),
        pytest.param("Mock, org.apache.kafka.common.metrics.JmxReporter", id="CON-12"),
    ],
)
def test_con_11_con_12_metric_reporters_are_known_and_not_obeyed(tmp_path, reporters):
    (message,) = about(found(tmp_path, TWO + f"metric.reporters = {reporters}\n"),
                       "metric.reporters")  # fmt: skip
    assert message.startswith(
        "warning: has no effect: Isthmus serves its own metrics at metrics.port"
    )


def test_con_13_a_flow_has_one_policy(tmp_path):
    given = flow(tmp_path, "")
    assert policy_for(given, ("A", "B")) == policy_for(given, ("B", "A"))


def test_src_01_a_units_partitions_survive_the_way_to_their_task():
    plans = tuple(
        PartitionPlan(TopicPartition(topic, 3), TopicPartition(f"A.{topic}", 3))
        for topic in ("t-0", "-", "a-b-1", "t-0-1")
    )
    assert pickle.loads(pickle.dumps(plans)) == plans  # noqa: S301 -- our own bytes


def selector(tmp_path, topics):
    return TopicSelector.for_flow(flow(tmp_path, f"topics = {topics}\n"), ("A", "B"))


def test_src_02_a_topic_that_is_listed_is_copied_and_no_other(tmp_path):
    assert selector(tmp_path, "topic1").selected(["topic1", "topic2"]) == ("topic1",)


def test_src_03_an_exclusion_of_properties_matches_whole_names():
    rules = NameFilter("config.properties", compile_rules([".*"]), compile_rules(["prop2"]))
    assert [rules.judge(each).selected for each in ("prop1", "prop2", "prop22")] == [
        True,
        False,
        True,
    ]


def test_src_04_an_empty_list_selects_nothing_not_even_the_empty_name(tmp_path):
    assert selector(tmp_path, "").selected(["topic1", ""]) == ()


def test_src_05_a_dot_star_selects_every_topic(tmp_path):
    assert selector(tmp_path, ".*").selected(["topic1", "topic2"]) == ("topic1", "topic2")


def test_src_06_a_list_selects_exactly_its_topics(tmp_path):
    topics = ["topic1", "topic2", "topic3"]
    assert selector(tmp_path, "topic1, topic2").selected(topics) == ("topic1", "topic2")


def test_src_07_a_tasks_own_settings_are_not_a_connectors():
    assert "task.assigned.partitions" in TASK
    assert "task.assigned.partitions" not in CONNECTOR


def test_src_08_offset_syncs_live_on_the_source_or_the_target_and_nowhere_else(tmp_path):
    with pytest.raises(ConfigError, match="'something' is not one of source, target"):
        loaded(tmp_path, TWO + "offset-syncs.topic.location = something\n")
    for place in ("source", "target"):
        loaded(tmp_path, TWO + f"offset-syncs.topic.location = {place}\n")


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    "kind", [pytest.param("producer", id="SRC-09"), pytest.param("admin", id="SRC-10")]
)
def test_src_09_src_10_a_client_for_offset_syncs_is_that_of_the_side_they_live_on(side, kind):
    given = {
        "source.producer.batch.size": "1",
        "target.producer.acks": "1",
        "producer.max.poll.interval.ms": "2",
        "source.admin.retries": "1",
        "target.admin.retries": "2",
        "admin.request.timeout.ms": "3",
    }
    expected = {
        ("source", "producer"): {"batch.size": "1", "max.poll.interval.ms": "2"},
        ("target", "producer"): {"acks": "1", "max.poll.interval.ms": "2"},
        ("source", "admin"): {"retries": "1", "request.timeout.ms": "3"},
        ("target", "admin"): {"retries": "2", "request.timeout.ms": "3"},
    }
    assert client(given, side, kind) == expected[side, kind]
