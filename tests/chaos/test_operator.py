"""The operator of a chaos run answers what a fault explains, once, and reports what none does."""

from __future__ import annotations

import signal
import subprocess
from threading import Lock
from types import SimpleNamespace

import pytest

from chaos import operator
from chaos.application import FLOW
from chaos.done import Done
from chaos.operator import SimulatedOperator
from replication.model import TopicPartition
from replication.naming.conflicts import Named, TargetNames, find_conflicts
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
        command, output, problems = Command(code, printed), [], []
        monkeypatch.setattr(subprocess, "run", command)
        stage = SimpleNamespace(done=done, application=SimpleNamespace(config="f.properties"))
        operator = SimulatedOperator(
            stage, SimpleNamespace(anchors={AT: anchor}), problems, output.append
        )
        operator._ended.set()
        operator._decide(anchor)
        operator._decide(anchor)
        return SimpleNamespace(
            command=command, output=output, problems=problems, answered=operator.answered
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
    assert "ended with 1: no answer" in refused.output[0]


@pytest.fixture
def left_out(monkeypatch):
    def look(done: Done) -> SimpleNamespace:
        signals, settings, problems = [], [], []
        monkeypatch.setattr(operator, "send", lambda *of: signals.append(of))
        application = SimpleNamespace(add_setting=lambda *of: settings.append(of), driver=lambda: 7)
        stage = SimpleNamespace(done=done, application=application, locks={"driver": Lock()})
        stage.partitions = {"t": 2, "other": 1}
        status = SimpleNamespace(reason=f"A.t: the target has a topic {operator._TAKEN}; what now")
        one = SimulatedOperator(stage, SimpleNamespace(anchors={}, status=status), problems, print)
        one._agree()
        one._agree()
        return SimpleNamespace(
            signals=signals, settings=settings, problems=problems, answered=one.answered
        )

    return look


def test_topics_that_are_left_out_after_state_was_lost_are_accepted_once(left_out):
    seen = left_out(Done(state_lost=True))
    assert seen.settings == [("on.target.exists", "continue")]
    assert (seen.signals, seen.problems) == ([(7, signal.SIGKILL)], [])
    assert [*seen.answered] == [TopicPartition("t", 0), TopicPartition("t", 1)]


def test_topics_that_are_left_out_though_no_state_was_lost_are_a_problem(left_out):
    seen = left_out(Done())
    assert (seen.settings, seen.signals) == ([], [])
    assert (
        "A->B leaves topics out, which no fault explains: A.t: the target has" in seen.problems[0]
    )


def test_the_reason_of_a_flow_that_leaves_a_topic_out_is_the_one_that_is_looked_for():
    named = Named("A->B", "t", "t", "rule")
    (conflict,) = find_conflicts([named], TargetNames({"t"}, {"t"}))
    assert operator._TAKEN in conflict.reason


def test_a_state_that_no_fault_explains_is_a_problem_once_and_is_not_answered(run):
    seen = run(halted("SOURCE_TRUNCATED"), Done(state_lost=True))
    assert seen.command.arguments == []
    assert seen.problems == ["t-1 SOURCE_TRUNCATED, which no fault explains: why"]
