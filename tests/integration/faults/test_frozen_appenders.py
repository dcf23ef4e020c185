"""Units that were frozen until the target had forgotten their transactional or producer ids."""

from __future__ import annotations

import os
import signal
import time

import pytest
from support.flows.copier_flows import Flow, feeding, kill, report_of, start_unit
from support.records import kafka_records

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.copier.produce.append_lease import LEASE_S
from replication.copier.takeover import takeover

pytestmark = pytest.mark.integration

EXPIRY_S = 3.0
EXPIRES = {
    "transactional.id.expiration.ms": str(int(EXPIRY_S * 1000)),
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
    "producer.id.expiration.ms": "2000",
    "producer.id.expiration.check.interval.ms": "500",
}
FROZEN_S = LEASE_S + 1


@pytest.fixture(scope="module")
def forgetful(kafka_cluster):
    return kafka_cluster("forgetful", properties=EXPIRES)


@pytest.fixture
def flow(source_cluster, forgetful, topic_name) -> Flow:
    topic = topic_name("frozen")
    for cluster in (source_cluster, forgetful):
        kafka_records.create_topic(cluster.bootstrap_servers, topic, 2)
    return Flow(source_cluster, forgetful, {topic: 2})


@pytest.mark.parametrize("generation", [2, 1], ids=["another driver", "the same driver"])
def test_a_unit_that_wakes_after_its_ids_expired_sends_nothing(
    flow, tmp_path, monkeypatch, generation
):
    """BL-218."""
    monkeypatch.setattr(takeover, "_REQUEST_TIMEOUT_S", 4.0)
    monkeypatch.setattr(takeover, "_KEEP_ALIVE_S", 1.0)
    with feeding(flow):
        sleeper = start_unit(flow.spec(1), tmp_path)
        try:
            flow.wait_moved(300)
            os.kill(sleeper.pid, signal.SIGSTOP)
            time.sleep(FROZEN_S)
            with flow.copying(flow.spec(generation, epoch=1)) as reports:
                flow.wait_moved(300)
                os.kill(sleeper.pid, signal.SIGCONT)
                reported = report_of(sleeper)
                flow.wait_moved(300)
        finally:
            kill(sleeper)
    others = {1: "another process has started this unit", 2: "another driver (generation 2) took"}
    assert others[generation] in reported.outcome
    assert reports[0].outcome == "clean"
    flow.copy_all(generation=3, epoch=3)
    flow.assert_equal()


def test_a_unit_whose_ids_expire_while_it_copies_goes_on_without_markers(flow):
    """BL-218."""
    with flow.copying(flow.spec()) as reports, feeding(flow, 50):
        flow.wait_moved(50)
        first = flow.anchors()[flow.partitions[0]].appenders
        flow.wait_for(
            lambda found: found[flow.partitions[0]].appenders != first, "it has another id"
        )
        flow.wait_moved(50)
    assert reports[0].outcome == "clean"
    assert flow.copy_all(generation=2, epoch=1).takeovers == 0
    flow.assert_equal()
    there = KafkaAdmin({"bootstrap.servers": flow.to})
    assert there.end_offsets(flow.partitions) == flow.admin.end_offsets(flow.partitions)
