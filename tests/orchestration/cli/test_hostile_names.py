"""Topics whose names are paths, markup or commands for a terminal: refused, each or as a whole."""

from __future__ import annotations

import pytest
from support.flows.command import runner
from support.network.fake_broker import FakeBroker

from replication.model import TopicPartition

CONFIG = """\
clusters = A, B
A.bootstrap.servers = {source}
B.bootstrap.servers = {target}
A->B.enabled = true
replication.factor = 1
"""


@pytest.fixture
def planned(tmp_path, monkeypatch, capsys):
    """Return a function that plans the flow of these topics."""
    monkeypatch.setenv("ISTHMUS_HOME", str(tmp_path / "home"))
    run, file = runner(monkeypatch, capsys), tmp_path / "mm2.properties"

    def plan(*names: str):
        topics = [TopicPartition(each, 0) for each in names]
        with FakeBroker(*topics, name="east") as source, FakeBroker(name="west") as target:
            file.write_text(CONFIG.format(source=source.address, target=target.address))
            return run("plan", file)

    return plan


def test_a_name_that_is_a_path_or_markup_is_refused_and_the_others_are_planned(planned, tmp_path):
    names = ("../../../evil", "/etc/passwd", "[bold]b[/bold]", "x" * 300, "ümlaut")
    ended = planned("orders", *names)
    assert ended.code == 2
    for each in names:
        assert f"! refuse A.{each}: {each} of A: " in ended.out
    assert "! create A.orders: 1 partition" in ended.out
    assert "Traceback" not in ended.out + ended.err
    assert list(tmp_path.rglob("*evil*")) == []


@pytest.mark.parametrize("name", ["red\x1b[31m", "nul\0name", "two\nlines", "\u202ebackwards"])
def test_a_name_with_control_characters_is_no_answer_of_a_broker(planned, name):
    ended = planned("orders", name)
    assert ended.code == 1
    assert name not in ended.out + ended.err
    assert ended.lines[-1].startswith("error: A->B: listing the topics at A (127.0.0.1:")
    assert ended.lines[-1].endswith(f"a topic is called {name!r}, which no broker accepts")
