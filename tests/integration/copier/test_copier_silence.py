"""Clusters that stop responding with connections open: a unit still ends in time."""

from __future__ import annotations

import itertools
import time
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from support.flows.copier_flows import Flow, copy
from support.network.broker_proxy import Proxies
from support.records import kafka_records

from replication.copier.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.copier.spec import UnitReport

pytestmark = pytest.mark.integration

PROMISED_S = 13.0  # about ten seconds: the last answers and the last word
GRACE_S = 25.0  # on a busy machine; a request would take 30 s
TRIES = 3


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name) -> Flow:
    topic = topic_name("silence")
    for cluster in (source_cluster, target_cluster):
        kafka_records.create_topic(cluster.bootstrap_servers, topic)
    return Flow(source_cluster, target_cluster, {topic: 1})


@pytest.fixture
def proxies():
    with closing(Proxies()) as each:
        yield each


def feed(flow: Flow) -> None:
    (topic,) = flow.topics
    kafka_records.produce(flow.here, topic, kafka_records.some_records(20))


def silence(proxies: Proxies, bootstrap: str) -> None:
    port = urlsplit(f"//{bootstrap}").port
    (silent,) = [each for each in proxies.proxies if each.behind[1] == port]
    silent.block()


def seconds_until_any(reports: list[UnitReport]) -> float:
    began = time.monotonic()
    while not reports and time.monotonic() < began + GRACE_S:
        time.sleep(0.1)
    assert reports
    return time.monotonic() - began


def assert_promise_is_kept(seconds: Callable[[int], float]) -> None:
    """Let it take ``seconds(epoch)`` in one of some epochs what is promised: machines are busy."""
    took = itertools.takewhile(lambda each: each >= PROMISED_S, map(seconds, range(TRIES)))
    assert len(slow := [*took]) < TRIES, slow


@pytest.mark.parametrize("end", ["here", "to"], ids=["source", "target"])
def test_a_unit_whose_cluster_falls_silent_ends_with_its_epoch(flow, end):
    """BL-121."""

    def seconds(epoch: int) -> float:
        feed(flow)
        host, spec = Host(), flow.spec(epoch=epoch)
        with closing(Proxies()) as proxies, flow.copying(spec, proxies.connect, host) as reports:
            flow.wait_copied()
            feed(flow)
            silence(proxies, getattr(flow, end))
            feed(flow)
            flow.run_out(host, spec)
            return seconds_until_any(reports)

    assert_promise_is_kept(seconds)
    assert flow.copy_all(epoch=TRIES).outcome == "clean"
    flow.assert_equal()


def test_the_drivers_word_ends_a_unit_whose_source_is_silent(flow):
    """BL-121."""

    def seconds(epoch: int) -> float:
        feed(flow)
        spec = flow.spec(epoch=epoch)
        with closing(Proxies()) as proxies, flow.copying(spec, proxies.connect) as reports:
            flow.wait_copied()
            silence(proxies, flow.here)
            flow.end(spec)
            took = seconds_until_any(reports)
        assert reports[0].outcome == "clean"
        return took

    assert_promise_is_kept(seconds)


def test_clusters_that_are_silent_from_the_start_cost_one_epoch_and_are_named(flow, proxies):
    """BL-106 and BL-121."""
    copy(flow.spec(epoch_s=0.1), proxies.connect)
    silence(proxies, flow.here)
    began = time.monotonic()
    report = copy(flow.spec(epoch=1, epoch_s=3), proxies.connect)
    assert time.monotonic() - began < 3 + GRACE_S
    assert report.not_running == 1
    assert "did not answer" in report.outcome
