"""Faults of a target: quotas, full disks, another producer with our id, clock jumps."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer
from support.flows.copier_flows import Flow, feeding, kill, start_unit
from support.records import kafka_records

from replication.adapters.local.broker_config import jvm_options
from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import DEFAULT_VERSION, kafka_jars
from replication.adapters.local.local_kafka import LocalCluster, broker_archive
from replication.model import Mode, PartitionPlan

pytestmark = pytest.mark.integration


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    def make(partitions: int = 2, target=target_cluster) -> Flow:
        topic = topic_name()
        for each in (source_cluster, target):
            kafka_records.create_topic(each.bootstrap_servers, topic, partitions)
        return Flow(source_cluster, target, {topic: partitions})

    return make


def limit(flow: Flow, change: str, *options: str, at: str = "") -> None:
    """Change a quota of the units' client id with Kafka's own tool, on the target or ``at``."""
    subprocess.run(
        [
            str(java()),
            *jvm_options("256m", quick=True, archive=broker_archive(DEFAULT_VERSION)),
            *("-cp", f"{kafka_jars(DEFAULT_VERSION)}/*", "kafka.admin.ConfigCommand"),
            *("--bootstrap-server", at or flow.to, "--alter", *options, change),
            *("--entity-type", "clients", "--entity-name", f"isthmus-{flow.name}"),
        ],
        check=True,
        capture_output=True,
    )


def test_a_quota_of_the_target_slows_a_copy_down_and_does_no_more(flow):
    """BL-113 and BL-120."""
    one = flow()
    (topic,) = one.topics
    limit(one, "producer_byte_rate=100000", "--add-config")
    large = [(n % 2, b"k", os.urandom(10_000)) for n in range(160)]
    kafka_records.produce(one.here, topic, large)
    begin = time.monotonic()
    report = one.copy_all()
    assert (
        time.monotonic() - begin > 2
    )  # held back: all beyond 11 s worth, which a broker lets pass
    assert (report.outcome, report.takeovers, report.not_running) == ("clean", 0, 0)
    assert report.target_throttled_ms > 1_000
    assert 0 < report.backed_off_to < 300_000
    assert report.source_throttled_ms == 0
    one.assert_equal()
    limit(one, "producer_byte_rate", "--delete-config")


def test_a_quota_of_the_source_slows_a_copy_down_and_is_reported(flow):
    one = flow()
    (topic,) = one.topics
    limit(one, "consumer_byte_rate=100000", "--add-config", at=one.here)
    large = [(n % 2, b"k", os.urandom(10_000)) for n in range(160)]
    for epoch in range(5):  # a broker knows of the quota a moment after the controller
        kafka_records.produce(one.here, topic, large)
        report = one.copy_all(epoch=epoch)
        if report.source_throttled_ms > 1_000:
            break
    assert (report.outcome, report.takeovers, report.not_running) == ("clean", 0, 0)
    assert report.source_throttled_ms > 1_000
    assert (report.target_throttled_ms, report.backed_off_to) == (0, 0)
    one.assert_equal()
    limit(one, "consumer_byte_rate", "--delete-config", at=one.here)


def test_nothing_depends_on_a_wall_clock_that_jumps(flow, monkeypatch):
    one, real, jump = flow(), time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + jump[0])
    with one.copying(one.spec()) as reports, feeding(one):
        for hours in (0, 1, -1, 24):
            jump[0] = hours * 3600.0
            one.wait_moved(200)
    assert (reports[0].outcome, reports[0].takeovers) == ("clean", 0)
    jump[0] = -3600.0
    assert one.copy_all(epoch=1).takeovers == 0
    one.assert_equal()


def test_a_takeover_finds_its_position_under_an_earlier_clock(flow, tmp_path, monkeypatch):
    one = flow()
    with feeding(one):
        process = start_unit(one.spec(), tmp_path)
        one.wait_moved(100)
        kill(process)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    assert one.copy_all(generation=2).takeovers == 2
    one.assert_equal()


def transactional(flow: Flow, generation: int = 1, epoch: int = 0, **to: str):
    """Return a spec that copies the flow's topics in transactions, into others where given."""
    plans = tuple(
        PartitionPlan(
            each, each._replace(topic=to.get("into", each.topic)), mode=Mode.TRANSACTIONAL
        )
        for each in flow.partitions
    )
    return flow.spec(generation, epoch, partitions=plans)


def test_who_terminates_our_open_transactions_makes_nothing_missing_or_repeated(flow):
    one = flow()
    spec = transactional(one)
    (group,) = spec.groups()
    with one.copying(spec) as reports, feeding(one):
        for _ in range(3):
            one.wait_moved(50)
            other = Producer(
                {"bootstrap.servers": one.to, "transactional.id": group.transactional_id}
            )
            other.init_transactions(90)  # aborts what is open, as a forced termination does
        one.wait_moved(50)
    assert reports[0].outcome == "clean"
    one.copy_all(epoch=1, partitions=spec.partitions)
    for topic in one.topics:
        expected, found = (
            kafka_records.consume_all(e, topic, "read_committed") for e in (one.here, one.to)
        )
        assert [each.content for each in found] == [each.content for each in expected]


def test_sources_merge_into_one_compacted_topic_and_each_keeps_its_order(flow, tmp_path):
    left, right = flow(), flow()
    merged = kafka_records.create_topic(
        left.to, f"merged-{left.alias}", 2, {"cleanup.policy": "compact"}
    )

    def fill(begin: int) -> None:
        for name, each in (("left", left), ("right", right)):
            (topic,) = each.topics
            records = [
                (n % 2, b"%s-%d" % (name.encode(), n), b"v") for n in range(begin, begin + 500)
            ]
            kafka_records.produce(each.here, topic, records)

    fill(0)
    process = start_unit(transactional(left, into=merged), tmp_path)
    with right.copying(transactional(right, into=merged)) as reports:
        left.wait_for(lambda found: any(each.records for each in found.values()), "it copies")
        kill(process)
        fill(500)
        plans = transactional(left, into=merged).partitions
        assert left.copy_all(generation=2, partitions=plans).outcome == "clean"
        right.wait_copied()
    assert reports[0].outcome == "clean"
    found = kafka_records.consume_all(left.to, merged, "read_committed")
    for name, each in ((b"left", left), (b"right", right)):
        (topic,) = each.topics
        theirs = [e.content for e in kafka_records.consume_all(each.here, topic)]
        assert [e.content for e in found if e.key.startswith(name)] == theirs


@contextmanager
def small_disk(path):
    """Mount a small file system; skip where that is not allowed."""
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", str(path)], check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system takes root")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def answers(cluster: LocalCluster) -> bool:
    host, port = cluster.bootstrap_servers.split(":")
    try:
        socket.create_connection((host, int(port)), 2).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount here")
def test_a_target_whose_disk_was_full_gets_each_record_once(flow, tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk):
        target = LocalCluster("full", disk, properties={"log.retention.ms": "-1"})
        target.start()
        try:
            one = flow(1, target)
            (topic,) = one.topics
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(shutil.disk_usage(disk).free - (15 << 20)))
            kafka_records.produce(
                one.here, topic, [(0, b"k", os.urandom(10_000)) for _ in range(3000)]
            )
            with one.copying(one.spec()) as reports:
                deadline = time.monotonic() + 150
                while answers(target) and time.monotonic() < deadline:
                    time.sleep(0.2)
                assert not answers(target)  # a broker that cannot write closes its doors
                assert shutil.disk_usage(disk).free < 1 << 20
                target.kill()  # it cannot end itself either
                ballast.unlink()
                target.start_broker(1)
                one.wait_copied()
            assert reports[0].outcome == "clean"
            one.assert_equal()
        finally:
            target.destroy()
