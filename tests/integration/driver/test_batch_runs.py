"""Runs of a batch flow between real clusters: they end, and continue what a kill cut off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.flows.spark_driver import Application, wait_for

from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import StateDirectory
from replication.config.load import load_config
from replication.model import FlowState
from replication.state import anchors_topic
from replication.supervision.driver_supervision import applications

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]
SLOW = "copy.max.bytes.per.second = 300000\n"  # 20 s, so that a kill comes in the middle


@pytest.fixture
def flow(source_cluster, target_cluster, tmp_path):
    made = Application(
        source_cluster, target_cluster, tmp_path / "app", more=f"SOURCE->B.mode = batch\n{SLOW}"
    )
    yield made
    (app,) = applications(load_config(made.config).config)
    Launcher(StateDirectory(tmp_path / "home"), made.config).stop(app)
    made.close()


def run(flow, *words):
    """Run ``isthmus`` with the flow's file."""
    home = flow.home.parent / "home"
    return subprocess.run(
        [sys.executable, "-m", "orchestration.cli.main", words[0], str(flow.config), *words[1:]],
        env={**os.environ, "ISTHMUS_HOME": str(home), "COLUMNS": "200"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def kill_while_it_copies(flow):
    """Kill driver and watcher, as a loss of power would, when the first anchor has moved."""
    anchors = anchors_topic(flow.alias)

    def it_copies() -> bool:
        copied = any(getattr(each, "records", 0) for each in flow.state(anchors).values())
        return copied and flow.status().state == FlowState.RUNNING

    wait_for(it_copies)
    driver = flow.status().pid
    for pid in (_parent(driver), driver):
        os.kill(pid, signal.SIGKILL)


def _parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_run_ends_and_the_next_one_continues_also_after_a_kill(flow):
    topic = flow.topic()
    flow.produce(topic, 20_000)
    killer = threading.Thread(target=kill_while_it_copies, args=(flow,))
    killer.start()
    first = run(flow, "batch")
    killer.join()
    assert first.returncode == 1, first.stderr
    assert "its driver ended without a result" in first.stdout
    assert "its last run was cut off" in run(flow, "status").stdout

    flow.config.write_text(flow.config.read_text().replace(SLOW, ""))
    flow.produce(topic, 500, seed=2)
    second = run(flow, "batch", "-o", "json")
    assert second.returncode == 0, second.stderr
    (reported,) = json.loads(second.stdout)
    assert reported["problem"] == ""
    ends = {each["partition"]: each["end"] for each in reported["ranges"]}
    assert sum(ends.values()) == 20_500
    assert flow.is_copied(topic)
    status = run(flow, "status")
    assert status.returncode == 0, status.stdout
    assert "IDLE" in status.stdout
    assert "a batch flow; its last run ended" in status.stdout

    flow.produce(topic, 300, seed=3)
    moved = run(
        flow, "switchover", "--flow", flow.flow, "--yes", "--quiet", "1", "--timeout", "120"
    )
    assert moved.returncode == 0, moved.stderr
    assert "copied 300 records of 2 partitions" in moved.stdout
    assert "B is open for clients" in moved.stdout
    assert flow.is_copied(topic)
