"""`isthmus plan` and `apply` on real clusters."""

from __future__ import annotations

import json
import warnings

import dagster as dg
import pytest
from support.flows.command import run_command
from support.flows.spark_driver import wait_for
from support.flows.waiting import await_equal
from support.records import kafka_records

from orchestration.services.asset_names import slug
from replication.adapters.admin.kafka_admin import KafkaAdmin

pytestmark = pytest.mark.integration


class Desk:
    """A file with a flow of its own, and the command line."""

    def __init__(self, source, target, folder, topics: str) -> None:
        self.source = KafkaAdmin({"bootstrap.servers": source.bootstrap_servers})
        self.target = KafkaAdmin({"bootstrap.servers": target.bootstrap_servers})
        self.alias = topics
        self.file = folder / "flows.properties"
        self.write(source.bootstrap_servers, target.bootstrap_servers)

    def write(self, source: str, target: str) -> None:
        self.file.write_text(
            f"clusters = {self.alias}, west\n{self.alias}.bootstrap.servers = {source}\n"
            f"west.bootstrap.servers = {target}\n{self.alias}->west.enabled = true\n"
            f"{self.alias}->west.topics = {self.alias}-.*, missing\nreplication.factor = 1\n"
            "heartbeats.replication.enabled = false\n"  # other tests' heartbeats
        )

    def call(self, verb: str, code: int, *options: str) -> str:
        done = run_command(verb, self.file, *options)
        assert done.code == code, done.out + done.err
        return done.out

    def await_configs(self, copy: str, expected: dict[str, str]) -> None:
        await_equal(lambda: self.target.topic_configs([copy]), {copy: expected})


@pytest.fixture
def desk(source_cluster, target_cluster, tmp_path, topic_name):
    return Desk(source_cluster, target_cluster, tmp_path, topic_name("s"))


def test_bl_088_a_plan_is_shown_carried_out_and_empty_then(desk, source_cluster):
    orders = f"{desk.alias}-orders"
    copy = f"{desk.alias}.{orders}"
    kafka_records.create_topic(
        source_cluster.bootstrap_servers, orders, 3, {"retention.ms": "1000", "segment.ms": "5000"}
    )
    shown = desk.call("plan", 2)
    assert f"create {copy}: 3 partitions, replication factor 1, retention.ms=1000" in shown
    assert "no topic of the source matches missing yet" in shown
    assert f"ACLs of {desk.alias}->west: no ACLs to copy: {desk.alias} lists none" in shown
    assert f"1 change; make them with: isthmus apply {desk.file}" in shown
    assert f"create {copy}" in desk.call("apply", 0)
    desk.await_configs(copy, {"retention.ms": "1000", "segment.ms": "5000"})
    assert "nothing to change" in desk.call("plan", 0)
    assert "nothing to change" in desk.call("apply", 0)

    desk.source.alter_configs(orders, {"retention.ms": "2000", "segment.ms": None})
    desk.source.grow_topic(orders, 4)
    desk.target.alter_configs(copy, {"retention.ms": "7", "min.insync.replicas": "1"})
    await_equal(lambda: desk.source.topics()[orders].partitions, 4)
    await_equal(lambda: desk.source.topic_configs([orders]), {orders: {"retention.ms": "2000"}})
    changed = {"retention.ms": "7", "segment.ms": "5000", "min.insync.replicas": "1"}
    desk.await_configs(copy, changed)
    (cluster,) = json.loads(desk.call("plan", 2, "-o", "json"))["clusters"]
    assert [each["text"] for each in cluster["actions"] if each["changes"]] == [
        f"increase {copy} to 4 partitions ({desk.alias} has 4, west 3)",
        (
            f"alter {copy}: retention.ms: 7 -> 2000, changed on west since the last apply; "
            f"segment.ms: unset (was 5000), not set on {desk.alias}"
        ),
    ]
    reported = json.loads(desk.call("apply", 0, "-o", "json"))
    assert [each["outcome"] for each in reported["outcomes"] if each["changes"]] == ["done", "done"]
    await_equal(lambda: desk.target.topics()[copy].partitions, 4)
    desk.await_configs(copy, {"retention.ms": "2000", "min.insync.replicas": "1"})
    assert "nothing to change" in desk.call("plan", 0)


def test_bl_089_what_the_target_refuses_is_named_and_the_rest_is_done(desk, source_cluster):
    overrides = ("retention.ms = soon", "segment.ms = 5000")
    lines = [f"topic.config..*orders/{each}\n" for each in overrides]
    desk.file.write_text(desk.file.read_text() + "".join(lines))
    orders = kafka_records.create_topic(source_cluster.bootstrap_servers, f"{desk.alias}-orders")
    copy = f"{desk.alias}.{orders}"
    assert "Invalid value soon" in desk.call("apply", 1)
    desk.await_configs(copy, {"segment.ms": "5000"})
    assert "retention.ms = soon was rejected" in desk.call("plan", 0)
    assert "retention.ms: not set -> soon" in desk.call("plan", 2, "--again")


def test_sc_13_all_defaults_of_the_source_are_set_when_the_file_says_so(desk, source_cluster):
    orders = kafka_records.create_topic(source_cluster.bootstrap_servers, f"{desk.alias}-orders")
    copy = f"{desk.alias}.{orders}"
    desk.file.write_text(f"{desk.file.read_text()}{desk.alias}->west.use.defaults.from = source\n")
    desk.call("apply", 0)
    wait_for(lambda: desk.target.topic_configs([copy]).get(copy), 60)
    assert desk.target.topic_configs([copy])[copy]["max.message.bytes"] == "1048588"
    assert "nothing to change" in desk.call("plan", 0)


def test_dagsters_job_does_what_apply_does(desk, source_cluster, monkeypatch, tmp_path):
    from orchestration import definitions  # noqa: PLC0415 - loads the whole of Dagster's part

    orders = kafka_records.create_topic(source_cluster.bootstrap_servers, f"{desk.alias}-orders")
    copy = f"{desk.alias}.{orders}"
    desk.call("apply", 0)
    wait_for(lambda: copy in desk.target.topic_configs([copy]), 60)
    desk.source.alter_configs(orders, {"retention.ms": "5000"})
    await_equal(lambda: desk.source.topic_configs([orders]), {orders: {"retention.ms": "5000"}})
    monkeypatch.setenv("ISTHMUS_CONFIG", str(desk.file))
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path))
    with warnings.catch_warnings():  # Dagster warns of its own parameters
        warnings.simplefilter("ignore", dg.BetaWarning)
        found = definitions.defs()
        job = found.resolve_job_def(f"topic_configs_{slug(f'{desk.alias}->west')}")
        result = job.execute_in_process()
    assert result.success
    desk.await_configs(copy, {"retention.ms": "5000"})
    assert "nothing to change" in desk.call("plan", 0)


def test_a_source_that_is_down_ends_a_plan_with_one_message(desk, target_cluster):
    desk.write("127.0.0.1:1", target_cluster.bootstrap_servers)
    done = run_command("plan", desk.file)
    assert done.code == 1
    refused = "connecting to 127.0.0.1:1: Connection refused"
    assert done.err == f"error: {desk.alias}->west: {refused}\n"
    assert done.out.endswith(f"the plan for west is incomplete: {desk.alias}->west: {refused}\n")
