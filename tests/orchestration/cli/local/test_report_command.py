"""``isthmus report``: when it looks at the flows, what it leaves out, and how it ends."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.fakes.fake_flows import World
from support.flows.command import run_command
from support.settings.config_files import TWO, written

from orchestration.cli.local import report as module
from orchestration.flows.status_view import StatusView
from replication.config.load import load_config
from replication.errors import ClusterUnavailable
from replication.state import Drill

SILENT, THERE = "silent", "there"
REFUSED = "reading state at B:9092: connection refused"


@pytest.mark.parametrize(
    ("looks_s", "began_s"),
    [
        ((0.3,), [0, 1, 2, 3, 4, 5]),
        ((10.1,), [0]),
        ((0.3, 2.5, 0.3), [0, 1, 4, 5]),  # no burst follows a slow one
    ],
)
def test_a_look_begins_with_each_second_that_no_look_lasts_into(monkeypatch, looks_s, began_s):
    now, began = [70.0], []

    def sleep(s: float) -> None:
        assert s >= 0
        now[0] += s

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    for n, _ in enumerate(module.each_second(6)):
        began.append(round(now[0] - 70, 3))
        now[0] += looks_s[min(n, len(looks_s) - 1)]
    assert began == began_s


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    return written(tmp_path, TWO)


@pytest.fixture
def world(file, monkeypatch):
    """A->B, which copies, and had a drill."""
    found = World(load_config(file).config)
    found.copy(records=3, end=10)
    drill = Drill("A->B", good=True, ended_ms=1_700_000_000_000, rto_s=41.5, rpo_records=12)
    found.target.write("isthmus-status.A.internal", drill)
    monkeypatch.setattr(module, "KafkaClusters", lambda: found)
    monkeypatch.setattr(module, "StatusView", lambda config, _: StatusView(config, found, found))
    return found


@pytest.fixture
def report(file, world, tmp_path, monkeypatch):
    """Run it with two looks; ``silent``: whether the target is, at the start and at each of them.

    Returns how it ended, and the page.
    """

    def ended(*silent: str):
        def reachable(*_, **__):
            return (), {"A->B": "cluster B does not answer: refused"} if silent[0] == SILENT else {}

        def seconds(_):
            for each in silent[1:]:
                world.target.silent = each == SILENT
                yield

        monkeypatch.setattr(module, "reachable_flows", reachable)
        monkeypatch.setattr(module, "each_second", seconds)
        page = tmp_path / "page.html"
        return run_command("report", file, "--since", "0", "--file", page), page.read_text()

    return ended


def test_a_target_that_answers_to_the_end_is_no_error(report):
    ended, page = report(THERE, THERE, THERE)
    assert (ended.code, len(ended.lines)) == (0, 1)
    assert "41.5 s" in page


def test_a_target_that_falls_silent_meanwhile_is_named_and_its_exit_code_is_1(report):
    ended, page = report(THERE, THERE, SILENT)
    assert ended.code == 1
    assert ended.lines[0].startswith("wrote ")
    assert len(ended.lines) == 2
    assert ended.lines[1].startswith("error: A->B: ")
    assert f"target cluster B did not answer ({REFUSED})" in ended.lines[1]
    assert "<h3>Drills</h3>\n<p>not known</p>" in page


def test_a_target_that_stays_silent_is_named_as_other_commands_name_it(report):
    ended, _ = report(SILENT, SILENT, SILENT)
    assert (ended.code, ended.lines[1:]) == (1, ["error: A->B: cluster B does not answer: refused"])


def test_a_target_that_answers_at_the_end_is_known_whole(report):
    ended, page = report(SILENT, SILENT, THERE)
    assert ended.code == 0
    assert "41.5 s" in page


def test_drills_that_cannot_be_read_are_not_said_to_be_none(report, monkeypatch):
    def fail(*_):
        raise ClusterUnavailable(REFUSED)

    monkeypatch.setattr(module, "_drills", fail)
    ended, page = report(THERE, THERE, THERE)
    assert (ended.code, ended.lines[1:]) == (1, [f"error: A->B: {REFUSED}"])
    assert "<h3>Drills</h3>\n<p>not known</p>" in page
    assert "<h3>Losses</h3>\n<p>nothing was lost</p>" in page
