"""Units that keep copying between epochs: killed, taken over, or given new plans."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.flows.copier_flows import Flow, feeding, kill, linger
from support.flows.spark_driver import wait_for
from support.records import kafka_records

from replication.copier.host import Host
from replication.model import Mode

pytestmark = pytest.mark.integration

FOR_EVER_S = 60.0


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    topics = {topic_name(): 2, topic_name(): 2}
    for cluster in (source_cluster, target_cluster):
        for name, partitions in topics.items():
            kafka_records.create_topic(cluster.bootstrap_servers, name, partitions)
    return Flow(source_cluster, target_cluster, topics)


@pytest.fixture
def hosts():
    made = Host(), Host()
    yield made
    for each in made:
        each.close()


def test_a_process_may_be_killed_between_epochs(flow, tmp_path):
    with feeding(flow):
        process = linger(flow, flow.spec(grace_s=FOR_EVER_S), tmp_path)
        before = sum(each.records for each in flow.anchors().values())
        flow.wait_for(
            lambda found: sum(each.records for each in found.values()) > before + 50,
            "it copies on",
        )
        kill(process)
    report = flow.copy_all(epoch=1)
    assert (report.outcome, report.takeovers) == ("clean", 4)
    flow.assert_equal()


def test_another_process_may_get_the_next_epoch(flow, hosts):
    first, second = hosts
    with feeding(flow):
        for epoch in range(6):
            host = first if epoch in {0, 1, 4} else second
            if epoch in {4, 5}:  # a unit learns with its next request that it was fenced
                wait_for(lambda host=host: not host.holds(flow.name, 0))
            report = flow.epoch(host, flow.spec(epoch=epoch, grace_s=FOR_EVER_S), 100)
            assert report.outcome == "clean"
            assert report.takeovers == (4 if epoch in {2, 4, 5} else 0)
    flow.wait_copied()
    wait_for(lambda: not first.holds(flow.name, 0))
    second.close()
    flow.assert_equal()
    assert flow.copy_all(epoch=6).takeovers == 0


def test_plans_may_change_with_every_epoch(flow, hosts):
    """BL-117."""
    host, reported, chance = hosts[0], 0, random.Random(7)
    whole = flow.spec(grace_s=FOR_EVER_S)
    compacted = next(iter(flow.topics))
    plans = [
        replace(each, mode=Mode.TRANSACTIONAL) if each.source.topic == compacted else each
        for each in whole.partitions
    ]
    with feeding(flow):
        for epoch in range(10):
            some = [each for each in plans if chance.random() < 0.6] or plans
            spec = replace(whole, epoch=epoch, partitions=tuple(some))
            report = flow.epoch(host, spec, 100)
            assert (report.outcome, report.takeovers, report.not_running) == ("clean", 0, 0)
            reported += report.records
    last = replace(whole, epoch=10, partitions=tuple(plans))
    reported += flow.epoch(host, last, 0).records
    flow.wait_copied()
    reported += flow.epoch(host, replace(last, epoch=11), 0).records
    host.close()
    assert reported == sum(flow.fed.values())
    flow.assert_equal()
