"""A driver probes fencing once per target, stores the result there, and uses it."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics.state_store import StateStore
from replication.client.cluster_ids import FlowClusters
from replication.errors import ClusterRejected
from replication.model import Mode, TopicPartition
from replication.settings.flow_settings import Flow, FlowClients
from replication.state import PROBE_TOPIC, Fencing, status_topic
from spark_jobs.driver import flow_lease
from spark_jobs.driver.cluster_watch import ClusterWatch
from spark_jobs.driver.flow_lease import FlowLease
from spark_jobs.planning.delivery_modes import DeliveryModes, notice

pytestmark = pytest.mark.integration


@pytest.fixture
def made(target_cluster):
    """Return a flow with its state topics made, and the store that has them."""
    client = {"bootstrap.servers": target_cluster.bootstrap_servers}
    clients = FlowClients(
        source_consumer={}, source_admin={}, target_producer=client, target_admin=client
    )
    flow = Flow(source=f"s{uuid.uuid4().hex[:6]}", target="B", clients=clients)
    store = StateStore(client, 1)
    yield flow, store, KafkaAdmin(client)
    store.close()


def hold_of(flow, store) -> FlowLease:
    clusters = ClusterWatch(flow, FlowClusters(flow.name), store, Path("/no/such/file"), ())
    hold = FlowLease(flow, store, clusters)
    hold.prepare()
    hold.take()
    return hold


def test_a_kafka_target_is_tried_once_and_lacks_nothing(made, monkeypatch):
    flow, store, admin = made
    first = hold_of(flow, store)
    first.probe_fencing()
    assert first.missing_guarantees == ""
    (found,) = [e for e in store.read(status_topic(flow.source)).values() if type(e) is Fencing]
    assert (found.cluster, found.lacks, found.flow) == (admin.cluster_id(), "", flow.name)
    end = admin.end_offsets([TopicPartition(PROBE_TOPIC, 0)])[TopicPartition(PROBE_TOPIC, 0)]
    assert end >= 3  # two appends of the probe and its marker

    def ask_again(_flow):
        raise AssertionError("it was tried a second time")

    monkeypatch.setattr(flow_lease, "probe_target", ask_again)
    again = hold_of(flow, store)
    again.probe_fencing()
    assert again.missing_guarantees == ""


def test_what_a_target_lacks_makes_its_units_transactional_and_is_reported(made, monkeypatch):
    flow, store, admin = made
    monkeypatch.setattr(flow_lease, "probe_target", lambda _flow: "it takes late appends")
    hold_of(flow, store).probe_fencing()
    monkeypatch.undo()
    later = hold_of(flow, store)  # learns it from the record
    later.probe_fencing()
    modes = DeliveryModes("auto", lambda: later.missing_guarantees).of([("t", "A.t")], admin, admin)
    assert modes == {("t", "A.t"): Mode.TRANSACTIONAL}
    assert notice([], later.missing_guarantees).endswith("target limitation: it takes late appends")
    chosen = DeliveryModes("append", lambda: later.missing_guarantees).of(
        [("t", "A.t")], admin, admin
    )
    assert chosen == {("t", "A.t"): Mode.APPEND}


def test_a_target_that_cannot_be_tried_is_reported_and_tried_again_by_the_next_driver(
    made, monkeypatch
):
    flow, store, _ = made

    def refused(_flow):
        raise ClusterRejected("creating topic: no")

    monkeypatch.setattr(flow_lease, "probe_target", refused)
    first = hold_of(flow, store)
    first.probe_fencing()
    assert first.probe_problem == "fencing probe on B failed: creating topic: no"
    monkeypatch.undo()
    second = hold_of(flow, store)
    second.probe_fencing()
    assert (second.probe_problem, second.missing_guarantees) == ("", "")
