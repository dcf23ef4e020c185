"""An operator whose predecessor was killed, and a flow that somebody resumes meanwhile."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.fakes.state_logs import LogStore
from support.settings.configs import a_flow
from tenacity import wait_none

from orchestration.flows.intents import write_intent
from orchestration.recovery import operator as operators
from orchestration.recovery import step_retry
from orchestration.recovery.operator import Operator
from replication.errors import ClusterRejected, ClusterUnavailable, FlowTaken, WrongCluster
from replication.model import Desired
from replication.recovery.procedure import StepPlan, stopped_by
from replication.state import Intent, Operation, status_topic

STATUS = status_topic("A")
STEPS = tuple(StepPlan(name, "", "") for name in ("stop", "fence", "open target"))


class Stage:
    """A flow and the steps that its operators carry out, in order."""

    def __init__(self) -> None:
        self.store, self.flow, self.did, self.output = LogStore(), a_flow(), [], []

    def want(self, desired: Desired, by: str) -> None:
        self.store.write(STATUS, Intent("A->B", desired, by, 1))

    def step(self, name: str, operation: Operation) -> str:
        self.did.append(name)
        if name == "stop":
            self.want(Desired.STOP, f"ada@one, {stopped_by(operation)}")
        return name

    def carry_out(self, verb="failover", **during) -> Operation:
        """Carry the steps out; ``during`` says what else a step does."""

        def work(name):
            def carry(operation):
                during.get(name, lambda: None)()
                return self.step(name, operation)

            return carry

        operator = self.operator()
        operator.take(verb, {})
        return operator.carry_out(STEPS, {each.name: work(each.name) for each in STEPS})

    def operator(self) -> Operator:
        return Operator(self.flow, self.store, self.output.append)


@pytest.fixture
def stage(monkeypatch) -> Stage:
    monkeypatch.setattr(operators, "WATCH_S", 0.0)
    monkeypatch.setattr(step_retry, "_PAUSE", wait_none())
    return Stage()


class Killed(Exception):
    pass


def kill():
    raise Killed


def test_an_operation_is_continued_at_the_step_that_did_not_end(stage):
    with pytest.raises(Killed):
        stage.carry_out(fence=kill)
    first = stage.store.logs[STATUS][0]
    done = stage.carry_out()
    assert done.id == first.id
    assert stage.did == ["stop", "fence", "open target"]


def test_after_a_resume_an_interrupted_operation_is_not_continued_but_begun_anew(stage):
    with pytest.raises(Killed):
        stage.carry_out(fence=kill)
    first = stage.store.logs[STATUS][0]
    stage.want(Desired.RUN, "bob@two")
    done = stage.carry_out()
    assert done.id != first.id
    assert stage.did == ["stop", "stop", "fence", "open target"]
    assert any("bob@two set its desired state to run" in each for each in stage.output)


def test_a_flow_that_is_resumed_while_an_operator_works_is_not_failed_over(stage):
    with pytest.raises(ClusterRejected, match="bob@two set its desired state to run after failov"):
        stage.carry_out(fence=lambda: stage.want(Desired.RUN, "bob@two"))
    assert stage.did == ["stop", "fence"]
    assert Operator(stage.flow, stage.store, print).last().writable == ""


def test_a_drill_that_was_killed_is_not_continued_under_a_name_of_its_own(stage):
    """A switchover of the flow and a drill of it do not hinder one another."""
    begun = Operator(stage.flow, stage.store, stage.output.append, "a drill").take("drill", {})
    again = Operator(stage.flow, stage.store, stage.output.append, "a drill").take("drill", {})
    assert again.id != begun.id
    assert (again.flow, again.turn) == ("a drill", 2)
    assert Operator(stage.flow, stage.store, print).last() is None
    assert Operator(stage.flow, stage.store, print).take("switchover", {}).turn == 1


def failing(*errors):
    left = list(errors)

    def fail():
        if left:
            raise left.pop(0)

    return fail


def test_a_step_is_tried_again_while_a_cluster_does_not_answer(stage):
    late = ClusterUnavailable("connecting to b:9092: timed out")
    done = stage.carry_out(fence=failing(late, late))
    assert (done.state, stage.did) == ("done", ["stop", "fence", "open target"])
    retries = [each for each in stage.output if each.startswith("  connecting to b:9092: timed")]
    assert [each.split("; ")[1] for each in retries] == [
        "retry 1 of 4 in 0 s",
        "retry 2 of 4 in 0 s",
    ]


@pytest.mark.parametrize(
    ("verb", "errors", "tries"),
    [
        ("failover", [ClusterUnavailable("gone")] * 9, 5),
        ("failover", [WrongCluster("another one")], 1),
        ("failover", [ClusterRejected("not allowed")], 1),
        ("drill", [ClusterUnavailable("gone")], 1),
    ],
)
def test_a_step_that_does_not_succeed_ends_the_procedure(stage, verb, errors, tries):
    fail, called = failing(*errors), []
    with pytest.raises(type(errors[0])):
        stage.carry_out(verb, fence=lambda: (called.append(1), fail()))
    assert (len(called), stage.did) == (tries, ["stop"])


def finish(stage):
    """Continue as another operator while the first one is cut off: the target is open then."""
    other = stage.operator()
    other.take("failover", {})
    other.carry_out(STEPS, {each.name: lambda _: "done by another" for each in STEPS})
    other.amend(writable="B")


def test_what_an_operator_writes_that_lost_its_turn_hides_no_open_target(stage):
    """It writes until it looks: a beat, and that its step has ended."""

    def beat_after_that():
        mine = stage.store.logs[STATUS][-1]
        finish(stage)
        stage.store.post(STATUS, mine)

    with pytest.raises(FlowTaken):
        stage.carry_out(fence=beat_after_that)
    last = stage.operator().last()
    assert (last.state, last.writable) == ("done", "B")
    assert stage.did == ["stop", "fence"]
    clusters = SimpleNamespace(store=lambda _: stage.store)
    with pytest.raises(ClusterRejected, match="B is open for clients since failover"):
        write_intent(stage.flow, Desired.RUN, clusters)


def test_a_step_is_not_tried_again_by_an_operator_that_lost_its_turn_meanwhile(stage):
    tries = []

    def cut_off():
        tries.append(1)
        finish(stage)
        raise ClusterUnavailable("connecting to b:9092: timed out")

    with pytest.raises(FlowTaken):
        stage.carry_out(fence=cut_off)
    assert (len(tries), stage.did) == (1, ["stop"])


def test_an_operator_that_lost_its_turn_at_the_last_step_does_not_say_that_it_is_done(stage):
    with pytest.raises(FlowTaken):
        stage.carry_out(**{"open target": lambda: finish(stage)})
    assert stage.operator().last().done[-1][2] == "done by another"


def test_each_operation_is_told_once_as_its_last_operator_wrote_it(stage):
    for _ in range(2):
        with pytest.raises(Killed):
            stage.carry_out(fence=kill)
    (found,) = stage.operator().operations()
    assert found.turn == 2
