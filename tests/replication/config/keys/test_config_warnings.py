"""What a file asks for and does not get is a warning; a flow from a cluster to itself an error."""

from __future__ import annotations

import pytest
from support.settings.config_files import TWO, about, found, loaded

from replication.config.file.findings import Severity, errors

ONE = "clusters = A\nA.bootstrap.servers = a:9092\n"


@pytest.mark.parametrize(
    ("key", "unkept", "kept"),
    [
        ("B.producer.acks", "1", "all"),
        ("B.producer.acks", "0", "-1"),
        ("producer.acks", "1", "all"),
        ("A->B.producer.override.acks", "1", "all"),
        ("B.producer.enable.idempotence", "false", "true"),
        ("B.producer.compression.type", "zstd", None),
        ("A.consumer.interceptor.classes", "a.Mask", None),
        ("refresh.topics.enabled", "false", "true"),
        ("A->B.refresh.topics.enabled", "false", "true"),
        ("refresh.groups.enabled", "false", "true"),
        ("errors.tolerance", "all", "none"),
        ("errors.log.include.messages", "true", "false"),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter",
         "org.apache.kafka.connect.converters.ByteArrayConverter"),
        ("B.value.converter", "org.apache.kafka.connect.json.JsonConverter",
         "org.apache.kafka.connect.converters.ByteArrayConverter"),
        ("A->B.topic.creation.groups", "compacted", None),
        ("A.ssl.provider", "BCFIPS", None),
        ("A.sasl.oauthbearer.expected.issuer", "https://idp", None),
    ],
)  # fmt: skip
def test_a_promise_that_is_not_kept_is_a_warning_and_a_kept_one_a_note(tmp_path, key, unkept, kept):
    (message,) = about(found(tmp_path, TWO + f"{key} = {unkept}\n"), key)
    assert message.startswith("warning: has no effect: ")
    if kept is not None:
        (message,) = about(found(tmp_path, TWO + f"{key} = {kept}\n"), key)
        assert message.startswith("info: has no effect: ")


def test_a_flows_client_setting_that_a_clusters_overrides_is_a_warning(tmp_path):
    own = "A->B.consumer.max.poll.interval.ms"
    key = "A->B.consumer.request.timeout.ms"
    text = TWO + f"{key} = 1000\n{own} = 5\n"
    (message,) = about(found(tmp_path, text), key)
    assert message.startswith("info: A.consumer.request.timeout.ms overrides it where both are set")
    (message,) = about(found(tmp_path, text + "A.consumer.request.timeout.ms = 2000\n"), key)
    assert message.startswith("warning: is overridden by A.consumer.request.timeout.ms")


@pytest.mark.parametrize("winner", ["A.ssl.key.password", "ssl.key.password"])
def test_a_flows_connection_setting_that_is_inherited_from_elsewhere_is_a_warning(tmp_path, winner):
    key = "A->B.consumer.ssl.key.password"
    (message,) = about(found(tmp_path, TWO + f"{key} = x\n{winner} = y\n"), key)
    assert message.startswith(f"warning: is overridden by {winner}, as in MirrorMaker 2")


def test_heartbeats_that_a_file_asks_for_and_no_flow_sends_are_a_warning(tmp_path):
    three = TWO.replace("A, B", "A, B, C") + "C.bootstrap.servers = c:9092\n"
    key = "C->A.emit.heartbeats.enabled"
    (message,) = about(found(tmp_path, three + f"{key} = true\n"), key)
    assert message.startswith("warning: C->A is not enabled")
    assert about(found(tmp_path, three), "C->A")[0].startswith("info: is not enabled")


def test_heartbeats_that_the_flow_in_the_other_direction_sends_are_no_warning(tmp_path):
    result = loaded(tmp_path, TWO + "B->A.emit.heartbeats.enabled = true\n")
    assert result.config.flows[0].mm2.heartbeats.back
    assert result.config.warnings == ()


def test_a_workers_setting_at_the_top_level_is_a_warning(tmp_path):
    (message,) = about(found(tmp_path, TWO + "group.id = mine\n"), "group.id")
    assert message.startswith("info: ")


@pytest.mark.parametrize("start", [ONE, TWO, TWO.replace("A, B", "B, A"),
                                   TWO.replace("A, B", "A, A, B")])  # fmt: skip
@pytest.mark.parametrize(
    "lines",
    [
        "A->A.enabled = true\n",
        "A->A.topics = orders.*\n",
        "A->A.topics = x\nA->A.enabled = true\nA->A.no.such.key = 1\n",
        "A->A.topics.blacklist = x\n",
        "A->A.source.consumer.acks = 1\nA->A.enabled = false\n",
    ],
)
def test_a_flow_from_a_cluster_to_itself_is_one_error_that_names_it(tmp_path, start, lines):
    wrong = errors(found(tmp_path, start + lines))
    assert [(each.line, each.message) for each in wrong] == [
        (start.count("\n") + 1, "A->A is a flow from cluster A to itself")
    ]


def test_a_flow_from_an_unknown_cluster_to_itself_is_the_same_error(tmp_path):
    wrong = errors(found(tmp_path, TWO + "C->C.enabled = true\nC->C.topics = x\n"))
    assert [each.message for each in wrong] == ["C->C is a flow from cluster C to itself"]


def test_a_flow_to_itself_that_is_switched_off_is_no_error(tmp_path):
    assert loaded(tmp_path, TWO + "A->A.enabled = false\n").config.flows[0].name == "A->B"


def test_advice_for_a_file_of_one_cluster_names_no_flow_to_a_cluster_that_is_not_there(tmp_path):
    (wrong,) = errors(found(tmp_path, ONE))
    assert wrong.suggestion == "name a second cluster: clusters = A, B"
    assert wrong.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("A.ssl.enabled.protocols", "TLSv1.2, TLSv1.4", "error: 'TLSv1.4' is not one of"),
        ("ssl.protocol", "TLSv1.1", "error: TLSv1.1 cannot be had, only TLSv1.2 and TLSv1.3"),
        ("A.ssl.cipher.suites", "TLS_NONE", "error: 'TLS_NONE' is not a cipher suite that OpenSSL"),
        ("A.ssl.enabled.protocols", "TLSv1.2", "warning: holds where records are copied; librd"),
        ("A.ssl.cipher.suites", "TLS_AES_128_GCM_SHA256", "warning: holds where records are copi"),
    ],
)
def test_a_tls_setting_that_cannot_be_had_is_reported_with_its_line(tmp_path, key, text, message):
    lines = f"A.security.protocol = SSL\n{key} = {text}\n"
    (reported,) = about(found(tmp_path, TWO + lines), key)
    assert reported.startswith(message)


@pytest.mark.parametrize(
    ("key", "text"), [("ssl.enabled.protocols", "TLSv1.3"), ("ssl.protocol", "TLS")]
)
def test_a_tls_setting_that_all_clients_obey_is_silent(tmp_path, key, text):
    lines = f"A.security.protocol = SSL\nA.{key} = {text}\n"
    assert about(found(tmp_path, TWO + lines), f"A.{key}") == []


def test_tls_settings_that_leave_nothing_together_are_an_error(tmp_path):
    lines = (
        "A.security.protocol = SSL\nA.ssl.enabled.protocols = TLSv1.3\nA.ssl.protocol = TLSv1.2\n"
    )
    (reported,) = about(found(tmp_path, TWO + lines), "A.ssl.enabled.protocols")
    assert reported.startswith(
        "error: ssl.enabled.protocols, ssl.protocol and ssl.cipher.suites leave"
    )
