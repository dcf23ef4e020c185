"""Targets that are upgraded to transaction.version 2 (KIP-890) while they are copied to."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest
from support.flows.copier_flows import Flow, feeding, kill, start_unit
from support.records import kafka_records

from replication.adapters.local.broker_config import jvm_options
from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import DEFAULT_VERSION, class_path
from replication.model import Mode, PartitionPlan

pytestmark = pytest.mark.integration


class Both(Flow):
    """A flow with an appended topic and one that is copied in transactions, in one unit."""

    def spec(self, generation: int = 1, epoch: int = 0, **more: object):
        in_transactions = max(self.topics)
        plans = tuple(
            replace(PartitionPlan(e, e), mode=Mode.TRANSACTIONAL)
            if e.topic == in_transactions
            else PartitionPlan(e, e)
            for e in self.partitions
        )
        return super().spec(generation, epoch, **{"partitions": plans, **more})


def tool(program: str, flow: Flow, *arguments: str) -> str:
    command = [
        str(java()),
        *jvm_options("256m", quick=True),
        *("-cp", class_path(DEFAULT_VERSION, ["kafka-tools"]), f"org.apache.kafka.tools.{program}"),
    ]
    where = ["--bootstrap-server", flow.to]
    done = subprocess.run(
        [*command, *where, *arguments], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def use_version(flow: Flow, number: int, doing: str) -> None:
    """Let the target use this transaction.version; ``doing``: upgrade or downgrade."""
    tool("FeatureCommand", flow, doing, "--feature", f"transaction.version={number}")


@pytest.fixture
def flow(source_cluster, kafka_cluster, topic_name) -> Both:
    target = kafka_cluster("upgraded")
    topics = {topic_name("appended"): 1, topic_name("in-transactions"): 1}
    for name in topics:
        for cluster in (source_cluster, target):
            kafka_records.create_topic(cluster.bootstrap_servers, name)
    return Both(source_cluster, target, topics)


def test_an_upgrade_in_mid_copy_and_a_crash_after_it_cost_nothing(flow, tmp_path):
    """BL-225."""
    use_version(flow, 1, "downgrade")
    with feeding(flow):
        process = start_unit(flow.spec(1), tmp_path)
        try:
            flow.wait_moved(200)
            use_version(flow, 2, "upgrade")
            flow.wait_moved(500)
        finally:
            kill(process)
    report = flow.copy_all(generation=2, epoch=1)
    assert (report.outcome, report.takeovers) == ("clean", 2)
    for topic in flow.topics:
        expected = kafka_records.consume_all(flow.here, topic)
        found = kafka_records.consume_all(flow.to, topic, "read_committed")
        assert [e.content for e in found] == [e.content for e in expected]
    hanging = tool("TransactionsCommand", flow, "find-hanging", "--broker-id", "1")
    assert len(hanging.strip().splitlines()) <= 1  # the header
