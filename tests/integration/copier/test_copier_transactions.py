"""Transactional units: compacted topics, exactly once for read_committed consumers."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import pytest
from kafka import KafkaAdminClient
from kafka import TopicPartition as ClientPartition
from kafka.admin import AbortTransactionSpec
from kafka.errors import InvalidProducerEpochError
from support.flows.copier_flows import WAIT_S, Flow, feeding, kill, report_of, start_unit
from support.records import kafka_records

from replication.model import Mode, PartitionPlan

pytestmark = pytest.mark.integration

COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "500",
    "segment.bytes": str(1 << 20),
    "max.compaction.lag.ms": "500",
}


class Transactional(Flow):
    """A flow whose partitions are copied in ``mode``."""

    mode: str = Mode.TRANSACTIONAL

    def spec(self, generation: int = 1, epoch: int = 0, **more: object):
        plans = tuple(PartitionPlan(e, e, mode=self.mode) for e in self.partitions)
        return super().spec(generation, epoch, **{"partitions": plans, **more})

    def assert_committed_equal(self) -> None:
        for topic in self.topics:
            expected = kafka_records.consume_all(self.here, topic, "read_committed")
            found = kafka_records.consume_all(self.to, topic, "read_committed")
            assert [e.content for e in found] == [e.content for e in expected]


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    def make(partitions: int = 2, source=source_cluster, target=target_cluster, configs=None):
        topic = topic_name()
        kafka_records.create_topic(source.bootstrap_servers, topic, partitions, configs)
        kafka_records.create_topic(target.bootstrap_servers, topic, partitions, configs)
        return Transactional(source, target, {topic: partitions})

    return make


def test_a_transactional_unit_copies_and_the_next_epoch_goes_on(flow):
    one = flow()
    (topic,) = one.topics
    kafka_records.produce(one.here, topic, kafka_records.some_records(500, 2, seed=1))
    assert one.copy_all().outcome == "clean"
    kafka_records.produce(one.here, topic, kafka_records.some_records(500, 2, seed=2))
    report = one.copy_all(epoch=1)
    assert (report.outcome, report.records, report.takeovers) == ("clean", 500, 0)
    assert {each.mode for each in one.anchors().values()} == {Mode.TRANSACTIONAL}
    one.assert_committed_equal()


def test_a_transactional_unit_may_be_killed_at_any_time(flow, tmp_path):
    one = flow()
    with feeding(one):
        for generation in range(1, 5):
            process = start_unit(one.spec(generation), tmp_path)
            one.wait_moved(50)
            kill(process)
    report = one.copy_all(generation=9)
    assert (report.outcome, report.takeovers) == ("clean", 2)
    one.assert_committed_equal()


def test_nothing_of_a_transactional_unit_that_slept_is_committed(flow, tmp_path):
    one = flow()
    with feeding(one):
        sleeper = start_unit(one.spec(1), tmp_path)
        one.wait_moved(50)
        os.kill(sleeper.pid, signal.SIGSTOP)
        with one.copying(one.spec(2)) as reports:
            one.wait_moved(300)
            os.kill(sleeper.pid, signal.SIGCONT)
            reported = report_of(sleeper)
            one.wait_moved(100)
    assert "another driver (generation 2) took over" in reported.outcome
    assert reports[0].outcome == "clean"
    one.copy_all(generation=2, epoch=1)
    one.assert_committed_equal()


def test_records_of_a_transaction_that_an_admin_aborted_in_one_partition_are_copied_again(flow):
    one = flow()
    with feeding(one), one.copying(one.spec()) as reports:
        one.wait_moved(50)
        assert abort_open_transactions(one, one.partitions[0], 8) == 8
        one.wait_moved(100)
    assert reports[0].outcome == "clean"
    assert one.copy_all(epoch=1).outcome == "clean"
    one.assert_committed_equal()


def abort_open_transactions(one: Flow, partition, times: int) -> int:
    """Do as ``kafka-transactions.sh abort`` does, sooner and later within a transaction."""
    where, done = ClientPartition(*partition), 0
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=one.to)) as admin:
        deadline = time.monotonic() + WAIT_S
        while done < times and time.monotonic() < deadline:
            for each in admin.describe_producers([where])[where].active_producers:
                if each.current_transaction_start_offset >= 0:
                    time.sleep(0.01 * (done % 5))
                    coordinator = max(each.coordinator_epoch, 0)  # as the tool does
                    producer = each.producer_id, each.producer_epoch, coordinator
                    # The unit, which sees an abort, may have ended the next transaction as well.
                    with contextlib.suppress(InvalidProducerEpochError):
                        admin.abort_transaction(AbortTransactionSpec(where, *producer))
                        done += 1
            time.sleep(0.05)
    return done


@pytest.mark.parametrize("crash", [False, True])
def test_a_partition_changes_its_mode_between_epochs(flow, tmp_path, crash):
    one = flow()
    modes = [Mode.APPEND, Mode.TRANSACTIONAL, Mode.APPEND, Mode.TRANSACTIONAL]
    with feeding(one):
        for generation, mode in enumerate(modes, 1):
            one.mode = mode
            if crash:
                process = start_unit(one.spec(generation), tmp_path)
                one.wait_moved(100)
                time.sleep(0.05 * generation)
                kill(process)
            else:
                with one.copying(one.spec(generation)) as reports:
                    one.wait_moved(100)
                assert (reports[0].outcome, reports[0].takeovers) == ("clean", 0)
    one.copy_all(generation=9)
    one.assert_committed_equal()
    assert {each.mode for each in one.anchors().values()} == {modes[-1]}


def test_a_topic_that_both_sides_compact_meanwhile_keeps_its_last_values_in_order(flow, tmp_path):
    one = flow(1, configs=COMPACTED)
    (topic,) = one.topics
    written = []
    for generation in range(1, 4):
        process = start_unit(one.spec(generation), tmp_path)
        for turn in range(5):
            some = [(0, b"k%d" % (n % 17), b"%d-%d-%d" % (generation, turn, n)) for n in range(200)]
            kafka_records.produce(one.here, topic, some)
            written += some
            time.sleep(0.3)
        kill(process)
    report = one.copy_all(generation=9)
    assert report.outcome == "clean"
    found = [(e.key, e.value) for e in kafka_records.consume_all(one.to, topic, "read_committed")]
    last = {key: value for _, key, value in written}
    assert dict(found) == last
    order = [(key, value) for _, key, value in written]
    at = [order.index(each) for each in found]
    assert at == sorted(set(at))  # nothing repeated, nothing out of order


@pytest.mark.slow
def test_brokers_of_3_9_take_the_same_transactions(flow, kafka_cluster, tmp_path):
    old = kafka_cluster("old-txn", version="3.9.1")
    one = flow(2, target=old)
    with feeding(one, 200):
        process = start_unit(one.spec(1), tmp_path)
        one.wait_moved(50)
        kill(process)
    assert one.copy_all(generation=2).outcome == "clean"
    one.assert_committed_equal()


def test_bl_042_a_refusal_inside_a_transaction_halts_its_partition_and_no_other(
    source_cluster, target_cluster, topic_name
):
    topic = topic_name()
    kafka_records.create_topic(source_cluster.bootstrap_servers, topic, 2)
    kafka_records.create_topic(target_cluster.bootstrap_servers, topic, 2, COMPACTED)
    one = Transactional(source_cluster, target_cluster, {topic: 2})
    fine = [(n % 2, b"k%d" % n, b"v") for n in range(40)]
    kafka_records.produce(one.here, topic, [*fine, (0, None, b"no key"), (0, b"k", b"behind it")])
    with one.copying(one.spec()) as reports:
        first, second = one.partitions
        one.wait_for(lambda anchors: first in anchors and anchors[first].state == "REFUSED", "told")
        kafka_records.produce(one.here, topic, [(1, b"later", b"v")])
        one.wait_copied([second])
    assert (reports[0].outcome, reports[0].not_running) == ("clean", 1)
    found = kafka_records.consume_all(one.to, topic, "read_committed")
    assert {e.key for e in found} == {*(key for _, key, _ in fine), b"later"}
