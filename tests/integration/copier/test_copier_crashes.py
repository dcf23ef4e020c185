"""The append engine when units, brokers and connections die: nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import AdminClient
from support.flows.copier_flows import Flow, feeding, kill, report_of, start_unit
from support.network.broker_proxy import Proxies
from support.records import kafka_records

from replication.model import TopicPartition

pytestmark = pytest.mark.integration

SOON_MISSED = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture(scope="module")
def spare(kafka_cluster):
    """One more broker, which tests may stop.

    It forgets producers whose last record has an old timestamp: not after minutes, but at once.
    """
    return kafka_cluster("spare", properties={"producer.id.expiration.check.interval.ms": "50"})


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    def make(partitions: int, source=source_cluster, target=target_cluster, replicas=1) -> Flow:
        topic = topic_name()
        kafka_records.create_topic(source.bootstrap_servers, topic, partitions)
        kafka_records.create_topic(
            target.bootstrap_servers, topic, partitions, replication_factor=replicas
        )
        return Flow(source, target, {topic: partitions}, replicas=replicas)

    return make


@contextmanager
def moving(flow: Flow, records: int = 1):
    """Wait, after the block, until at least ``records`` more were copied than before it."""
    now = flow.wait_for(lambda _: True, "the anchors can be read")
    before = sum(each.records for each in now.values())
    yield
    flow.wait_for(
        lambda anchors: sum(each.records for each in anchors.values()) >= before + records,
        f"{records} more records are copied",
    )


def test_a_unit_may_be_killed_at_any_time(flow, tmp_path):
    """BL-053 and BL-054."""
    one = flow(2)
    with feeding(one):
        for generation in range(1, 4):
            with moving(one, 50):
                process = start_unit(one.spec(generation), tmp_path)
            kill(process)
    report = one.settle(one.spec(9))  # the killed unit's anchors may say that all is copied
    assert report.outcome == "clean"
    assert report.takeovers == 2
    one.assert_equal()
    assert one.copy_all(generation=9, epoch=1).takeovers == 0


def test_a_unit_that_sleeps_while_another_takes_over_repeats_nothing(flow, tmp_path):
    """BL-110."""
    one = flow(2)
    with feeding(one):
        with moving(one, 50):
            sleeper = start_unit(one.spec(1), tmp_path)
        os.kill(sleeper.pid, signal.SIGSTOP)
        later = one.spec(2)
        with one.copying(later) as reports:
            with moving(one, 300):
                pass
            os.kill(sleeper.pid, signal.SIGCONT)
            reported = report_of(sleeper)
            with moving(one, 100):
                pass
    assert "another driver (generation 2) took over" in reported.outcome
    assert reports[0].outcome == "clean"
    one.copy_all(generation=2, epoch=1)
    one.assert_equal()


def test_partitions_change_their_unit_after_a_crash(flow, tmp_path):
    one = flow(4)
    with feeding(one):
        with moving(one, 50):
            process = start_unit(one.spec(1), tmp_path)
        kill(process)
        plans = one.spec(2).partitions
        left, right = (
            one.spec(2, unit=0, partitions=plans[::2]),
            one.spec(2, unit=1, partitions=plans[1::2]),
        )
        with one.copying(left) as lefts, one.copying(right) as rights, moving(one, 300):
            pass
    assert [each.outcome for each in (*lefts, *rights)] == ["clean", "clean"]
    one.copy_all(generation=3)
    one.assert_equal()


@pytest.mark.parametrize("end", ["source", "target"])
def test_a_broker_that_stops_and_comes_back_costs_nothing(flow, spare, end):
    """BL-048, BL-107 and BL-240."""
    one = flow(2, **{end: spare})
    with one.copying(one.spec()) as reports:
        with feeding(one), moving(one, 50):
            pass
        with feeding(one):
            spare.kill()
            time.sleep(0.5)
            spare.start_broker(1)
        with feeding(one), moving(one, 50):
            pass
        one.wait_copied()
    assert reports[0].outcome == "clean"
    one.assert_equal()


@pytest.mark.parametrize("forgets", [False, True])
def test_cut_connections_cost_nothing(flow, spare, target_cluster, forgets):
    """BL-240: what may have been appended is not sent again to a target that may not know it."""
    one = flow(2, target=spare if forgets else target_cluster)
    proxies = Proxies()
    try:
        with one.copying(one.spec(), proxies.connect) as reports, feeding(one):
            with moving(one):
                pass
            for each in proxies.proxies:
                each.weather.delay_s = 0.05  # so that a cut meets acks on their way
            for _ in range(4):
                with moving(one, 50):
                    assert proxies.cut()
    finally:
        proxies.close()
    assert reports[0].outcome == "clean"
    one.copy_all(epoch=1)
    one.assert_equal()


@pytest.mark.slow
def test_a_leader_that_moves_costs_nothing(flow, kafka_cluster):
    """BL-048."""
    three = kafka_cluster("three", brokers=3, heap="256m", properties=SOON_MISSED)
    one = flow(3, target=three, replicas=3)
    with one.copying(one.spec()) as reports, feeding(one):
        with moving(one, 50):
            pass
        (topic,) = one.topics
        leader = leader_of(one.to, topic)
        with moving(one, 200):
            three.kill(leader)
        three.start_broker(leader)
        with moving(one, 50):
            pass
    assert reports[0].outcome == "clean"
    one.copy_all(epoch=1)
    one.assert_equal()


def leader_of(bootstrap: str, topic: str) -> int:
    client = AdminClient({"bootstrap.servers": bootstrap, **kafka_records.QUIET})
    return client.list_topics(topic, timeout=10).topics[topic].partitions[0].leader


def test_a_takeover_counts_only_what_is_ours_in_a_shared_partition(flow, tmp_path):
    one = flow(1)
    (topic,) = one.topics
    with feeding(one):
        for generation in range(1, 4):
            with moving(one, 50):
                process = start_unit(one.spec(generation), tmp_path)
                kafka_records.produce(one.to, topic, [(0, b"foreign", b"%d" % generation)])
            kill(process)
    one.copy_all(generation=9)
    expected = [each.content for each in kafka_records.consume_all(one.here, topic)]
    found = [e.content for e in kafka_records.consume_all(one.to, topic) if e.key != b"foreign"]
    assert found == expected
    assert TopicPartition(topic, 0) in one.anchors()
