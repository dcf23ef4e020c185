"""Two Spark drivers, one a target, for one file: both clusters copy to each other, names kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.flows.spark_driver import REPOSITORY, show, wait_for
from support.records import kafka_records
from typer.testing import CliRunner

from orchestration.cli.main import app
from replication.adapters.topics.state_store import StateStore
from replication.errors import ClusterUnavailable
from replication.state import FlowStatus, status_topic

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]


class BothWays:
    """A file with two clusters, and a driver for each of them as the target."""

    def __init__(self, clusters: dict[str, str], home: Path) -> None:
        self.clusters, self.home = clusters, home
        self.topic = f"kept-{uuid.uuid4().hex[:6]}"
        self.written: Counter[bytes] = Counter()
        one, two = clusters
        self.config = home / "both.properties"
        self.config.write_text(
            f"clusters = {one}, {two}\n"
            f"{one}->{two}.enabled = true\n{two}->{one}.enabled = true\n"
            + "".join(f"{each}.bootstrap.servers = {at}\n" for each, at in clusters.items())
            + "replication.policy.class = IdentityReplicationPolicy\n"
            f"topics = {self.topic}\nreplication.factor = 1\n"
            "isthmus.topics.replication.factor = 1\nemit.heartbeats.enabled = false\n"
        )
        self.drivers: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, target: str) -> None:
        command = [sys.executable, "-m", "spark_jobs.replicate", "--config", str(self.config)]
        with (self.home / f"{target}.log").open("ab") as log:
            self.drivers[target] = subprocess.Popen(
                [*command, "--target", target, "--state-dir", str(self.home / target)],
                cwd=REPOSITORY,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def runs(self, source: str, target: str) -> bool:
        name = f"{source}->{target}"
        store = StateStore({"bootstrap.servers": self.clusters[target]}, 1)
        try:
            found = store.read(status_topic(source)).get(FlowStatus(name).key())
        except ClusterUnavailable:  # the topic was created a moment ago, and has no leader yet
            return False
        finally:
            store.close()
        return isinstance(found, FlowStatus) and found.state == "RUNNING"

    def write(self, count: int) -> None:
        for each, at in self.clusters.items():
            values = [b"%s %d" % (each.encode(), len(self.written) + n) for n in range(count)]
            kafka_records.produce(at, self.topic, [(n % 2, b"k", v) for n, v in enumerate(values)])
            self.written.update(values)

    def records_on(self, alias: str) -> Counter[bytes]:
        found = kafka_records.consume_all(self.clusters[alias], self.topic)
        return Counter(each.value or b"" for each in found)

    def is_everywhere(self) -> bool:
        found = [self.records_on(each) for each in self.clusters]
        assert all(each <= self.written for each in found), "records came twice, or home"
        return all(each == self.written for each in found)

    def close(self) -> None:
        for each in self.drivers.values():
            if each.poll() is None:
                each.terminate()
        for each in self.drivers.values():
            try:
                each.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()
        for each in self.clusters:
            show(self.home / f"{each}.log")


@pytest.fixture
def both(source_cluster, target_cluster, tmp_path):
    mark = uuid.uuid4().hex[:4]
    clusters = {
        f"x{mark}": source_cluster.bootstrap_servers,
        f"y{mark}": target_cluster.bootstrap_servers,
    }
    made = BothWays(clusters, tmp_path)
    for at in clusters.values():
        kafka_records.create_topic(at, made.topic, 2)
    yield made
    made.close()


def test_two_drivers_copy_both_ways_and_nothing_comes_home_when_one_is_killed(both):
    one, two = both.clusters
    both.write(200)
    both.start(one)
    both.start(two)
    wait_for(lambda: both.runs(one, two) and both.runs(two, one))
    wait_for(both.is_everywhere)
    os.killpg(both.drivers[two].pid, signal.SIGKILL)
    both.drivers[two].wait(120)
    both.write(200)
    both.start(two)
    wait_for(both.is_everywhere)
    reported = CliRunner().invoke(app, ["compare", str(both.config)])
    assert reported.exit_code == 0, (
        reported.output
    )  # each flow's own records, local ones left aside
