"""Clusters that stop responding with connections open: a unit still ends in time."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest
from support.flows.copier_flows import Flow, copy
from support.network.broker_proxy import Proxies
from support.records import kafka_records

from replication.copier.host import Host

pytestmark = pytest.mark.integration

GRACE_S = 25.0  # the last answers, the last word, and a slow machine; a request would take 30 s


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name) -> Flow:
    topic = topic_name("silence")
    for cluster in (source_cluster, target_cluster):
        kafka_records.create_topic(cluster.bootstrap_servers, topic)
    return Flow(source_cluster, target_cluster, {topic: 1})


@pytest.fixture
def proxies():
    each = Proxies()
    yield each
    each.close()


def feed(flow: Flow) -> None:
    (topic,) = flow.topics
    kafka_records.produce(flow.here, topic, kafka_records.some_records(20))


def silence(proxies: Proxies, bootstrap: str) -> None:
    port = urlsplit(f"//{bootstrap}").port
    (silent,) = [each for each in proxies.proxies if each.behind[1] == port]
    silent.block()


@pytest.mark.parametrize("end", ["here", "to"], ids=["source", "target"])
def test_a_unit_whose_cluster_falls_silent_ends_with_its_epoch(flow, proxies, end):
    """BL-121."""
    feed(flow)
    host, spec = Host(), flow.spec()
    with flow.copying(spec, proxies.connect, host) as reports:
        flow.wait_copied()
        feed(flow)
        silence(proxies, getattr(flow, end))
        feed(flow)
        flow.run_out(host, spec)
        deadline = time.monotonic() + GRACE_S
        while not reports and time.monotonic() < deadline:
            time.sleep(0.1)
        assert reports
    assert flow.copy_all(epoch=1).outcome == "clean"
    flow.assert_equal()


def test_the_drivers_word_ends_a_unit_whose_source_is_silent(flow, proxies):
    """BL-121."""
    feed(flow)
    spec = flow.spec()
    with flow.copying(spec, proxies.connect) as reports:
        flow.wait_copied()
        silence(proxies, flow.here)
        flow.end(spec)
        deadline = time.monotonic() + GRACE_S
        while not reports and time.monotonic() < deadline:
            time.sleep(0.1)
        assert reports
    assert reports[0].outcome == "clean"


def test_clusters_that_are_silent_from_the_start_cost_one_epoch_and_are_named(flow, proxies):
    """BL-106 and BL-121."""
    copy(flow.spec(epoch_s=0.1), proxies.connect)
    silence(proxies, flow.here)
    began = time.monotonic()
    report = copy(flow.spec(epoch=1, epoch_s=3), proxies.connect)
    assert time.monotonic() - began < 3 + GRACE_S
    assert report.not_running == 1
    assert "did not answer" in report.outcome
