"""The engine on a bad network, and handed from process to process."""

from __future__ import annotations

import random
import time

import pytest
from confluent_kafka import Producer
from support.flows import copier_flows
from support.flows.copier_flows import Flow, feeding, report_of, start_unit
from support.network.broker_proxy import Proxies
from support.records import kafka_records

from chaos.proxy import Weather
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.wire.connection.broker_address import split_address
from replication.client.cluster_ids import FlowClusters

pytestmark = pytest.mark.integration


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name) -> Flow:
    topic = topic_name("faults")
    for cluster in (source_cluster, target_cluster):
        kafka_records.create_topic(cluster.bootstrap_servers, topic, 2)
    return Flow(source_cluster, target_cluster, {topic: 2})


@pytest.fixture
def proxies():
    made = Proxies()
    yield made
    made.close()


def limit_calls(flow: Flow, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set how long the engine waits for an answer to any request.

    A request may be late again on a busy machine: each time former producers are waited for. One
    is always late: the first for a producer id of a target, which creates a topic for that.
    """
    first = Producer({"bootstrap.servers": flow.to, "transactional.id": flow.name})
    first.init_transactions(90)
    monkeypatch.setattr(copier_flows, "WAIT_S", 2 * copier_flows.WAIT_S)
    for module in ("network", "connection.connections", "connection.requests", "fetches"):
        monkeypatch.setattr(f"replication.adapters.wire.{module}.CALL_S", seconds)


def await_more(flow: Flow, records: int = 50) -> None:
    before = copied(flow.wait_for(lambda _: True, "the anchors can be read"))
    flow.wait_for(lambda anchors: copied(anchors) >= before + records, "more is copied")


def copied(anchors) -> int:
    return sum(each.records for each in anchors.values())


def test_a_slow_and_lossy_network_costs_nothing_but_time(flow, proxies):
    with flow.copying(flow.spec(), proxies.connect) as reports, feeding(flow):
        await_more(flow, 1)
        for each in proxies.proxies:
            each.weather = Weather(0.1, 0.05, random.Random(1))
        await_more(flow, 200)
    assert reports[0].outcome == "clean"
    flow.copy_all(epoch=1)
    flow.assert_equal()


def test_half_open_connections_are_given_up_after_the_time_limit(flow, proxies, monkeypatch):
    limit_calls(flow, monkeypatch, 1.5)
    with flow.copying(flow.spec(), proxies.connect) as reports, feeding(flow):
        for _ in range(2):
            await_more(flow)
            assert sum(each.strand() for each in proxies.proxies)
        await_more(flow)
    assert reports[0].outcome == "clean"
    flow.copy_all(epoch=1)
    flow.assert_equal()


def test_an_outage_of_the_network_longer_than_the_time_limit_repeats_nothing(
    flow, proxies, monkeypatch
):
    limit_calls(flow, monkeypatch, 1.0)
    with flow.copying(flow.spec(), proxies.connect) as reports, feeding(flow):
        await_more(flow)
        for each in proxies.proxies:
            each.block()
        time.sleep(4)
        for each in proxies.proxies:  # what was sent before arrives now, late
            each.unblock()
        await_more(flow)
    assert reports[0].outcome == "clean"
    flow.copy_all(epoch=1)
    flow.assert_equal()


def test_many_hand_overs_under_a_live_writer_skip_and_repeat_nothing(flow, tmp_path):
    """BL-061."""
    with feeding(flow):
        for epoch in range(3):
            unit = start_unit(flow.spec(epoch=epoch), tmp_path)
            await_more(flow)
            flow.end(flow.spec(epoch=epoch))
            report = report_of(unit)
            assert (report.outcome, report.takeovers) == ("clean", 0)
    flow.copy_all(epoch=9)
    flow.assert_equal()


def test_bl_223_a_source_whose_address_leads_to_the_target_is_left_alone_until_it_is_back(
    flow, proxies
):
    """The topic has the same name on both, so that all requests but those by topic id succeed."""
    here, there = (
        KafkaAdmin({"bootstrap.servers": each.bootstrap_servers}).cluster_id()
        for each in (flow.source, flow.target)
    )
    spec = flow.spec(source_id=here, target_id=there)
    with flow.copying(spec, proxies.connect) as reports, feeding(flow):
        await_more(flow)
        fronts = {each: each.behind for each in proxies.proxies}
        (near,) = [each for each in fronts if str(each.behind[1]) in flow.source.bootstrap_servers]
        (far,) = [each for each in fronts if each is not near]
        near.behind = far.behind
        near.cut()
        flow.wait_for(
            lambda anchors: all("which is" in each.reason for each in anchors.values()),
            "the unit says what its source's address leads to",
        )
        assert {each.state for each in flow.anchors().values()} == {"RUNNING"}
        near.behind = fronts[near]
        near.cut()
        await_more(flow)
    assert reports[0].outcome == "clean"
    flow.copy_all(epoch=1)
    flow.assert_equal()


def test_bl_223_an_admin_client_that_met_another_cluster_finds_the_right_one_again(flow, proxies):
    """It learned the brokers of the cluster that its address led to, and asked them for ever."""
    at = [each.bootstrap_servers for each in (flow.source, flow.target)]
    here, there = (KafkaAdmin({"bootstrap.servers": each}).cluster_id() for each in at)
    known = FlowClusters(flow.name, here, there)
    host, port = proxies._before(split_address(at[1]))  # leads to the target
    (front,) = proxies.proxies
    admin = KafkaAdmin({"bootstrap.servers": f"{host}:{port}"}, verify=known.verify_source)
    assert admin.cluster_id() == there
    front.behind = split_address(at[0])
    front.cut()
    assert admin.cluster_id() == here
