"""A switchover whose steps fail, or whose operator ends, at every step; with a store in memory."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import ClassVar

import pytest
from support.fakes.memory_admin import MemoryCluster
from support.fakes.memory_network import MemoryCluster as MemoryNetwork
from support.fakes.state_logs import LogStore
from support.settings.configs import a_config, a_flow
from tenacity import wait_none

from orchestration.flows.intents import signature, write_intent
from orchestration.recovery import flow_operation, operator, step_retry
from orchestration.recovery.failover import Failover
from orchestration.recovery.operator import Operator
from orchestration.switchover.source_clients import SourceClients
from orchestration.switchover.switchover import Switchover
from orchestration.switchover.switchover_report import SwitchoverReport
from orchestration.switchover.write_denial import WriteDenial
from replication.errors import (
    ClusterRejected,
    ClusterUnavailable,
    ConfigError,
    FlowTaken,
    ReplicationError,
)
from replication.model import Desired, TopicPartition
from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
from replication.recovery.procedure import DONE, RUNNING, UNDONE, stopped_by
from replication.recovery.source_writers import SourceWriters
from replication.recovery.switchover import SwitchoverOptions, denials, switchover_steps
from replication.state import Intent, Operation, status_topic

FLOW = a_flow()
STATUS = status_topic("A")
HERE = TopicPartition("t", 0)
DENYING = SwitchoverOptions(deny_writes=True)
STEPS = [each.name for each in switchover_steps("A->B", "A", "B", DENYING)]
BEFORE_OPEN = STEPS[: STEPS.index("open target") + 1]


class Killed(BaseException):
    """The operator's process ended: nothing of it runs any more."""


class Rehearsal(Switchover):
    """A switchover whose steps do in memory what they do on clusters.

    ``others`` replace steps. ``cluster``: the source's rights.
    ``now``: what groups need at the end.
    """

    others: dict
    cluster: MemoryCluster
    now: tuple = ()

    def works(self):
        return {
            **dict.fromkeys(STEPS, lambda _: "done"),
            "deny writes": lambda now: self._denial().deny(now, {"t"}),
            "stop": self._stopped,
            "open target": self.open_target,
            "allow writes": self.allow_writes,
            **self.others,
        }

    def _stopped(self, now):
        by = f"{signature()}, {stopped_by(now)}"
        write_intent(FLOW, Desired.STOP, self.clusters, by=by)
        return "stopped"

    def _denial(self):
        return WriteDenial(self.cluster, "A", self.operator)

    def report(self):
        return SwitchoverReport("A->B", actions=self.now)


def fail(problem, _now):
    raise problem


class Clusters:
    def __init__(self, store: LogStore) -> None:
        self._store = store

    def store(self, _flow: object) -> LogStore:
        return self._store


class Silent(MemoryCluster):
    """A source that stops to answer after its rights were changed once."""

    def delete_acls(self, acls):
        raise ClusterUnavailable("A is silent")


@dataclass
class Stage:
    """What is left between two operators."""

    store: LogStore = field(default_factory=LogStore)
    cluster: MemoryCluster = field(default_factory=MemoryCluster)

    def operator(self, step: str = "", problem: BaseException | None = None) -> Rehearsal:
        """Return the switchover of another operator, in which a step fails."""
        someone = Operator(FLOW, self.store, lambda _: None)
        work = Rehearsal(FLOW, a_config(FLOW), Clusters(self.store), someone, None, None, DENYING)
        work.cluster = self.cluster
        work.others = {step: partial(fail, problem or ClusterUnavailable("it failed"))}
        return work

    @property
    def operation(self) -> Operation:
        found = self.operator().operator.last()
        assert found is not None
        return found

    def assert_as_it_was(self) -> None:
        intents = [each for each in self.store.logs[STATUS] if isinstance(each, Intent)]
        assert not intents or intents[-1].desired == Desired.RUN
        assert not denials(["t"]) & self.cluster.rights


@pytest.fixture
def stage(monkeypatch):
    monkeypatch.setattr(operator, "WATCH_S", 0.0)
    monkeypatch.setattr(step_retry, "_PAUSE", wait_none())
    return Stage()


@pytest.mark.parametrize("step", BEFORE_OPEN)
@pytest.mark.parametrize("problem", [ClusterRejected("no"), KeyboardInterrupt()], ids=repr)
def test_what_fails_before_the_target_is_open_is_undone(stage, step, problem):
    with pytest.raises(
        ClusterRejected, match=r"A->B was not switched over: (no|interrupted). Undo"
    ):
        stage.operator(step, problem).carry_out()
    assert (stage.operation.state, stage.operation.writable) == (UNDONE, "")
    stage.assert_as_it_was()


@pytest.mark.parametrize("step", STEPS)
def test_another_operator_continues_one_that_was_killed(stage, step):
    with pytest.raises(Killed):
        stage.operator(step, Killed()).carry_out()
    assert stage.operation.state == RUNNING
    done = stage.operator().carry_out().operation
    assert [name for name, _, _ in done.done] == STEPS
    assert (done.state, done.writable) == (DONE, "B")
    assert not denials(["t"]) & stage.cluster.rights


def test_what_the_killed_one_left_of_groups_is_told_and_not_what_is_so_since(stage):
    """Its consumers are on the target by now: each of their groups has members there."""
    left = LeaveOffset("g", HERE, "t-0 offset 3 is not copied yet")

    def leaving(_now):
        work.operator.note_left([left])
        return "set"

    work = stage.operator()
    work.others = {"set groups": leaving, "allow writes": partial(fail, Killed())}
    with pytest.raises(Killed):
        work.carry_out()
    last = stage.operator()
    last.now = (LeaveGroup("h", "it has active members on the target (Stable)"),)
    done = last.carry_out()
    assert done.left == (left,)
    assert done.as_json()["operation"]["left"] == {
        "set groups": [{"group": "g", "topic": "t", "partition": 0, "why": left.reason}]
    }


@pytest.mark.parametrize("step", BEFORE_OPEN)
def test_another_operator_undoes_one_that_was_killed(stage, step):
    with pytest.raises(Killed):
        stage.operator(step, Killed()).carry_out()
    assert "an operator undoes it" in stage.operator().undo()
    assert stage.operation.state == UNDONE
    stage.assert_as_it_was()


def test_after_the_target_is_open_a_failure_is_not_undone(stage):
    with pytest.raises(ClusterUnavailable, match="it failed"):
        stage.operator("allow writes").carry_out()
    assert (stage.operation.state, stage.operation.writable) == (RUNNING, "B")
    with pytest.raises(ClusterRejected, match="B is open already: run the switchover again"):
        stage.operator().undo()
    stage.operator().carry_out()
    assert not denials(["t"]) & stage.cluster.rights


def test_what_could_not_be_undone_is_undone_by_the_next_run_and_not_continued(stage):
    work = stage.operator("drain")
    stage.cluster.unloved = {"User:*"}
    work.works()["deny writes"]
    stage.cluster.unloved = set()

    class Silent(MemoryCluster):
        def delete_acls(self, acls):
            raise ClusterUnavailable("A is silent")

    work.cluster = Silent(rights=stage.cluster.rights)
    with pytest.raises(ClusterUnavailable, match=r"Not all was undone: A is silent; repeat it"):
        work.carry_out()
    assert stage.operation.state == RUNNING
    with pytest.raises(
        ClusterRejected, match=r"it failed. Undone: writes to 1 topic on A are no l"
    ):
        stage.operator().carry_out()
    assert stage.operation.state == UNDONE
    stage.assert_as_it_was()


@pytest.mark.parametrize("silent", ["read", "write", "read and write"])
def test_why_it_failed_and_how_to_go_back_is_told_also_while_the_target_is_silent(stage, silent):
    """Writes stay denied, and the flow stopped."""

    def lost(_now):
        stage.store.refuses = set(silent.split(" and "))
        raise ClusterRejected("no")

    work = stage.operator()
    work.others = {"compare tail": lost}
    with pytest.raises(ClusterUnavailable) as told:
        work.carry_out()
    whole = (
        r"A->B was not switched over: no\. Not all was undone: \w+: B is silent; repeat it with "
    )
    assert re.match(whole + "isthmus switchover FILE --flow 'A->B' --undo", str(told.value))
    stage.store.refuses = set()
    assert "Undone: A->B will run within seconds; writes to 1 topic" in stage.operator().undo()
    assert stage.operation.state == UNDONE
    stage.assert_as_it_was()


def test_a_partition_without_a_leader_is_waited_for_once_and_not_at_each_try(stage, monkeypatch):
    """Writes are denied meanwhile."""
    waited = []

    def leaderless(_flow, _config, _limit_s, left_s):
        waited.append(left_s)
        time.sleep(left_s)
        raise ClusterUnavailable("t-1 has no leader on A")

    monkeypatch.setattr(flow_operation, "wait_until_copied", leaderless)
    work = stage.operator()
    work.options = replace(DENYING, timeout_s=0.2, quiet_s=0.1)
    work.others = {"drain": work._drain}
    with pytest.raises(ClusterRejected, match=r"not within 0\.2 s: t-1 has no leader on A"):
        work.carry_out()
    assert len(waited) == 1
    stage.assert_as_it_was()


class Asked(SourceClients):
    """Clients of a source in memory; ``unanswered`` looks at the beginning find no leader."""

    unanswered: ClassVar[int] = 0

    def partitions(self):
        return [HERE]

    def _writers(self, partitions):
        return SourceWriters(self.reader.source, dict.fromkeys(partitions))

    def _readable(self, partitions):
        if Asked.unanswered:
            Asked.unanswered -= 1
            raise ClusterUnavailable("t-0 has no leader on A")
        return dict.fromkeys(partitions, self.reader.source.logs[HERE].end)


def asked(left_s):
    reader = SimpleNamespace(source=MemoryNetwork("A"), run=asyncio.run)
    clients = Asked(FLOW, a_config(FLOW), None, reader, None)
    return clients.wait_until_quiet(replace(DENYING, timeout_s=2.0, quiet_s=0.2), left_s)


def test_producers_are_waited_for_once_and_not_at_each_try(monkeypatch):
    monkeypatch.setattr(Asked, "unanswered", 1)
    with pytest.raises(ClusterUnavailable):
        asked(2.0)
    assert asked(2.0) == "no producer wrote to A for 0.2 s"
    with pytest.raises(ClusterRejected, match=r"is unknown: in 2 s .* not answer for 0\.2 s"):
        asked(0.0)


def test_a_try_with_less_time_than_producers_must_be_quiet_ends_at_once(monkeypatch):
    """Writes are denied meanwhile, and all of it would be waited for in vain."""
    monkeypatch.setattr(Asked, "unanswered", 1)
    with pytest.raises(ClusterRejected, match=r"is unknown: in .* not answer for 0\.2 s"):
        asked(0.1)
    assert Asked.unanswered == 1, "the source was not asked"


def test_an_operator_that_another_one_replaced_undoes_nothing(stage):
    def replaced(_now):
        with pytest.raises(Killed):
            stage.operator("stop", Killed()).carry_out()
        raise ClusterRejected("too late")

    work = stage.operator()
    work.others = {"drain": replaced}
    with pytest.raises(FlowTaken):
        work.carry_out()
    assert stage.operation.state == RUNNING
    assert denials(["t"]) <= stage.cluster.rights


@pytest.mark.parametrize("expected", [Desired.PAUSE, Desired.STOP])
def test_what_a_person_wants_of_the_flow_meanwhile_stays(stage, expected):
    def rejected(_now):
        write_intent(FLOW, expected, Clusters(stage.store))
        raise ClusterRejected("no")

    work = stage.operator()
    work.others = {"compare tail": rejected}
    with pytest.raises(ClusterRejected, match="Undone: writes to 1 topic"):
        work.carry_out()
    assert [e.desired for e in stage.store.logs[STATUS] if isinstance(e, Intent)] == [
        "stop",
        expected,
    ]


def test_a_failover_gives_it_up_and_its_denials_are_taken_back_later(stage):
    with pytest.raises(Killed):
        stage.operator("drain", Killed()).carry_out()
    failing_over, output = stage.operator().operator, []
    failing_over.say = output.append
    failing_over.take("failover", {})
    assert output[-1].startswith("abandoning switchover ")
    assert output[-1].endswith("; writes on A stay denied: t")
    assert stage.operation.verb == "failover"
    with pytest.raises(ConfigError, match=r"failover .* is not finished"):
        stage.operator().carry_out()
    assert denials(["t"]) <= stage.cluster.rights
    assert "no longer denied" in stage.operator().undo()
    assert not denials(["t"]) & stage.cluster.rights
    with pytest.raises(ReplicationError, match="B is not open"):
        stage.operator().undo()


def test_an_open_target_is_refused_a_second_time(stage):
    stage.operator().carry_out()
    with pytest.raises(ConfigError, match="B is open for clients since switchover"):
        stage.operator().refuse_if_open()


def test_another_verb_is_refused_while_a_target_is_open_though_the_switchover_is_not_finished(
    stage,
):
    with pytest.raises(Killed):
        stage.operator("allow writes", Killed()).carry_out()
    stage.operator().refuse_if_open()
    someone = Operator(FLOW, stage.store, lambda _: None)
    failing_over = Failover(FLOW, a_config(FLOW), Clusters(stage.store), someone, None, None)
    with pytest.raises(ConfigError, match="B is open for clients since switchover"):
        failing_over.refuse_if_open()


def test_an_undo_by_the_other_verb_says_how_to_go_back(stage):
    with pytest.raises(Killed):
        stage.operator("drain", Killed()).carry_out()
    someone = Operator(FLOW, stage.store, lambda _: None)
    failing_over = Failover(FLOW, a_config(FLOW), Clusters(stage.store), someone, None, None)
    with pytest.raises(
        ConfigError, match=r"B is not open .* or go back: isthmus switchover FILE .* --undo"
    ):
        failing_over.undo()


def test_one_whose_flow_somebody_resumed_is_taken_back_and_not_continued(stage):
    with pytest.raises(Killed):
        stage.operator("compare tail", Killed()).carry_out()
    write_intent(FLOW, Desired.RUN, Clusters(stage.store), by="bob@two")
    with pytest.raises(ClusterRejected, match=r"bob@two set .* to run after switchover .* Undone"):
        stage.operator().carry_out()
    assert stage.operation.state == UNDONE
    stage.assert_as_it_was()
    assert stage.operator().carry_out().operation.writable == "B"


def test_one_that_opened_the_target_is_finished_also_if_a_person_stops_the_flow_as_well(stage):
    with pytest.raises(Killed):
        stage.operator("allow writes", Killed()).carry_out()
    write_intent(FLOW, Desired.STOP, Clusters(stage.store), by="bob@two")
    assert stage.operator().carry_out().operation.state == DONE
    assert not denials(["t"]) & stage.cluster.rights
