"""What prevents a failback, and what becomes of one that was interrupted."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace

import pytest
from support.fakes.memory_network import MemoryCluster
from support.fakes.state_logs import LogStore
from support.settings.configs import a_config, a_flow

from orchestration.failback.failback import Failback
from orchestration.recovery.failover import Failover
from orchestration.recovery.left_groups import with_left_groups
from orchestration.recovery.operator import Operator
from orchestration.switchover.switchover import Switchover
from orchestration.switchover.switchover_report import SwitchoverReport
from replication.errors import ClusterRejected, ClusterUnavailable, ConfigError
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
from replication.offsets.known_points import KnownPoints
from replication.recovery.failback import FailbackOptions, TailChoice, failback_steps
from replication.recovery.procedure import DONE, FAILBACK, RUNNING, require_verb, standing
from replication.recovery.switchover import SwitchoverOptions
from replication.state import Anchor, Operation, ProvenPosition, RecreatedTopic, status_topic

OPEN = Operation("A->B", "op1", "failover", DONE, by="ada@one", turn=1, writable="B")
BEGUN = Operation(
    "A->B", "op2", FAILBACK, RUNNING, by="ada@one", turn=2, writable="B", options={"since": "op1"}
)


class Reader:
    """What is read of the source; ``topic_id`` is that of the topic there now."""

    def __init__(self, topic_id: str) -> None:
        self.source, self.known = MemoryCluster("A"), KnownPoints("A->B")
        self.source.topic_id = lambda _: bytes.fromhex(topic_id)
        here = Anchor("A->B", "t", 0, "t", 5, 5, source_topic_id="aa")
        self.known.anchors[TopicPartition("t", 0)] = here

    def look(self):
        return self.known

    def run(self, work):
        return asyncio.run(work)


def a_failback(*records, flows=("A->B", "B->A"), topic_id="aa", kind=Failback):
    store = LogStore()
    proven = ProvenPosition("A->B", "op1", "t", 0, "t", source=5, target=5)
    store.write(status_topic("A"), *records, proven)
    listed = [a_flow(*each.split("->")) for each in flows]
    operator = Operator(listed[0], store, print)
    return kind(listed[0], a_config(*listed), None, operator, Reader(topic_id), None)


def test_only_a_flow_whose_target_is_open_is_failed_back():
    with pytest.raises(ConfigError, match="there is nothing to fail back"):
        a_failback(replace(OPEN, writable="")).refuse_if_open()
    a_failback(OPEN).refuse_if_open()


def test_one_that_was_interrupted_goes_on():
    a_failback(OPEN, BEGUN).refuse_if_open()


def test_without_a_flow_back_it_says_what_to_add():
    with pytest.raises(ConfigError, match=r"add B->A\.enabled = true and its topics"):
        a_failback(OPEN, flows=("A->B",)).steps()


def test_a_topic_that_was_recreated_on_the_source_is_named():
    (problem,) = a_failback(OPEN, topic_id="bb").preview().problems
    assert "t-0 on A is not in the topic that A->B copied" in problem


def test_a_topic_that_a_failback_deleted_before_it_was_given_up_is_created_by_the_next_one():
    deleted = RecreatedTopic("A->B", "op0", "t", "aa", 1, 1)
    work = a_failback(OPEN, deleted, topic_id="bb")
    (problem,) = work.preview().problems
    assert "t was deleted on A by a failback that was abandoned" in problem
    work.options = FailbackOptions(TailChoice.TRUNCATE, "x")
    assert list(work._problems(work.proven("op1"))) == []
    assert work.half_made() == (deleted,)
    assert work.tails_now(work.proven("op1")) == ()


def test_a_topic_that_was_recreated_by_others_is_not_taken_for_one_of_these():
    others = RecreatedTopic("A->B", "op0", "t", "cc", 1, 1)
    work = a_failback(OPEN, others, topic_id="bb")
    work.options = FailbackOptions(TailChoice.TRUNCATE, "x")
    (problem,) = work._problems(work.proven("op1"))
    assert "t-0 on A is not in the topic that A->B copied" in problem


def test_a_failover_gives_up_a_failback_and_nothing_else_does():
    a_failback(OPEN, BEGUN, kind=Failover).refuse_if_open()
    assert not require_verb("failover", BEGUN)
    with pytest.raises(ConfigError, match="finish it with isthmus failback"):
        require_verb("switchover", BEGUN)


def test_a_flow_says_that_its_failback_is_not_finished():
    assert standing(BEGUN, "B").startswith(
        "failback op2 of ada@one is not finished; continue it: isthmus failback FILE --flow '"
    )


def test_a_truncated_tail_is_exported_and_only_it_deletes_topics():
    with pytest.raises(ConfigError, match="have to be exported"):
        FailbackOptions(TailChoice.TRUNCATE)
    with pytest.raises(ConfigError, match="goes with it only"):
        FailbackOptions(TailChoice.KEEP, "x", delete=frozenset({"t"}))


LEFT = LeaveOffset("g", TopicPartition("t", 0), "t-0 offset 3 was not translated")
ALSO = LeaveGroup("h", "its offsets were refused: denied")
MEMBERS = LeaveGroup("g", "it has active members on the target (Stable)")


def a_stopped_one(options: FailbackOptions, *without: str) -> Operation:
    """Return a failback whose operator was killed before these last steps."""
    done = [e.name for e in failback_steps("A->B", "B->A", options) if e.name not in without]
    held = {**options.stored(), "since": "op1"}
    return replace(BEGUN, options=held, done=tuple((name, 1, "did") for name in done))


def test_what_the_killed_one_left_of_groups_is_told(monkeypatch):
    """Also what two steps left."""
    options = FailbackOptions(TailChoice.TRUNCATE, "x", both_sides=True)
    stopped = replace(a_stopped_one(options, "close target"), step="set groups")
    stopped = replace(with_left_groups(stopped, [LEFT]), step="set other groups")
    work = a_failback(OPEN, with_left_groups(stopped, [ALSO]))
    monkeypatch.setattr("orchestration.recovery.operator.WATCH_S", 0)
    done = work.carry_out()
    assert (done.operation.state, done.operation.writable) == (DONE, "")
    assert done.left == (LEFT, ALSO)
    assert [each["group"] for each in done.as_json()["left"]] == ["g", "h"]


@pytest.mark.parametrize("last", ["close target", "switch over"])
def test_what_the_switchover_of_a_killed_one_found_is_told(monkeypatch, last):
    """Whether the failback noted its end, or only the switchover itself did."""

    class Back(Switchover):
        def report(self):
            return SwitchoverReport("B->A", actions=(MEMBERS,), consuming=("h",))

    @contextmanager
    def way_back(_):
        yield back

    moved = Operation("B->A", "op3", "switchover", DONE, "set groups", turn=1, writable="A")
    store = LogStore()
    store.write(status_topic("B"), with_left_groups(moved, [LEFT]))
    flow = a_flow("B", "A")
    back = Back(flow, a_config(flow), None, Operator(flow, store, print), None, None)
    monkeypatch.setattr(Failback, "way_back", way_back)
    monkeypatch.setattr("orchestration.recovery.operator.WATCH_S", 0)
    done = a_failback(OPEN, a_stopped_one(FailbackOptions(), last, "close target")).carry_out()
    assert done.operation.state == DONE
    assert (done.left, done.moved.consuming, done.moved.operation.id) == ((LEFT,), ("h",), "op3")


@pytest.mark.parametrize("last", ["close target", "switch over"])
def test_a_cluster_that_tells_nothing_of_the_switchover_does_not_keep_it_from_its_end(
    monkeypatch, last
):
    """No step needs what the switchover found; a right that was withdrawn comes by no retry."""

    class Back(Switchover):
        def report(self):
            raise ClusterRejected("listing groups on A: denied")

    @contextmanager
    def way_back(_):
        yield back

    store = LogStore()
    moved = Operation("B->A", "op3", "switchover", DONE, "set groups", turn=1, writable="A")
    store.write(status_topic("B"), moved)
    flow = a_flow("B", "A")
    back = Back(flow, a_config(flow), None, Operator(flow, store, print), None, None)
    monkeypatch.setattr(Failback, "way_back", way_back)
    monkeypatch.setattr("orchestration.recovery.operator.WATCH_S", 0)
    done = a_failback(OPEN, a_stopped_one(FailbackOptions(), last, "close target")).carry_out()
    assert (done.operation.state, done.operation.writable) == (DONE, "")
    assert (done.moved, done.moved_problem) == (None, "listing groups on A: denied")
    assert done.as_json()["switchover_problem"] == "listing groups on A: denied"
    assert list(done.lines())[-1] == (
        "what the switchover left of groups is not known: listing groups on A: denied"
    )


def test_the_source_may_fall_silent_before_the_last_step(monkeypatch):
    @contextmanager
    def silent(_):
        raise ClusterUnavailable("connecting to A: no answer")
        yield

    monkeypatch.setattr(Failback, "way_back", silent)
    monkeypatch.setattr("orchestration.recovery.operator.WATCH_S", 0)
    done = a_failback(OPEN, a_stopped_one(FailbackOptions(), "close target")).carry_out()
    assert (done.operation.state, done.operation.writable) == (DONE, "")
    assert done.moved_problem == "connecting to A: no answer"


def test_one_that_is_continued_may_leave_further_groups(monkeypatch):
    """It was refused for them, and the switchover in it was taken back."""
    known, new = (
        FailbackOptions(moves=SwitchoverOptions(leave=frozenset({each}))) for each in ("g", "h")
    )
    work = a_failback(OPEN, replace(BEGUN, options={**known.stored(), "since": "op1"}))
    work.options = new
    monkeypatch.setattr("orchestration.recovery.operator.WATCH_S", 0)
    monkeypatch.setattr(Operator, "carry_out", lambda self, *_, **__: self.current())
    operation = work.carry_out().operation
    assert FailbackOptions.of(operation).moves.leave == {"g", "h"}
    assert work.options.moves.leave == {"g", "h"}
