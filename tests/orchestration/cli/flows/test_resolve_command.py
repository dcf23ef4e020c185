"""``isthmus resolve``: which names and choices it takes, and how it ends."""

from __future__ import annotations

import json

import pytest
from support.fakes.fake_flows import World
from support.flows.command import runner

from orchestration.cli.flows import resolve as module
from orchestration.flows.observation.flow_reader import look_at
from orchestration.flows.reachability import Answers
from replication.config.load import load_config
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import PartitionState
from replication.state import AbsentTopic, Anchor, ClusterIds, Decision, Loss, NameDecision

CONFIG = """\
clusters = A, B
A.bootstrap.servers = 127.0.0.1:1
B.bootstrap.servers = 127.0.0.1:2
A->B.enabled = true
B->A.enabled = true
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mm2.properties"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def world(file):
    return World(load_config(file).config)


@pytest.fixture
def resolve(file, world, monkeypatch, capsys):
    """Run the command on a flow with two halted partitions and one that runs."""
    for topic, number, state in (
        ("orders", 0, "RUNNING"), ("orders", 1, "REFUSED"), ("stock", 0, "SOURCE_TRUNCATED"),
    ):  # fmt: skip
        at = Anchor("A->B", topic, number, f"A.{topic}", 5, 5, state=state, reason="because")
        world.target.write("isthmus-anchors.A.internal", at)
    back = Anchor("B->A", "users", 0, "B.users", 5, 5, state="TARGET_RESET", reason="because")
    world.target.write("isthmus-anchors.B.internal", back)
    ended = Anchor("A->B", "gone", 0, "A_gone", 5, 5, state="RUNNING", records=5)
    world.target.write("isthmus-anchors.A.internal", ended)
    monkeypatch.setattr(module, "KafkaClusters", lambda: world)
    monkeypatch.setattr(Answers, "ask", lambda answers: answers)
    run = runner(monkeypatch, capsys)

    def ended(*more: object, absent: str = PartitionState.SOURCE_DELETED):
        world.target.write("isthmus-status.A.internal", AbsentTopic("A->B", "gone", absent))
        found = run("resolve", file, *more)
        topics = [f"isthmus-status.{each}.internal" for each in "AB"]
        records = [e for topic in topics for e in world.target.topics.get(topic, {}).values()]
        decided = {(e.topic, e.partition) for e in records if isinstance(e, Decision)}
        return found, decided

    return ended


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["bogus"], "resolve: no choice 'bogus'; there is accept, continue, keep, reseed, skip"),
        (["contineu", "--all"], "resolve: no choice 'contineu'; near: continue"),
        (["--topic", "nope"], "A->B, B->A: no topic 'nope'; there is gone, orders, stock, users"),
        (["--partition", 99], "A->B, B->A: no partition '99'; there is 0, 1"),
        (
            ["skip", "--topic", "stock", "--partition", 1, "--all"],
            "A->B, B->A, topic stock: no partition '1'; there is 0",
        ),
        (["-f", "B->C"], "no flow 'B->C'; there is A->B, B->A"),
        (["reseed", "-f", "A->B"], "allows skip, stock-0: SOURCE_TRUNCATED allows continue"),
    ],
)  # fmt: skip
def test_a_name_that_exists_nowhere_ends_the_command_with_a_reason(resolve, arguments, reason):
    ended, decided = resolve(*arguments)
    assert (ended.code, decided) == (2, set())
    assert ended.lines[-1].endswith(reason)


def test_partitions_that_a_choice_does_not_fit_are_named_and_the_others_decided(resolve):
    ended, decided = resolve("skip", "--all")
    assert (ended.code, decided) == (1, {("orders", 1)})
    assert ended.lines[-1] == (
        "skip is not possible for stock-0 (SOURCE_TRUNCATED: continue), "
        "users-0 (TARGET_RESET: continue or reseed)"
    )


def test_a_choice_goes_to_each_flow_that_it_fits(resolve):
    ended, decided = resolve("reseed", "--all")  # no partition of A->B takes it
    assert (ended.code, decided) == (1, {("users", 0)})
    ended, decided = resolve("continue", "--topic", "stock", "--all")
    assert (ended.code, decided) == (0, {("users", 0), ("stock", 0)})


def test_a_choice_is_made_for_no_flow_that_was_not_named(resolve, file):
    for more in ([], ["--topic", "stock"]):
        ended, decided = resolve("continue", *more)
        assert (ended.code, decided) == (2, set())
        assert ended.err == (
            f"error: {file} has 2 flows: choose some with --flow (A:B, B:A), or all with --all\n"
        )
    ended, decided = resolve("continue", "--flow", "A:B")
    assert (ended.code, decided) == (1, {("stock", 0)})


def test_a_partition_that_runs_is_no_question_and_no_error(resolve):
    ended, _ = resolve("--topic", "orders", "--partition", 0)
    assert (ended.code, ended.out) == (0, "no partition is halted\n")


SILENT = "B->A: cluster A does not answer: refused"


@pytest.fixture
def without_a(monkeypatch, resolve):
    """Run the command while A, the target of B->A, does not answer."""

    def ask(answers):
        answers.silent = {"A": "refused"}
        return answers

    monkeypatch.setattr(Answers, "ask", ask)
    return resolve


def test_what_is_halted_in_the_other_flows_is_listed_while_a_target_is_silent(without_a):
    ended, _ = without_a()
    assert (ended.code, ended.lines[-1]) == (1, f"error: {SILENT}")
    assert all(f" {each} " in ended.out for each in ("orders-1", "stock-0"))
    ended, _ = without_a("--topic", "orders", "--partition", 0)
    assert ended.lines == ["no partition of A->B is halted", f"error: {SILENT}"]
    ended, _ = without_a("--flow", "A->B", "--topic", "orders", "--partition", 0)
    assert (ended.code, ended.lines) == (0, ["no partition is halted"])


def test_a_choice_goes_to_the_other_flows_while_a_target_is_silent(without_a):
    ended, decided = without_a("skip", "--topic", "orders", "--all")
    assert (ended.code, decided) == (1, {("orders", 1)})
    assert ended.lines == ["A->B orders-1 REFUSED: skip", f"error: {SILENT}"]
    ended, decided = without_a("skip", "--all")
    assert (ended.code, decided) == (1, {("orders", 1)})
    assert ended.lines[-2:] == [
        SILENT,
        "skip is not possible for stock-0 (SOURCE_TRUNCATED: continue)",
    ]


def test_a_topic_that_a_silent_target_may_know_is_not_said_to_be_none(without_a):
    ended, _ = without_a("--topic", "users")
    assert (ended.code, ended.lines) == (1, [f"error: {SILENT}"])
    ended, _ = without_a("--topic", "users", "--flow", "A->B")
    assert (ended.code, "no topic 'users'" in ended.err) == (2, True)


def test_what_fails_for_one_flow_keeps_no_other_from_its_list(resolve, monkeypatch):
    def read(flow, _):
        if flow.name == "B->A":
            raise ClusterUnavailable("reading state at A:9092: refused")
        return {}

    monkeypatch.setattr(module, "read_name_decisions", read)
    ended, _ = resolve()
    end = "error: B->A: reading state at A:9092: refused"
    assert (ended.code, ended.lines[-1]) == (1, end)
    assert all(f" {each} " in ended.out for each in ("orders-1", "stock-0", "users-0"))
    ended, _ = resolve("--topic", "gone", absent="")
    assert (ended.code, ended.out.count(" gone "), ended.lines[-1]) == (1, 1, end)
    ended, _ = resolve("--topic", "gone")
    assert ended.lines == ["no partition of A->B is halted", end]


def test_what_cannot_be_written_for_one_flow_keeps_no_other_from_its_choice(
    resolve, world, monkeypatch
):
    def store(flow):
        if flow.name == "A->B" and world.is_full:
            raise ClusterRejected("writing state at B:9092: disk full")
        return world.target

    world.is_full = False
    monkeypatch.setattr(world, "store", store)
    monkeypatch.setattr(module, "_name_changes", lambda *_: setattr(world, "is_full", True) or {})
    ended, decided = resolve("continue", "--all")
    assert (ended.code, decided) == (1, {("users", 0)})
    assert "B->A users-0 TARGET_RESET: continue" in ended.out
    assert "stock-0 SOURCE_TRUNCATED: continue" not in ended.out
    assert "A->B: writing state at B:9092: disk full" in ended.err


@pytest.mark.usefixtures("without_a")
def test_losses_of_the_other_flows_are_listed_while_a_target_is_silent(
    world, file, monkeypatch, capsys
):
    run = runner(monkeypatch, capsys)
    assert run("losses", file).lines == ["no offset of A->B was skipped", f"error: {SILENT}"]
    lost = Loss("A->B", "orders", 0, "", 5, next=9, reason="deleted", at_ms=1)
    world.target.write("isthmus-anchors.A.internal", lost)
    ended = run("losses", file, "-o", "json")
    assert (ended.code, ended.err) == (1, f"error: {SILENT}\n")
    assert [each["topic"] for each in json.loads(ended.out)] == ["orders"]


def test_a_choice_for_a_halted_partition_leaves_a_name_that_was_decided(resolve, world):
    """``continue`` fits both: it must not rename a topic that somebody decided to keep."""
    kept = NameDecision("A->B", "moved", "A-moved", "A.moved", "keep")
    halted = Anchor("A->B", "moved", 0, "A-moved", 5, 5, records=5, state="SOURCE_TRUNCATED")
    world.target.write("isthmus-anchors.A.internal", halted)
    world.target.write("isthmus-status.A.internal", kept)
    ended, decided = resolve("continue", "--topic", "moved", "-f", "A->B")
    assert (ended.code, decided) == (0, {("moved", 0)})
    assert ended.out == "A->B moved-0 SOURCE_TRUNCATED: continue\n"
    assert kept in world.target.topics["isthmus-status.A.internal"].values()
    ended, _ = resolve("reseed", "--topic", "moved", "-f", "A->B")  # the partition does not know it
    assert (ended.code, ended.out) == (0, "A->B moved NAME_CHANGED: reseed\n")


@pytest.mark.parametrize(
    ("absent", "asked"),
    [
        (PartitionState.SOURCE_DELETED, False),
        (PartitionState.SOURCE_DENIED, False),
        (PartitionState.NOT_SELECTED, True),  # by the former file: this one selects it
        ("", True),
    ],
)
def test_a_changed_name_is_asked_about_unless_the_source_lacks_the_topic(resolve, absent, asked):
    ended, _ = resolve(absent=absent)
    assert ("A_gone" in ended.out, "NAME_CHANGED" in ended.out) == (asked, asked)


@pytest.fixture
def ids(world):
    """Return the stored ids of A->B, as they are then."""
    right = ClusterIds("A->B", "id-a", "id-b")
    world.target.write("isthmus-status.A.internal", right)
    return lambda: world.target.topics["isthmus-status.A.internal"][right.key()]


@pytest.mark.usefixtures("ids")
def test_bl_223_no_choice_is_offered_while_the_source_is_another_cluster(resolve, world):
    world.origin.id = "id-b"
    for arguments in (["-f", "A->B"], ["continue", "-f", "A->B"], ["continue", "--all"]):
        ended, decided = resolve(*arguments)
        assert (ended.code, decided) == (1, set())
        output = "\n".join(ended.lines)
        assert "source A is now the cluster with id id-b, which is B" in output
        assert "SOURCE_TRUNCATED" not in output
    ended, _ = resolve()
    assert (ended.code, any("users-0" in each for each in ended.lines)) == (0, True)


def test_bl_223_a_cluster_that_was_built_anew_is_accepted(resolve, world, ids):
    world.origin.id = "new"
    ended, _ = resolve("accept", "-f", "A->B")
    assert ended.code == 0
    assert ended.lines == ["A->B: accepted source A with id new, target B with id id-b"]
    assert (ids().source, ids().target) == ("new", "id-b")
    assert ids().by
    assert ids().at_ms > 0
    assert look_at(world.config.flows[0], world).seen.wrong_cluster == ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["accept"],
            "accept needs the flow whose cluster was replaced by a new one: --flow 'A->B'",
        ),
        (["accept", "-f", "A->B"], "A and B are the same cluster (id id-b)"),
    ],
)
def test_bl_223_not_every_cluster_is_accepted(resolve, world, ids, arguments, reason):
    world.origin.id = "id-b"
    ended, _ = resolve(*arguments)
    assert ended.code == 2
    assert reason in "\n".join(ended.lines)
    assert ids() == ClusterIds("A->B", "id-a", "id-b")
