"""A Spark standalone cluster of one master and two workers on this machine."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from support.flows.spark_driver import Application, wait_for

from replication.adapters.local.local_network import free_ports
from replication.adapters.local.pyspark_home import pyspark_home
from replication.model import FlowState

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"


class Standalone:
    """Starts and stops the daemons of Spark's own cluster manager."""

    def __init__(self, home) -> None:
        self.home = home
        (port,) = free_ports(1)
        self.master = f"spark://127.0.0.1:{port}"
        self._daemons = []
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(port))

    def add_worker(self) -> None:
        directory = self.home / f"worker-{len(self._daemons)}"
        self._start(
            "worker.Worker", "--cores", "1", "--memory", "600m", "--host", "127.0.0.1",
            "--work-dir", str(directory), self.master,
        )  # fmt: skip

    def stop(self) -> None:
        for each in self._daemons:
            os.killpg(each.pid, signal.SIGTERM)
        for each in self._daemons:
            try:
                each.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()

    def _start(self, name: str, *arguments: str) -> None:
        command = [str(pyspark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
        with (self.home / "spark.log").open("ab") as log:
            daemon = subprocess.Popen(
                [*command, *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={
                    **os.environ,
                    "SPARK_HOME": str(pyspark_home()),
                    "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_DAEMON_JAVA_OPTS": QUICK_START,
                },
            )
        self._daemons.append(daemon)


@pytest.fixture
def standalone(tmp_path):
    cluster = Standalone(tmp_path)
    yield cluster
    cluster.stop()


def test_a_flow_waits_for_its_slots_and_then_is_copied_by_two_workers(
    standalone, source_cluster, target_cluster, tmp_path
):
    """BL-115."""
    standalone.add_worker()
    more = (
        f"spark.master = {standalone.master}\nspark.conf.spark.executor.memory = 600m\n"
        "spark.conf.spark.executor.cores = 1\n"
        f"spark.conf.spark.executor.extraJavaOptions = {QUICK_START}\n"
    )
    application = Application(source_cluster, target_cluster, tmp_path / "app", more)
    topic = application.topic()
    application.produce(topic, 1000)
    try:
        driver = application.start()
        status = application.await_state(FlowState.FAILED)
        wait_for(lambda: "has 1 free slots" in application.status().reason)
        assert "this flow's units need 2: add workers or cores" in application.status().reason
        standalone.add_worker()
        application.await_state(FlowState.RUNNING)
        wait_for(lambda: application.is_copied(topic))
        assert application.status().generation == status.generation
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(120) == 0
    finally:
        application.close()
