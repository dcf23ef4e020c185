"""Three secured sources merged into one, from the file of an operator as it is."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.flows.spark_driver import REPOSITORY, show, wait_for
from typer.testing import CliRunner

from orchestration.cli.main import app
from orchestration.demo.event_producer import Load, create_topics, write
from orchestration.demo.local_logins import grant_needed
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.local.process_tree import below, kill
from replication.adapters.local_secured.secret_file import STORES
from replication.adapters.local_secured.secured_cluster import SecuredCluster
from replication.model import TopicPartition

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]
FILE = Path(__file__).parents[2] / "inputs" / "merge-full.properties"
PORTS = {"dc1": 19094, "dc2": 29094, "dc3": 39094, "target": 49094}  # in the file
SOURCES = ("dc1", "dc2", "dc3")
TOPICS = ("orders", "customers", "products")
PARTITIONS = 3  # of a source's topic
EACH, PORTIONS = 1_000, 6  # records of a source at a time


def secured(name: str, directory: Path) -> SecuredCluster:
    """Return a cluster with the passwords that the file has."""
    user = f"mirror-{name}"
    known = {user: f"{name}-password", STORES: "truststore-password"}
    cluster = SecuredCluster(
        name, directory, users=(user,), passwords=known, properties={"log.retention.ms": "-1"}
    )
    cluster.start()
    return cluster


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    directory = tmp_path_factory.mktemp("merged")
    with ThreadPoolExecutor() as pool:
        started = list(pool.map(lambda name: secured(name, directory), PORTS))
    yield {each.name: each for each in started}
    for each in started:
        each.destroy()


@pytest.fixture
def file(clusters, tmp_path):
    """Return the file with the ports of ``clusters``, and the trust stores where it has them."""
    text = FILE.read_text()
    (tmp_path / "certs").mkdir()
    for name, port in PORTS.items():
        text = text.replace(f"127.0.0.1:{port}", clusters[name].bootstrap_servers)
        store = tmp_path / "certs" / f"{name}-truststore.jks"
        store.write_bytes((clusters[name].folder / "truststore.jks").read_bytes())
    path = tmp_path / "merge-full.properties"
    path.write_text(text)
    for name, cluster in clusters.items():
        grant_needed([cluster], path, f"mirror-{name}")
    return path


@pytest.fixture
def driver(clusters, file, tmp_path):
    """Start the driver of all three flows, with something to copy."""
    for name in SOURCES:
        create_topics(to_librdkafka(clusters[name].admin), TOPICS, PARTITIONS)
    feed(clusters, [0])
    log = tmp_path / "driver.log"
    command = [sys.executable, "-m", "spark_jobs.replicate", "--config", str(file)]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*command, "--target", "target", "--state-dir", str(tmp_path / "state")],
            cwd=REPOSITORY,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    yield process
    process.terminate()
    try:
        process.wait(60)  # a busy machine takes long to end three flows cleanly
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    show(log)


def feed(clusters, turns) -> None:
    """Write a portion after the other into each source."""
    for turn in turns:
        for place, name in enumerate(SOURCES):
            client = to_librdkafka(clusters[name].admin)
            write(client, Load(TOPICS, PARTITIONS, EACH, 10 * turn + place, name))


def copied(clusters) -> int:
    """Return how many records are on the target."""
    admin = KafkaAdmin(to_librdkafka(clusters["target"].admin))
    there = [TopicPartition(topic, n) for topic in TOPICS for n in range(PARTITIONS)]
    return sum(admin.end_offsets(there).values())


def compared(file: Path) -> dict:
    """Compare all that is there now, with the logins of the file."""
    run = CliRunner().invoke(app, ["compare", str(file), "--wait", "120", "-o", "json"])
    assert run.exit_code in (0, 1), run.output
    return json.loads(run.stdout)


def busiest(pid: int) -> int:
    """Return the Python worker that copies most."""
    workers = [each for each in below(pid) if "pyspark.worker" in each.command]
    return max(workers, key=lambda each: each.cpu_s).pid


def test_use_27_the_file_as_it_is_merges_three_secured_sources_while_a_worker_is_killed(
    clusters, file, driver
):
    """SEC: SCRAM over TLS with JKS stores, and users with the rights that the file needs."""
    wait_for(lambda: copied(clusters) >= EACH, 400)
    feeding = threading.Thread(target=feed, args=(clusters, range(1, PORTIONS)))
    feeding.start()
    wait_for(lambda: copied(clusters) >= 5 * EACH)
    kill(busiest(driver.pid))
    feeding.join()
    found = compared(file)
    counts = {key: found[key] for key in ("lost", "repeated", "different", "out_of_order")}
    assert counts == dict.fromkeys(counts, 0), found
    assert (found["result"], found["records"]) == ("equal", EACH * PORTIONS * len(SOURCES))
    assert driver.poll() is None
