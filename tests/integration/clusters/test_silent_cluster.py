"""Commands on a file of which one cluster does not answer: they tell of the other flows."""

from __future__ import annotations

import json
import socket

import pytest
from support.flows.command import run_command

pytestmark = pytest.mark.integration


@pytest.fixture
def file(source_cluster, target_cluster, topic_name, tmp_path, monkeypatch):
    """Two flows from one source; nothing listens at the target of the second."""
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        silent = f"127.0.0.1:{closed.getsockname()[1]}"
        addresses = (source_cluster.bootstrap_servers, target_cluster.bootstrap_servers, silent)
        names = ("here", "there", "gone")
        lines = [
            "clusters = here, there, gone",
            *(f"{n}.bootstrap.servers = {at}" for n, at in zip(names, addresses, strict=True)),
            *(f"here->{each}.enabled = true" for each in names[1:]),
            f"topics = {topic_name()}",
            "replication.factor = 1",
        ]
        path = tmp_path / "flows.properties"
        path.write_text("\n".join(lines) + "\n")
        yield path


def assert_left(ended, *lines: str) -> None:
    assert ended.code == 1, ended
    assert ended.lines[-1].startswith(("error: here->gone: ", "here->gone: ", "  here->gone: "))
    assert "cluster gone does not answer: connecting to 127.0.0.1:" in ended.lines[-1]
    for each in lines:
        assert each in ended.out, ended


def test_the_flows_whose_clusters_answer_are_told_of(file, tmp_path):
    assert_left(run_command("resolve", file), "no partition of here->there is halted")
    assert_left(run_command("losses", file), "no offset of here->there was skipped")
    differs = run_command("offsets", "diff", file, "-o", "json")
    assert_left(differs)
    assert json.loads(differs.out) == []
    beats = run_command("heartbeats", file, "-o", "json")
    assert_left(beats)
    assert {each["at"] for each in json.loads(beats.out)} <= {"there"}
    page = tmp_path / "page.html"
    sampled = run_command("report", file, "--file", page, "--seconds", 2, "--since", "0s")
    assert_left(sampled, f"wrote {page}")
    text = page.read_text()
    assert "UNKNOWN: target cluster gone did not answer" in text
    assert "<h2>here-&gt;there</h2>" in text


def test_a_takeover_is_planned_for_them_and_carried_out_for_none(file):
    plan = run_command("takeover", "--from-mm2", file, "--watch-seconds", 0)
    assert_left(plan, "here->there: MirrorMaker 2 is stopped", "nothing was changed")
    assert_left(run_command("handback", "--to-mm2", file), "here->there: offsets to store in ")
    for command in (("takeover", "--from-mm2"), ("handback", "--to-mm2")):
        ended = run_command(*command, file, "--all", "--yes")
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.startswith("error: cluster gone does not answer: ")
    alone = run_command(
        "takeover", "--from-mm2", file, "--flow", "here->there", "--watch-seconds", 0
    )
    assert alone.code == 0, alone
