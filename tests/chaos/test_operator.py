"""The operator of a chaos run answers what a fault explains, once, and reports what none does."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from chaos.application import FLOW
from chaos.done import Done
from chaos.operator import Operator
from replication.model import TopicPartition
from replication.state import Anchor

AT = TopicPartition("t", 1)


def halted(state: str) -> Anchor:
    return Anchor(FLOW, *AT, "A.t", None, None, state=state, reason="why")


class Command:
    """Stands for the command ``isthmus``."""

    def __init__(self, code: int, printed: str) -> None:
        self.code, self.printed = code, printed
        self.arguments: list[str] = []

    def __call__(self, arguments, **_) -> subprocess.CompletedProcess[str]:
        self.arguments = arguments
        return subprocess.CompletedProcess(arguments, self.code, self.printed, "no answer")


@pytest.fixture
def run(monkeypatch):
    def look(anchor: Anchor, done: Done, code: int = 0, printed: str = "") -> SimpleNamespace:
        command, said, problems = Command(code, printed), [], []
        monkeypatch.setattr(subprocess, "run", command)
        stage = SimpleNamespace(done=done, application=SimpleNamespace(config="f.properties"))
        operator = Operator(stage, SimpleNamespace(anchors={AT: anchor}), problems, said.append)
        operator._ended.set()
        operator._decide(anchor)
        operator._decide(anchor)
        return SimpleNamespace(
            command=command, said=said, problems=problems, answered=operator.answered
        )

    return look


def test_a_lost_position_that_a_fault_explains_is_answered_for_that_partition(run):
    printed = f"{FLOW} t-1 POSITION_LOST: reseed\n"
    seen = run(halted("POSITION_LOST"), Done(state_lost=True), printed=printed)
    options = ["resolve", "f.properties", "reseed", "--flow", FLOW]
    assert seen.command.arguments[3:] == [*options, "--topic", "t", "--partition", "1"]
    assert (seen.answered, seen.problems) == ({AT: "reseed"}, [])


def test_an_answer_that_was_not_taken_counts_as_none(run):
    lost, done = halted("POSITION_LOST"), Done(state_lost=True)
    assert not run(lost, done, printed="no partition is halted\n").answered
    refused = run(lost, done, code=1)
    assert not refused.answered
    assert "ended with 1: no answer" in refused.said[0]


def test_a_state_that_no_fault_explains_is_a_problem_once_and_is_not_answered(run):
    seen = run(halted("SOURCE_TRUNCATED"), Done(state_lost=True))
    assert seen.command.arguments == []
    assert seen.problems == ["t-1 SOURCE_TRUNCATED, which no fault explains: why"]
