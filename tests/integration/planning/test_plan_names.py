"""`isthmus check --clusters`, `plan` and `resolve` about a topic whose target name changed."""

from __future__ import annotations

import json

import pytest
from support.flows.copier_flows import Flow
from support.records import kafka_records
from typer.testing import CliRunner

from orchestration.cli.main import app
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.model import NameChange, PartitionPlan, TopicPartition
from replication.state import NameDecision, status_topic

pytestmark = pytest.mark.integration


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name) -> Flow:
    """Return a flow that has copied its topic under the topic's own name."""
    topic = topic_name("renames")
    for cluster in (source_cluster, target_cluster):
        kafka_records.create_topic(cluster.bootstrap_servers, topic)
    kafka_records.produce(source_cluster.bootstrap_servers, topic, kafka_records.some_records(20))
    found = Flow(source_cluster, target_cluster, {topic: 1})
    found.copy_all()
    return found


def written(flow: Flow, folder, alias: str | None = None):
    """Write a file that names the topic with its source's alias before it."""
    (topic,), source = flow.topics, alias or flow.alias
    file = folder / "flows.properties"
    file.write_text(
        f"clusters = {source}, B\n{source}.bootstrap.servers = {flow.here}\n"
        f"B.bootstrap.servers = {flow.to}\n{source}->B.enabled = true\n"
        f"{source}->B.topics = {topic}\nreplication.factor = 1\n"
        "heartbeats.replication.enabled = false\n"
    )
    return file


def isthmus(*arguments: object) -> str:
    return CliRunner(env={"COLUMNS": "400"}).invoke(app, [str(each) for each in arguments]).stdout


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_the_names_are_told_before_a_start_and_a_decision_is_followed_by_every_tool(flow, tmp_path):
    (topic,), file = flow.topics, written(flow, tmp_path)
    new = f"{flow.alias}.{topic}"
    both = f"{topic} was copied as {topic}, and the file now names it {new}"
    assert f"{flow.name}: {both}" in one_line(isthmus("check", "--clusters", file))
    assert f"refuse {new}: {both}" in one_line(isthmus("plan", file))
    listed = one_line(isthmus("resolve", file))
    assert "NAME_CHANGED" in listed
    assert "continue or reseed or keep" in listed

    isthmus("resolve", file, "keep", "--topic", topic)
    records = flow.store.read(status_topic(flow.alias)).values()
    (decision,) = [each for each in records if isinstance(each, NameDecision)]
    assert (decision.old, decision.new, decision.choice) == (topic, new, "keep")
    assert f"leave {topic} unchanged" in one_line(isthmus("plan", file))
    assert "no partition is halted" in isthmus("resolve", file)
    (row,) = json.loads(isthmus("plan", file, "-o", "json"))["flows"][0]["topics"]
    assert row["target_topic"] == topic
    assert new not in KafkaAdmin({"bootstrap.servers": flow.to}).topics()
    compared = json.loads(isthmus("compare", file, "-o", "json"))
    assert compared["equal"] is True


def test_a_copy_that_goes_on_under_a_new_name_is_compared_and_translated_from_there(flow, tmp_path):
    (topic,), file = flow.topics, written(flow, tmp_path)
    (there,) = flow.partitions
    new = f"{flow.alias}.{topic}"
    kafka_records.create_topic(flow.to, new)
    kafka_records.produce(flow.here, topic, kafka_records.some_records(5, seed=2))
    change = NameChange(topic, new, "continue")
    moved = PartitionPlan(there, TopicPartition(new, 0), name_change=change)
    flow.copy_all(2, partitions=(moved,))
    compared = json.loads(isthmus("compare", file, "-o", "json"))
    assert (compared["equal"], compared["records"]) == (True, 5)
    reported = isthmus(
        "offsets", "translate", file, "--flow", flow.name, "--topic", topic, "--offset", 3
    )
    assert f"{topic} has the records so far, {new} the later ones" in one_line(reported)


def test_a_source_under_another_alias_is_told_before_a_start(flow, tmp_path):
    (topic,) = flow.topics
    file = written(flow, tmp_path, alias="renamed")
    expected = f"renamed->B has no position, although {flow.name}, which is not in this file"
    assert expected in one_line(isthmus("plan", file))
    assert expected in one_line(isthmus("check", "--clusters", file))
    assert f"({topic} as renamed.{topic})" in one_line(isthmus("plan", file))
