"""The end of a Spark driver between real clusters: by a signal, of its JVM, of itself."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import closing

import pytest
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records

from replication.model import FlowState
from spark_jobs.process.appdir import AppDir

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def application(source_cluster, target_cluster, tmp_path):
    made = Application(source_cluster, target_cluster, tmp_path / "app")
    yield made
    made.close()


@pytest.fixture(scope="module")
def watched(source_cluster, target_cluster, tmp_path_factory):
    """A watched driver; a start takes long, so two tests share it."""
    home = tmp_path_factory.mktemp("watched") / "app"
    with closing(Application(source_cluster, target_cluster, home)) as made:
        made.start(module="watch")
        yield made


@pytest.mark.last
def test_ended_by_a_signal_it_ends_its_epoch_and_says_so(watched):
    """BL-133. Its exit code ends the watcher too, with the same one."""
    topic, (watcher,) = watched.topic(), watched.drivers
    watched.produce(topic, 500)
    wait_for(lambda: watched.is_copied(topic))
    before = len(log_of(watched))
    os.kill(watched.status().pid, signal.SIGTERM)
    assert watcher.wait(120) == 0
    assert watched.status().state == FlowState.STOPPED
    assert "clean=True" in log_of(watched)[before:]
    ours, theirs = (
        [each.offset for each in kafka_records.consume_all(cluster.bootstrap_servers, name)]
        for cluster, name in (
            (watched.source, topic),
            (watched.target, f"{watched.alias}.{topic}"),
        )
    )
    assert ours == theirs


@pytest.mark.parametrize("after_s", [0.0, 2.0], ids=["at its start", "while Spark starts"])
def test_a_jvm_that_is_killed_while_it_starts_is_no_reason_to_give_up(application, after_s):
    driver = application.start()
    find = ["pgrep", "-P", str(driver.pid), "-f", "SparkSubmit"]
    wait_for(lambda: subprocess.run(find, check=False, capture_output=True).returncode == 0)
    time.sleep(after_s)
    kill_jvm(driver.pid)
    assert driver.wait(120) == 70
    assert "driver exiting for restart" in application.log()
    assert "Traceback" not in application.log()


def test_nothing_is_lost_or_repeated_when_the_jvm_and_then_the_driver_are_killed(watched):
    """BL-054 and BL-122: without its JVM a driver ends at once, to be started again."""
    topic = watched.topic()
    for seed, code in ((1, 70), (2, -9)):
        status = watched.await_state(FlowState.RUNNING)
        watched.produce(topic, 5000, seed)
        if code == -9:
            subprocess.run(["kill", "-9", str(status.pid)], check=True)
        else:
            kill_jvm(status.pid)
        wait_for(lambda code=code: f"driver ended with {code};" in log_of(watched))
        watched.produce(topic, 5000, seed + 10)
        wait_for(lambda before=status: watched.status().instance != before.instance)
    wait_for(lambda: watched.is_copied(topic))
    assert "Traceback" not in log_of(watched)


def log_of(watched: Application) -> str:
    return AppDir.of(watched.home / "state", "B").log.read_text()


def kill_jvm(driver: int) -> None:
    subprocess.run(["pkill", "-9", "-P", str(driver), "java"], check=True)
