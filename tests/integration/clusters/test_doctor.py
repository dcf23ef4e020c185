"""The command ``doctor`` against brokers with and without an authorizer."""

from __future__ import annotations

import json

import pytest
from support.flows.command import run_command
from support.records import kafka_records

from replication.client.acl_values import (
    CLUSTER,
    GROUP,
    PREFIXED,
    TOPIC,
    TRANSACTIONAL_ID,
    Resource,
)

pytestmark = pytest.mark.integration

DAY_MS = 86_400_000
EVERYTHING = [
    (Resource(TOPIC, "*"), "ALL"),
    (Resource(GROUP, "*"), "ALL"),
    (Resource(TRANSACTIONAL_ID, "*"), "ALL"),
    (Resource(CLUSTER, "kafka-cluster"), "ALL"),
]


def written(folder, source, target, topic, *more):
    file = folder / "flows.properties"
    clusters = {"A": source, "B": target}
    lines = [
        f"{name}.{key} = {value}" for name, all_ in clusters.items() for key, value in all_.items()
    ]
    flow = ("A->B.enabled = true", f"A->B.topics = {topic}", "replication.factor = 1", *more)
    file.write_text("\n".join(["clusters = A, B", *lines, *flow]) + "\n")
    return file


def diagnosed(file, monkeypatch, tmp_path):
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    done = run_command("doctor", file, "-o", "json")
    return done.code, json.loads(done.out)["findings"]


def about(findings, check, where="flow A->B"):
    return [
        (each["level"], each["what"])
        for each in findings
        if each["check"] == check and each["where"] == where
    ]


def test_clusters_that_are_well_have_no_error_and_topics_are_compared(
    source_cluster, target_cluster, topic_name, monkeypatch, tmp_path
):
    topic = topic_name()
    here, there = (each.bootstrap_servers for each in (source_cluster, target_cluster))
    kafka_records.create_topic(here, topic, 2, {"max.message.bytes": "2000000"})
    kafka_records.create_topic(
        there,
        f"A.{topic}",
        2,
        {
            "max.message.bytes": "1000000",
            "message.timestamp.before.max.ms": str(DAY_MS),
            "retention.ms": str(DAY_MS),
        },
    )
    kafka_records.produce(here, topic, [(0, b"k", b"v", None, 1_600_000_000_000)])
    ends = ({"bootstrap.servers": each} for each in (here, there))
    code, findings = diagnosed(written(tmp_path, *ends, topic), monkeypatch, tmp_path)
    ((level, what),) = about(findings, "message size")
    assert (level, what.rpartition(": ")[2]) == ("warning", f"{topic} (2,000,000 > 1,000,000)")
    ((level, what),) = about(findings, "timestamps")
    assert level == "error"
    assert "whose timestamps are too old" in what
    assert code == 1
    assert [level for level, _ in about(findings, "retention")] == ["warning"]
    for where in ("cluster A", "cluster B"):
        assert [level for level, _ in about(findings, "clock", where)] == ["ok"]
        assert [level for level, _ in about(findings, "version", where)] == ["ok"]
        assert [level for level, _ in about(findings, "rights", where)] == ["ok"]
    creation = about(findings, "topic creation", "cluster B")  # none where all topics are there
    assert {level for level, _ in creation} <= {"ok"}


def test_rights_that_are_missing_are_named_for_their_duty(
    guarded_clusters, target_cluster, topic_name, monkeypatch, tmp_path
):
    guarded, topic = guarded_clusters[0], topic_name()
    kafka_records.create_topic(guarded.everyone, topic, 1)
    described = [
        (Resource(TOPIC, topic), "DESCRIBE"),
        (Resource(GROUP, "isthmus-", PREFIXED), "READ"),
    ]
    guarded.allow_only(described)
    there = {"bootstrap.servers": target_cluster.bootstrap_servers}
    file = written(tmp_path, guarded.login(), there, topic)
    code, findings = diagnosed(file, monkeypatch, tmp_path)
    lacking = about(findings, "rights", "cluster A")
    why = "topics to copy, and their configs"
    assert ("error", f"our user lacks DESCRIBE_CONFIGS, READ on topic {topic}: {why}") in lacking
    assert code == 1
    ((level, why),) = about(findings, "quotas", "cluster A")
    assert (level, why) == (
        "note",
        "not known: reading quotas needs DESCRIBE_CONFIGS on the cluster",
    )
    guarded.allow_only(EVERYTHING)
    code, findings = diagnosed(file, monkeypatch, tmp_path)
    assert [level for level, _ in about(findings, "rights", "cluster A")] == ["ok"]
    assert code == 0


def test_a_wrong_password_fails_at_the_login(
    guarded_clusters, target_cluster, topic_name, monkeypatch, tmp_path
):
    there = {"bootstrap.servers": target_cluster.bootstrap_servers}
    login = guarded_clusters[0].login(password="wrong")  # noqa: S106 - it is
    file = written(tmp_path, login, there, topic_name())
    code, findings = diagnosed(file, monkeypatch, tmp_path)
    ((level, what),) = about(findings, "login", "cluster A")
    assert (code, level) == (1, "error")
    assert "Authentication failed" in what
