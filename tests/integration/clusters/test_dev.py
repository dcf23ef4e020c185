"""``isthmus dev`` and the event producer, with real brokers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.records.kafka_records import Reader, consume_all
from typer.testing import CliRunner

from orchestration.cli.local.dev import app
from orchestration.demo.event_producer import Load, create_topics, write
from orchestration.demo.shop_events import KINDS
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.config.load import load_config

pytestmark = pytest.mark.integration


@pytest.fixture
def dev(tmp_path, monkeypatch):
    """Run ``isthmus dev`` in a state directory of its own; what it started is removed."""
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path))
    yield lambda *words: CliRunner().invoke(app, words, catch_exceptions=False)
    CliRunner().invoke(app, ["down", "--remove"])


def test_clusters_come_with_a_configuration_that_copies_between_them(dev, tmp_path):
    done = dev("up")
    assert done.exit_code == 0
    told = json.loads(dev("status", "-o", "json").stdout)
    assert [(each["name"], each["running"]) for each in told] == [("source", [1]), ("target", [1])]
    config = load_config(tmp_path / "dev.properties").config
    assert [flow.name for flow in config.flows] == ["source->target"]
    for each in told:
        assert f"{each['name']}: {each['bootstrap_servers']}" in done.stdout
        assert config.clusters[each["name"]].bootstrap_servers == (each["bootstrap_servers"],)
        assert KafkaAdmin({"bootstrap.servers": each["bootstrap_servers"]}).broker_count() == 1
    assert dev("down").stdout == "source: stopped\ntarget: stopped\n"
    assert "0 of 1" in dev("status").stdout
    assert dev("down", "--remove").stdout.count("was not running, data removed") == 2
    assert dev("status").stdout == (
        "no clusters in this state directory: start some with `isthmus dev up`\n"
    )


def test_a_load_has_exactly_so_many_records_evenly_spread(source_cluster, topic_name):
    topics = [topic_name(each) for each in "abc"]
    client = {"bootstrap.servers": source_cluster.bootstrap_servers}
    create_topics(client, topics, 4)
    write(client, Load(topics, 4, 1_200, 1, "here"))
    records = [r for each in topics for r in consume_all(source_cluster.bootstrap_servers, each)]
    assert len(records) == 1_200
    assert [sum(r.partition == each for r in records) for each in range(4)] == [300] * 4
    assert len({(r.key, r.headers) for r in records}) == 1_200


def test_traffic_flows_until_it_is_stopped_and_loses_nothing(target_cluster):
    servers = target_cluster.bootstrap_servers
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "orchestration.demo.event_producer",
            "--bootstrap",
            servers,
            "--rate",
            "200",
        ],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    )
    topics = [Reader(servers, topic) for topic in KINDS]
    try:
        deadline = time.monotonic() + 60
        while sum(each.offsets() for each in topics) < 100:
            assert time.monotonic() < deadline, "no traffic within 60 s"
            time.sleep(0.2)
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    sent = int(output.rpartition("records=")[2])
    arrived = {topic: consume_all(servers, topic) for topic in KINDS}
    assert sum(map(len, arrived.values())) == sent >= 100
    assert all({r.partition for r in records} <= {0, 1, 2, 3} for records in arrived.values())
