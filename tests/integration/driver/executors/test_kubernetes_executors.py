"""Spark's executors as pods of Kubernetes: its API is ours, the pods are processes here."""

from __future__ import annotations

import os
import re
import signal
from itertools import product
from pathlib import Path

import pytest
import yaml
from support.flows.spark_driver import Application, wait_for
from support.network.kubernetes_api import kubernetes

from replication.model import FlowState

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

OVERLAY = Path(__file__).parents[4] / "deploy" / "kubernetes-executors"
# Watches need web sockets; without one Spark asks again and again.
QUICK = """\
spark.conf.spark.kubernetes.executor.enableApiWatcher = false
spark.conf.spark.kubernetes.executor.apiPollingInterval = 1s
spark.conf.spark.kubernetes.executor.missingPodDetectDelta = 2s
spark.conf.spark.executor.extraJavaOptions = -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
"""


def settings(master: str) -> str:
    """Return the lines about Spark of the overlay's file, for drivers of this machine."""
    text = (OVERLAY / "mm2.properties").read_text()
    lines = [each for each in text.splitlines() if re.match(r"(spark\.|tasks\.)", each)]
    made = "\n".join(each for each in lines if not re.search(r"\.port =|bindAddress", each))
    for line, value in {
        "spark.master": master,
        "spark.conf.spark.driver.host": "127.0.0.1",
        "spark.conf.spark.executor.memory": "600m",
        "spark.conf.spark.kubernetes.executor.podTemplateFile": str(OVERLAY / "executor.yaml"),
    }.items():
        made, count = re.subn(
            rf"^{re.escape(line)} = .*$", f"{line} = {value}", made, flags=re.MULTILINE
        )
        assert count == 1, line
    return f"{made}\n{QUICK}"


def test_pods_copy_a_flow_and_another_one_comes_for_a_pod_that_was_killed(
    source_cluster, target_cluster, tmp_path
):
    with kubernetes(tmp_path) as cluster:
        more = settings(cluster.master)
        application = Application(source_cluster, target_cluster, tmp_path / "app", more)
        topic = application.topic()
        application.produce(topic, 1000)
        try:
            driver = application.start()
            application.await_state(FlowState.RUNNING)
            wait_for(lambda: application.is_copied(topic))
            first = list(cluster.pods.values())
            assert len(first) == 2
            for each in first:
                assert each.container["image"] == "isthmus:0.1.0"
                assert each.manifest["spec"]["securityContext"]["runAsNonRoot"] is True
            os.killpg(first[0].process.pid, signal.SIGKILL)
            application.produce(topic, 500, seed=2)
            wait_for(lambda: application.is_copied(topic))
            wait_for(lambda: len(cluster.pods) == 2 and first[0].name not in cluster.pods)
            driver.send_signal(signal.SIGTERM)
            assert driver.wait(120) == 0
            wait_for(lambda: not cluster.pods)
            rules = yaml.safe_load((OVERLAY / "role.yaml").read_text())["rules"]
            assert cluster.asked <= {
                pair for each in rules for pair in product(each["verbs"], each["resources"])
            }
        finally:
            application.close()
