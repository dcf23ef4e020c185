"""MirrorMaker 2's acceptance scenarios for its dedicated-mode configuration, CFG-01 to CFG-16."""

import pytest
from support.settings.config_files import TWO, about, found, loaded, props, texts, values, written

from replication.adapters.auth.client_config import to_librdkafka
from replication.config.file.providers import resolve_all
from replication.config.keys.mm2_keys import CONNECTOR, TASK
from replication.config.keys.precedence import (
    client_properties,
    cluster_properties,
    connector_properties,
    worker_properties,
)
from replication.config.load import load_config
from replication.config.sections.clients import cluster_client, flow_clients
from replication.config.sections.flows import copying_pairs, mm2_pairs
from replication.errors import ConfigError
from replication.naming.policy import policy_for

AB = ("a", "b")
ABC = ("a", "b", "c")


def connector(given, flow=AB, aliases=AB):
    return texts(connector_properties(values(given), aliases, flow))


def test_cfg_01_a_connector_knows_both_clusters_and_the_common_security():
    found = connector(
        {
            "a.bootstrap.servers": "servers-one",
            "b.bootstrap.servers": "servers-two",
            "security.protocol": "SSL",
        }
    )
    assert found["source.cluster.bootstrap.servers"] == "servers-one"
    assert found["target.cluster.bootstrap.servers"] == "servers-two"
    assert found["security.protocol"] == "SSL"


def test_cfg_02_a_flows_setting_reaches_its_connector():
    assert connector({"a->b.tasks.max": "123"})["tasks.max"] == "123"


def test_cfg_03_a_client_takes_its_own_settings_over_the_clusters_over_the_common(tmp_path):
    secret = tmp_path / "secrets.properties"
    secret.write_text("pw=top-secret")
    given = values(
        {
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider."
            "FileConfigProvider",
            "ssl.truststore.password": "secret1",
            "security.protocol": "SSL",
            "a.security.protocol": "PLAINTEXT",
            "a.producer.security.protocol": "SSL",
            "a.bootstrap.servers": "one:9092, two:9092",
            "b.bootstrap.servers": "three:9092",
            "metrics.reporter": "FakeMetricsReporter",
            "a.metrics.reporter": "FakeMetricsReporter",
            "b.ssl.key.password": f"${{file:{secret}:pw}}",
            "a.xxx": "yyy",
            "xxx": "yyy",
        }
    )
    own = cluster_properties(given, AB, "a")
    assert own["admin.security.protocol"].text == "PLAINTEXT"
    assert own["producer.security.protocol"].text == "SSL"
    assert own["producer.ssl.truststore.password"].text == "secret1"
    b = texts(cluster_client(given, AB, "b"))
    assert resolve_all(b)["ssl.key.password"] == "top-secret"
    a = to_librdkafka(texts(cluster_client(given, AB, "a")))
    assert a == {"bootstrap.servers": "one:9092,two:9092", "security.protocol": "plaintext"}


def test_cfg_03_the_separator_is_honoured(tmp_path):
    config = loaded(tmp_path, TWO + "replication.policy.separator = __\n").config
    assert policy_for(config.flows[0], config.clusters).remote_topic("B", "topic1") == "B__topic1"


def test_cfg_03_another_admin_class_is_refused_because_java_cannot_be_loaded(tmp_path):
    (message,) = about(found(tmp_path, TWO + "forwarding.admin.class = com.example.Mine\n"),
                       "forwarding.admin.class")  # fmt: skip
    assert message == (
        "error: is not supported: plug-ins written in Java cannot run here → remove it"
    )


def test_cfg_04_known_top_level_settings_reach_a_connector_and_unknown_ones_do_not():
    known = {
        "tasks.max": "100",
        "topics": "topic-1",
        "groups": "group-2",
        "replication.policy.separator": "__",
        "config.properties.exclude": "property-3",
        "metric.reporters": "FakeMetricsReporter",
        "topic.filter.class": "DefaultTopicFilter",
    }
    found = connector({**known, "xxx": "yyy"})
    assert known.items() <= found.items()
    assert "xxx" not in found


def test_cfg_05_a_flows_topic_lists_reach_its_filter(tmp_path):
    text = TWO + "A->B.topics = topic1, topic2\nA->B.topics.exclude = topic3\n"
    selection = loaded(tmp_path, text).config.flow("A->B").selection
    assert selection.topics == ("topic1", "topic2")
    assert selection.topics_exclude == ("topic3",)


def test_cfg_06_a_worker_sees_the_targets_settings_below_the_top_levels_storage():
    given = values(
        {
            "config.providers": "fake",
            "replication.policy.separator": "__",
            "offset.storage.replication.factor": "123",
            "b.status.storage.replication.factor": "456",
            "b.producer.client.id": "client-one",
            "b.security.protocol": "PLAINTEXT",
            "b.producer.security.protocol": "SASL",
            "ssl.truststore.password": "secret1",
            "ssl.key.password": "${fake:secret:password}",
            "b.xxx": "yyy",
        }
    )
    ba = texts(worker_properties(given, AB, "b", "a"))
    assert (ba["client.id"], ba["offset.storage.replication.factor"]) == ("b->a", "123")
    ab = texts(worker_properties(given, AB, "a", "b"))
    assert ab["client.id"] == "a->b"
    assert ab["status.storage.replication.factor"] == "456"
    assert ab["producer.client.id"] == "client-one"
    assert ab["replication.policy.separator"] == "__"
    assert ab["config.providers"] == "fake"
    assert ab["consumer.security.protocol"] == "PLAINTEXT"
    assert ab["producer.security.protocol"] == "SASL"
    assert ab["ssl.truststore.password"] == ab["producer.ssl.truststore.password"] == "secret1"
    assert ab["producer.ssl.key.password"] == "${fake:secret:password}"


def test_cfg_06_our_own_state_topics_take_the_workers_replication_factor(tmp_path):
    flow = loaded(tmp_path, TWO + "B.offset.storage.replication.factor = 2\n").config.flows[0]
    assert flow.state_replication_factor == 2
    both = TWO + "B.offset.storage.replication.factor=2\noffset.storage.replication.factor=1\n"
    assert loaded(tmp_path, both).config.flows[0].state_replication_factor == 1


def test_cfg_07_every_pair_of_three_clusters_would_have_heartbeats():
    assert set(mm2_pairs({}, ABC)) == {(x, y) for x in ABC for y in ABC if x != y}
    assert copying_pairs({}, ABC) == ()


def test_cfg_08_without_heartbeats_and_flows_there_is_no_pair(tmp_path):
    assert mm2_pairs(props(emit__heartbeats__enabled="false"), ABC) == ()
    text = TWO.replace("A->B.enabled = true", "emit.heartbeats.enabled = false")
    with pytest.raises(ConfigError, match=r"no flow is enabled.*write A->B.enabled = true"):
        loaded(tmp_path, text)


def test_cfg_09_heartbeats_can_be_switched_off_for_two_pairs():
    given = props(a_to_b__emit__heartbeats__enabled="false",
                  a_to_c__emit__heartbeats__enabled="false")  # fmt: skip
    assert set(mm2_pairs(given, ABC)) == {("b", "a"), ("b", "c"), ("c", "a"), ("c", "b")}


def test_cfg_10_without_heartbeats_exactly_the_enabled_flows_remain():
    given = props(
        emit__heartbeats__enabled="false",
        a_to_b__enabled="true",
        a_to_c__enabled="true",
        d_to_e__enabled="true",
        b_to_a__enabled="false",
        c_to_a__enabled="false",
    )
    expected = {("a", "b"), ("a", "c"), ("d", "e")}
    assert set(mm2_pairs(given, tuple("abcdef"))) == expected
    assert set(copying_pairs(given, tuple("abcdef"))) == expected


def test_cfg_11_one_pair_can_have_heartbeats_without_copying():
    given = props(
        emit__heartbeats__enabled="false",
        central_to_local1__enabled="true",
        central_to_local2__enabled="true",
        local1_to_central__emit__heartbeats__enabled="true",
    )
    aliases = ("central", "local1", "local2")
    flows = {("central", "local1"), ("central", "local2")}
    assert set(mm2_pairs(given, aliases)) == {*flows, ("local1", "central")}
    assert set(copying_pairs(given, aliases)) == flows


def test_cfg_12_an_unknown_security_protocol_is_an_error_that_names_the_key(tmp_path):
    path = written(tmp_path, TWO + "security.protocol = abc\n")
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert str(error.value) == (
        f"{path} has 1 problem:\n  {path}:5: security.protocol: 'abc' is not one of PLAINTEXT, "
        "SSL, SASL_PLAINTEXT, SASL_SSL → write one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"
    )


def test_cfg_13_a_client_with_an_unknown_security_protocol_is_refused():
    with pytest.raises(ConfigError, match=r"security\.protocol must be one of"):
        to_librdkafka({"bootstrap.servers": "a:1", "security.protocol": "abc"})


def test_cfg_14_a_security_protocol_may_be_in_lower_case():
    jaas = 'x.PlainLoginModule required username="u" password="p";'
    client = {
        "bootstrap.servers": "a:1",
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": jaas,
    }
    assert to_librdkafka(client)["security.protocol"] == "sasl_ssl"


def test_cfg_15_the_connector_settings_are_all_known():
    assert {"topics", "groups", "emit.heartbeats.enabled"} <= CONNECTOR.keys()
    assert "task.assigned.partitions" in TASK


def test_cfg_16_placeholders_stay_unresolved_until_a_client_is_built(tmp_path):
    secret = tmp_path / "s.properties"
    secret.write_text("field=value-of-field")
    text = TWO + (
        "config.providers = file\n"
        "config.providers.file.class = FileConfigProvider\n"
        f"ssl.key.password = ${{file:{secret}:field}}\n"
        f"A->B.source.admin.ssl.keystore.password = ${{file:{secret}:field}}\n"
    ).replace("= File", "= org.apache.kafka.common.config.provider.File")
    admin = loaded(tmp_path, text).config.flow("A->B").clients.source_admin
    placeholder = f"${{file:{secret}:field}}"
    assert admin["ssl.key.password"] == admin["ssl.keystore.password"] == placeholder
    assert resolve_all(admin)["ssl.keystore.password"] == "value-of-field"


def test_the_worked_example_of_all_levels_resolves_as_in_mirror_maker():
    given = {
        "security.protocol": "SSL",
        "A.bootstrap.servers": "a:9092",
        "B.bootstrap.servers": "b:9092",
        "A.security.protocol": "PLAINTEXT",
        "A.consumer.fetch.min.bytes": "1",
        "A->B.consumer.fetch.min.bytes": "2",
        "A->B.consumer.max.poll.records": "77",
        "A.consumer.auto.offset.reset": "latest",
        "A->B.enabled": "true",
        "tasks.max": "5",
        "use.defaults.from": "source",
        "producer.linger.ms": "9",
        "B.producer.compression.type": "zstd",
        "A->B.producer.override.batch.size": "100000",
        "B.offset.storage.replication.factor": "1",
        "offset.storage.replication.factor": "2",
        "exactly.once.source.support": "enabled",
        "B.offset.flush.interval.ms": "10000",
    }
    aliases, flow = ("A", "B"), ("A", "B")
    connector = connector_properties(values(given), aliases, flow)
    assert texts(client_properties(connector, "source", "consumer")) == {
        "bootstrap.servers": "a:9092",
        "security.protocol": "PLAINTEXT",
        "fetch.min.bytes": "1",
        "max.poll.records": "77",
        "auto.offset.reset": "latest",
        "enable.auto.commit": "false",
    }
    more = values({**given, "A->B.source.consumer.fetch.min.bytes": "3"})
    stronger = client_properties(connector_properties(more, aliases, flow), "source", "consumer")
    assert stronger["fetch.min.bytes"].text == "3"
    assert texts(client_properties(connector, "target", "admin")) == {
        "bootstrap.servers": "b:9092",
        "security.protocol": "SSL",
    }
    producer = flow_clients(values(given), aliases, flow)["target_producer"]
    assert texts(producer) == {
        "bootstrap.servers": "b:9092",
        "security.protocol": "SSL",
        "compression.type": "zstd",
        "batch.size": "100000",
        "linger.ms": "9",  # not MirrorMaker 2's: the looser dialect lets it apply to all clusters
    }
    worker = texts(worker_properties(values(given), aliases, "A", "B"))
    assert worker["offset.storage.replication.factor"] == "2"
    assert worker["offset.flush.interval.ms"] == "10000"
    assert "exactly.once.source.support" not in worker
    assert worker["tasks.max"] == "5"
    assert (worker["client.id"], worker["group.id"]) == ("A->B", "A-mm2")
    assert connector["tasks.max"].text == "5"
    assert connector["use.defaults.from"].text == "source"
