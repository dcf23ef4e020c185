"""``isthmus plan`` and ``apply`` with clusters in memory: output, exit codes, and their reasons."""

from __future__ import annotations

import json
import time

import pytest
import typer
from support.fakes.memory_admin import MemoryClients, MemoryCluster, MemoryRecords
from typer.testing import CliRunner

from orchestration.cli.configuration import plan as module
from orchestration.flows import plans
from orchestration.flows.reachability import Answers
from replication.state import FlowStatus

CONFIG = """\
clusters = A, B
A.bootstrap.servers = 127.0.0.1:1
B.bootstrap.servers = 127.0.0.1:2
A->B.enabled = true
A->B.topics = orders, stock
A->B.sync.topic.acls.enabled = false
replication.factor = 1
"""
app = typer.Typer()
app.command()(module.plan)
app.command()(module.apply)


@pytest.fixture
def clusters(monkeypatch):
    """Clusters A and B, which the commands ask instead of real ones."""
    found = {"A": MemoryCluster({"orders": 2, "stock": 3}), "B": MemoryCluster()}
    monkeypatch.setattr(plans, "KafkaClients", lambda _: MemoryClients(found))
    monkeypatch.setattr(Answers, "ask", lambda answers: answers)
    return found


@pytest.fixture
def run(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(CONFIG)
    return lambda verb, *more: CliRunner().invoke(app, [verb, str(file), *more])


def test_a_topic_that_is_left_alone_is_a_skip_without_a_problem(clusters, run):
    clusters["B"].counts = {"A.orders": 2, "A.stock": 5}  # more than the source has
    done = run("apply", "-o", "json")
    reported = json.loads(done.stdout)
    assert (done.exit_code, reported["failed"]) == (0, False)
    (stock,) = [each for each in reported["outcomes"] if "A.stock" in each["text"]]
    assert (stock["outcome"], stock["problem"]) == ("skipped", None)
    assert done.stderr == ""


def test_apply_ends_with_what_became_of_the_changes(clusters, run):
    clusters["B"].refuses = {("cleanup.policy", "compact")}
    clusters["A"].configs["stock"] = {"cleanup.policy": "compact"}
    done = run("apply")
    assert done.exit_code == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith(
        "1 of 2 changes made; 1 failed (cleanup.policy: creating topic A.stock: "
    )
    assert run("apply", "-o", "json").exit_code == 1
    clusters["B"].refuses = set()
    assert run("apply", "--again").stdout.splitlines()[-1] == "1 of 1 change made"


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.usefixtures("clusters")
def test_a_plan_with_changes_ends_with_their_number(run, output):
    done = run("plan", "-o", output)
    assert done.exit_code == 2
    last = (done.stdout if output == "text" else done.stderr).splitlines()[-1]
    assert last.startswith("2 changes; make them with: isthmus apply ")
    assert "--flow" not in last


@pytest.mark.usefixtures("clusters")
def test_the_command_that_makes_the_changes_names_the_flows_of_the_plan(run):
    assert run("plan", "-f", "A:B").stdout.splitlines()[-1].endswith(" --flow A:B")


def test_plan_and_apply_say_when_a_driver_runs_by_other_settings(clusters, run, monkeypatch):
    now_ms = int(time.time() * 1000)
    known = {"beat_ms": now_ms, "config": "other", "config_read_ms": 1_000}
    records = MemoryRecords()
    records.write("isthmus-status.A.internal", FlowStatus("A->B", **known))
    monkeypatch.setattr(plans, "KafkaClients", lambda _: MemoryClients(clusters, records))
    line = "A->B: its driver uses the file as read at 1970-01-01 00:00:01 UTC, not the present one"
    assert f"{line}; it follows within seconds" in run("plan").stdout
    assert line in run("apply").stdout
    assert json.loads(run("plan", "-o", "json").stdout)["older_settings"] == [
        f"{line}; it follows within seconds"
    ]
    records.write("isthmus-status.A.internal", FlowStatus("A->B", **{**known, "beat_ms": 1}))
    assert line not in run("plan").stdout
