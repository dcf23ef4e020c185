"""Local clusters keep their promises with real brokers."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys

import pytest
from kafka.admin import KafkaAdminClient
from support.records.kafka_records import consume_all, create_topic, produce, some_records

from chaos.proxy import Proxy
from replication.adapters.local.kafka_jars import DEFAULT_VERSION
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.local_network import free_ports
from replication.adapters.local_secured.secured_cluster import stored_clusters
from replication.errors import EnvironmentProblem

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster(kafka_cluster):
    """A cluster that these tests stop and kill as they like."""
    return kafka_cluster("restless")


@pytest.fixture
def filled(cluster, topic_name):
    """The cluster, running, with a topic of 100 records."""
    cluster.start()
    topic = create_topic(cluster.bootstrap_servers, topic_name(), 2)
    produce(cluster.bootstrap_servers, topic, some_records(100, 2))
    return cluster, topic, consume_all(cluster.bootstrap_servers, topic)


def test_a_stopped_cluster_comes_back_with_its_data_at_its_address(filled):
    cluster, topic, before = filled
    address = cluster.bootstrap_servers
    cluster.stop()
    assert cluster.running() == []
    again = LocalCluster.load(cluster.name, cluster.directory)  # as another command would
    again.start()
    assert again.bootstrap_servers == address
    assert len(before) == 100
    assert consume_all(address, topic) == before


def finalized(cluster: LocalCluster) -> dict[str, int]:
    """Return the level of each feature that a cluster has."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    try:
        found = admin.describe_features()
    finally:
        admin.close()
    return {name: each["finalized"][1] for name, each in found.items() if "finalized" in each}


def test_a_cluster_has_the_features_that_kafkas_format_tool_gives_it(filled):
    cluster, *_ = filled
    assert finalized(cluster) == {
        "metadata.version": 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }


def test_a_stop_is_clean(filled):
    cluster, *_ = filled
    cluster.stop(grace_s=150)
    assert (cluster.home / "broker-1" / "data" / ".kafka_cleanshutdown").exists()


def test_a_killed_broker_comes_back_with_all_acked_records(filled):
    cluster, topic, before = filled
    cluster.kill(1)
    assert cluster.running() == []
    cluster.start_broker(1)
    assert consume_all(cluster.bootstrap_servers, topic) == before


def test_starting_a_running_cluster_changes_nothing(filled):
    cluster, *_ = filled
    before = (cluster.home / "broker-1" / "pid.json").read_text()
    LocalCluster.load(cluster.name, cluster.directory).start()
    assert (cluster.home / "broker-1" / "pid.json").read_text() == before


def test_a_cluster_is_found_by_its_directory(cluster):
    assert cluster.name in [each.name for each in stored_clusters(cluster.directory)]


def test_a_port_in_use_is_named(filled):
    cluster, *_ = filled
    cluster.stop()
    port = int(cluster.bootstrap_servers.rpartition(":")[2])
    with socket.socket() as foreign_writer:
        foreign_writer.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        foreign_writer.bind(("127.0.0.1", port))
        foreign_writer.listen()
        with pytest.raises(EnvironmentProblem) as caught:
            cluster.start()
    assert str(caught.value) == (
        f"starting broker 1 of cluster restless: port {port} is in use by another program; "
        "end that program, or remove the cluster and start a new one"
    )


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EnvironmentProblem) as caught:
        LocalCluster("c", tmp_path / "file").start()
    assert str(caught.value) == (
        f"storing cluster c in {tmp_path}/file/c: Not a directory; "
        "free space there or choose another directory"
    )


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("replication.adapters.local.local_kafka._LEAST_FREE_BYTES", 1 << 60)
    with pytest.raises(EnvironmentProblem, match=r"storing cluster c in .*: only \d+ MB free, "):
        LocalCluster("c", tmp_path).start()
    assert not (tmp_path / "c" / "cluster.json").exists()


@pytest.mark.parametrize("version", [DEFAULT_VERSION, "3.9.1"])
def test_a_broker_that_does_not_start_shows_the_end_of_its_log(tmp_path, version):
    wrong = {"log.segment.bytes": "-5"}
    broken = LocalCluster("c", tmp_path, version=version, properties=wrong)
    with pytest.raises(EnvironmentProblem) as caught:
        broken.start()
    assert re.match(r"starting broker 1 of cluster c at 127.0.0.1:\d+: ", str(caught.value))
    assert "Invalid value -5 for configuration log.segment.bytes" in str(caught.value)
    assert broken.running() == []


def test_a_process_that_took_over_the_pid_is_not_touched(filled):
    cluster, *_ = filled
    cluster.stop()
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE
    ) as foreign_writer:
        pid_file = cluster.home / "broker-1" / "pid.json"
        pid_file.write_text(json.dumps({"pid": foreign_writer.pid, "began": "1"}))
        cluster.stop()
        cluster.kill(1)
        assert foreign_writer.poll() is None
        foreign_writer.communicate(b"\n")


def test_clients_may_be_led_through_proxies(kafka_cluster, topic_name):
    (port,) = free_ports(1)
    proxy = Proxy(("127.0.0.1", port))
    cluster = kafka_cluster(fronts=[(port, proxy.address[1])])
    through_it = "{}:{}".format(*proxy.address)
    topic = create_topic(through_it, topic_name())
    produce(through_it, topic, some_records(10))
    proxy.close()
    with pytest.raises(AssertionError):
        produce(through_it, topic, some_records(1), limit_s=1)
    assert len(consume_all(cluster.bootstrap_servers, topic)) == 10
    cluster.destroy()


@pytest.mark.slow
def test_three_brokers_go_on_without_one(kafka_cluster, topic_name):
    three = kafka_cluster(brokers=3)
    topic = create_topic(three.bootstrap_servers, topic_name(), 3, replication_factor=3)
    three.kill(2)
    produce(three.bootstrap_servers, topic, some_records(30, 3))
    three.start_broker(2)
    assert three.running() == [1, 2, 3]
    assert len(consume_all(three.bootstrap_servers, topic)) == 30
    three.destroy()


@pytest.mark.slow
def test_a_broker_of_the_previous_line_takes_and_gives_records(kafka_cluster, topic_name):
    old = kafka_cluster(version="3.9.1")
    topic = create_topic(old.bootstrap_servers, topic_name())
    produce(old.bootstrap_servers, topic, some_records(10))
    assert len(consume_all(old.bootstrap_servers, topic)) == 10
    assert finalized(old) == {"metadata.version": 21}
    old.destroy()
