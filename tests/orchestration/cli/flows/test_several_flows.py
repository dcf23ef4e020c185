"""Commands over several flows: what fails for one keeps no other from its turn."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from support.flows.command import run_command
from support.settings.config_files import TWO, written

from orchestration.cli.positions import group_offsets
from orchestration.cli.recovery import drill
from replication.errors import ClusterUnavailable

SILENT = "cluster D does not answer: refused"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file with A->B, on which the work fails, A->C, and A->D, whose target is silent."""
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    for module in (group_offsets, drill):
        monkeypatch.setattr(module, "reachable_flows", reachable)
    more = "".join(f"{each}.bootstrap.servers = x:9\nA->{each}.enabled = true\n" for each in "CD")
    return written(tmp_path, f"{TWO}clusters = A, B, C, D\n{more}")


def reachable(config, _):
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
