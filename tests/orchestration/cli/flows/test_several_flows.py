"""Commands over several flows: what fails for one keeps no other from its turn."""

from __future__ import annotations

import json
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from support.flows.command import run_command
from support.settings.config_files import TWO, written

from orchestration.cli.flows import heartbeats
from orchestration.cli.positions import group_differences, group_offsets, handover
from orchestration.cli.recovery import drill
from orchestration.flows.group_rows import GroupOffsetDifference
from orchestration.handover.handover import TakeoverFinding
from replication.errors import ClusterUnavailable, ConfigError, FlowTaken
from replication.mm2.heartbeats import Age

SILENT = "cluster D does not answer: refused"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file with A->B, on which the work fails, A->C, and A->D, whose target is silent."""
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    for module in (group_offsets, group_differences, heartbeats, handover, drill):
        monkeypatch.setattr(module, "reachable_flows", reachable)
    more = "".join(f"{each}.bootstrap.servers = x:9\nA->{each}.enabled = true\n" for each in "CD")
    return written(tmp_path, f"{TWO}clusters = A, B, C, D\n{more}")


def reachable(config, _, **__):
    flows = tuple(each for each in config.flows if each.target != "D")
    return flows, {"A->D": SILENT}


def fails_for_b(flow) -> None:
    if flow.target == "B":
        raise ClusterUnavailable("broker 4 of B does not answer")


def test_the_offsets_of_the_other_flows_are_synced(file, monkeypatch):
    @contextmanager
    def opened(flow, _):
        fails_for_b(flow)
        yield SimpleNamespace(sync=lambda **_: "2 groups, 1 updated"), None

    monkeypatch.setattr(group_offsets, "opened_sync", opened)
    ended = run_command("offsets", "sync", file, "--all")
    assert ended.code == 1
    assert ended.lines == [
        "A->C: 2 groups, 1 updated",
        f"error: A->D: {SILENT}",
        "  A->B: broker 4 of B does not answer",
    ]


def test_the_other_flows_are_drilled(file, monkeypatch):
    report = SimpleNamespace(good=True, lines=lambda: ["drill of A->C: good"])

    @contextmanager
    def opened(flow, *_):
        fails_for_b(flow)
        yield SimpleNamespace(
            refuse_in_need=lambda: None, steps=lambda: (), carry_out=lambda: report
        )

    monkeypatch.setattr(drill, "opened_drill", opened)
    monkeypatch.setattr(drill, "require_target", lambda *_: None)
    monkeypatch.setattr(drill, "interrupt_once", lambda: None)
    ended = run_command("drill", file, "--all", "--yes")
    assert ended.code == 1
    assert "drill of A->C: good" in ended.out
    assert f"A->D: {SILENT}; A->B: broker 4 of B does not answer" in ended.lines[-1]


MOVED = GroupOffsetDifference("g", "t-0", 5, 1, 3, 5, 1, "set")
LEFT = [f"error: A->D: {SILENT}", "  A->B: broker 4 of B does not answer"]


def test_the_groups_of_the_other_flows_are_compared(file, monkeypatch):
    def found(flow, _):
        fails_for_b(flow)
        return [MOVED]

    monkeypatch.setattr(group_differences, "_differences", found)
    ended = run_command("offsets", "diff", file, "-o", "json")
    assert (ended.code, [each["group"] for each in json.loads(ended.out)]) == (1, ["g"])
    changes, *left = ended.err.splitlines()
    assert changes.startswith("1 offset would change; set them with: isthmus offsets sync ")
    assert left == [LEFT[0].removeprefix("error: "), LEFT[1]]


def test_where_the_groups_of_no_flow_could_be_compared_there_is_no_list(file, monkeypatch):
    def fail(*_):
        raise ClusterUnavailable("broker 4 of B does not answer")

    monkeypatch.setattr(group_differences, "_differences", fail)
    ended = run_command("offsets", "diff", file)
    why = "broker 4 of B does not answer"
    assert (ended.code, ended.lines) == (1, [*LEFT, f"  A->C: {why}"])


@pytest.mark.parametrize("beats", [True, False])
def test_the_heartbeats_of_the_other_targets_are_shown(file, monkeypatch, beats):
    def found(flow, _):
        fails_for_b(flow)
        return [Age("C", "heartbeats", "A", "C", 700)] if beats else []

    monkeypatch.setattr(heartbeats, "_ages", found)
    ended = run_command("heartbeats", file)
    left = [LEFT[0].removeprefix("error: "), LEFT[1]]
    assert (ended.code, ended.lines[-2:]) == (1, left)
    assert ("0.7 s" in ended.out) is beats
    assert ("no heartbeat found: is emit" in ended.err) is not beats


@pytest.mark.parametrize("output", ["text", "json"])
def test_where_no_heartbeats_could_be_read_none_is_said_to_be_missing(file, monkeypatch, output):
    def fail(*_):
        raise ClusterUnavailable("broker 4 of B does not answer")

    monkeypatch.setattr(heartbeats, "_ages", fail)
    ended = run_command("heartbeats", file, "-o", output)
    assert (ended.code, ended.out) == (1, "")
    assert ended.lines == [*LEFT, "  A->C: broker 4 of B does not answer"]


@pytest.fixture
def positions(monkeypatch):
    """Both directions between Isthmus and MirrorMaker 2, without clusters."""
    monkeypatch.setattr(handover, "stopped_anchors", lambda *_: {})
    monkeypatch.setattr(
        handover, "examine_flow", lambda flow, *_: TakeoverFinding(flow, ("it is",), 3, ())
    )
    monkeypatch.setattr(handover, "plan_return", lambda *_: ())


@pytest.mark.usefixtures("positions")
@pytest.mark.parametrize("command", [("takeover", "--from-mm2"), ("handback", "--to-mm2")])
def test_the_plans_of_the_other_flows_are_shown(file, command):
    ended = run_command(*command, file)
    assert (ended.code, ended.lines[-1]) == (1, f"A->D: {SILENT}")
    assert {each.split(":")[0] for each in ended.lines[:-2]} == {"A->B", "A->C"}
    assert ended.lines[-2] == "nothing was changed: run it again with --yes"


@pytest.fixture
def running(monkeypatch, positions):  # noqa: ARG001 - it replaces a part of that
    """A->B runs, and so do those that are added."""
    flows = {"A->B"}

    def require_stopped(flow, _):
        if flow.name in flows:
            raise FlowTaken(f"{flow.name} is RUNNING: stop it first")
        return {}

    monkeypatch.setattr(handover, "stopped_anchors", require_stopped)
    return flows


@pytest.mark.parametrize("command", [("takeover", "--from-mm2"), ("handback", "--to-mm2")])
def test_a_flow_that_runs_keeps_no_other_from_its_plan(file, running, command):
    ended = run_command(*command, file)
    assert (ended.code, ended.lines[-3]) == (1, "nothing was changed: run it again with --yes")
    assert ended.lines[-2:] == [f"A->D: {SILENT}", "  A->B is RUNNING: stop it first"]
    assert {each.split(":")[0] for each in ended.lines[:-3]} == {"A->C"}
    running.add("A->C")
    ended = run_command(*command, file)
    left = ("B is RUNNING: stop it first", "C is RUNNING: stop it first")
    assert (ended.code, ended.out) == (1, "")
    assert ended.lines == [f"error: A->D: {SILENT}", *(f"  A->{each}" for each in left)]


@pytest.mark.parametrize("command", [("takeover", "--from-mm2"), ("handback", "--to-mm2")])
def test_the_error_of_a_flow_that_is_alone_is_that_of_the_command(tmp_path, monkeypatch, command):
    def wrong(*_):
        raise ConfigError("A->B: MirrorMaker 2 cannot name topics so")

    monkeypatch.setattr(handover, "reachable_flows", lambda config, _: (config.flows, {}))
    monkeypatch.setattr(handover, "stopped_anchors", wrong)
    ended = run_command(*command, written(tmp_path, TWO))
    assert (ended.code, ended.err) == (2, "error: A->B: MirrorMaker 2 cannot name topics so\n")


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("command", [("takeover", "--from-mm2"), ("handback", "--to-mm2")])
def test_with_yes_a_flow_that_runs_ends_the_command(file, monkeypatch, command):
    monkeypatch.setattr(handover, "answering_flows", lambda config, _: config.flows)
    ended = run_command(*command, file, "--all", "--yes")
    assert (ended.code, ended.lines) == (1, ["error: A->B is RUNNING: stop it first"])


@pytest.mark.usefixtures("positions")
@pytest.mark.parametrize("command", [("takeover", "--from-mm2"), ("handback", "--to-mm2")])
def test_no_flow_is_handed_over_while_a_cluster_of_one_that_was_named_is_silent(
    file, monkeypatch, command
):
    """One MirrorMaker 2 copies all of them."""

    def silent(_config, names):
        asked.append([*names])
        raise ClusterUnavailable(SILENT)

    asked: list[list[str]] = []
    monkeypatch.setattr(handover, "answering_flows", silent)
    ended = run_command(*command, file, "--all", "--yes")
    assert (ended.code, ended.lines) == (1, [f"error: {SILENT}"])
    assert asked == [["A->B", "A->C", "A->D"]]
