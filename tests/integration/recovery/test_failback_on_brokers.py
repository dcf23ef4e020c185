"""A failback on real brokers: a source that returns with records that never arrived."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.flows.command import run_command
from support.flows.killed_operator import killed_run
from support.flows.returned_source import QUICK, Return
from support.flows.spark_driver import killable_driver
from support.flows.unit_driver import driven

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.model import TopicPartition
from replication.recovery.failback import FailbackOptions, failback_steps

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def a(kafka_cluster):
    """A source that tests kill."""
    return kafka_cluster("a")


@pytest.fixture
def returned(a, target_cluster, tmp_path):
    both = Return(a, target_cluster, tmp_path)
    both.fail_over()
    with driven(both.out), driven(both.back):
        yield both


STEPS = [e.name for e in failback_steps("A->B", "B->A", FailbackOptions(export="x"))]


def test_after_a_merge_every_record_of_either_side_is_once_on_both(returned):
    """Whatever kills the operator."""
    expected = self_and_tail(returned)
    returned.commit("middle", {0: 50, 1: 100, 2: 130})
    export = returned.folder / "tail"
    plan = returned.run("failback", "--dry-run")
    assert plan.lines[-1] == "nothing was changed"
    for step in STEPS:
        if step == "switch over":  # the drain began, and was killed
            returned.out.wait_copied()
            returned.back.wait_copied()
            returned.commit("end", returned.ends(returned.out.to))
        returned.killed_at(step, "--export", str(export))
    ended = returned.run("failback", *QUICK, "-o", "json")
    assert ended.code == 0, ended
    report = json.loads(ended.out)
    assert [each["step"] for each in report["operation"]["done"]] == STEPS
    assert report["tail_records"] == sum(returned.never_copied.values())
    told = {each["group"].split("-")[0] for each in report["switchover"]["groups"]}
    assert told >= {"middle", "end"}
    assert exported(export) == sorted(each[2].decode() for each in returned.never_copied)

    assert returned.contents(returned.out.here) == expected
    assert returned.contents(returned.out.to) == expected
    assert returned.left_to_read("end", returned.out.here) == {}
    unread, left = (
        returned.left_to_read("middle", e) for e in (returned.out.to, returned.out.here)
    )
    for number, values in unread.items():  # the tail is behind new records there, and before here
        assert set(values) <= set(left[number])
    returned.produce(returned.out, "again", 30)
    returned.out.wait_copied()
    assert returned.contents(returned.out.to) == returned.contents(returned.out.here)


def test_after_keep_exactly_the_tail_differs(returned):
    """Although the source is lost a second time in the middle of the failback."""
    prepared = returned.run("failback", "--tail", "keep", *QUICK, "--prepare")
    assert prepared.code == 0, prepared
    returned.lose_again()
    expected = returned.contents(returned.out.to)
    ended = returned.run("failback", "--tail", "keep", *QUICK)
    assert ended.code == 0, ended
    here, there = (returned.contents(each) for each in (returned.out.here, returned.out.to))
    assert there == expected
    assert here - there == returned.never_copied
    assert not there - here
    losses = run_command("losses", returned.file)
    assert "TAIL_KEPT" in losses.out
    returned.produce(returned.out, "again", 30)
    returned.out.wait_copied()
    assert returned.contents(returned.out.here) - returned.contents(returned.out.to) == (
        returned.never_copied
    )
    for verb in ("failover", "failback"):  # a second time: clients move away, and return
        ended = returned.run(verb, *(QUICK if verb == "failback" else ("--yes",)))
        assert ended.code == 0, ended
        flow = returned.back if verb == "failover" else returned.out
        returned.produce(flow, f"after the {verb}", 30)
    returned.out.wait_copied()
    here, there = (returned.contents(each) for each in (returned.out.here, returned.out.to))
    assert (here - there, there - here) == (returned.never_copied, Counter())


def test_after_a_truncation_the_source_has_all_of_the_target_once_and_nothing_else(returned):
    """Whatever kills the operator, also while the topic is deleted and not created yet."""
    here, there = returned.out.here, returned.out.to
    admin, topic = KafkaAdmin({"bootstrap.servers": here}), returned.topic
    admin.alter_configs(topic, {"segment.bytes": "1048576"})
    expected, copied = returned.contents(there), returned.values_on(there)
    places = {0: 50, 1: 100, 2: 130}
    returned.commit("middle", places)
    returned.commit("alone", places, bootstrap=here)
    alone = returned.left_to_read("alone", here)
    export = returned.folder / "tail"
    words = "--tail", "truncate", "--export", str(export)
    plan = returned.run("failback", *words, "--dry-run")
    assert f"{topic} will be deleted on the source" in plan.out
    unasked = returned.run("failback", *words, *QUICK)
    assert (unasked.code, unasked.lines[-1].endswith(f"--delete {topic}")) == (2, True)
    agreed = (*words, "--delete", topic)
    for step in ("note topics", "recreate topics", "resume", "set other groups"):
        returned.killed_at(step, *agreed)
        if step == "recreate topics":
            admin.delete_topics([topic])  # as far as it may have come
        if step == "resume":
            assert admin.end_offsets([TopicPartition(topic, 0)]) == {TopicPartition(topic, 0): 0}
    ended = returned.run("failback", *agreed, *QUICK)
    assert ended.code == 0, ended
    assert returned.contents(here) == returned.contents(there) == expected
    assert exported(export) == sorted(each[2].decode() for each in returned.never_copied)
    assert admin.topic_configs([topic])[topic] == {"segment.bytes": "1048576"}
    assert "TAIL_CUT" in run_command("losses", returned.file).out
    assert returned.left_to_read("middle", here) == returned.left_to_read("middle", there)
    for number, values in returned.left_to_read("alone", here).items():
        before = [each for each in alone.get(number, []) if each in copied]
        assert values[: len(before)] == before
    returned.produce(returned.out, "again", 30)
    returned.out.wait_copied()
    assert returned.contents(there) == returned.contents(here)
    reported = run_command("compare", returned.file)
    assert reported.code == 0, reported

    returned.commit("late", {0: 5, 1: 60, 2: 140}, bootstrap=here)  # in what came home
    assert run_command("offsets", "sync", returned.file, "--flow", returned.out.name).code == 0
    left = returned.left_to_read("late", here)
    returned.a.kill()
    ended = returned.run("failover", "--yes")
    returned.a.start_broker(1)
    assert "is open for clients" in ended.out
    assert returned.left_to_read("late", there) == left


def test_under_mirrormaker_names_clients_come_back_and_groups_read_on_exactly(
    a, target_cluster, tmp_path
):
    """What they read in ``A.orders`` on B they do not read again in ``orders`` on A."""
    both = Return(a, target_cluster, tmp_path, prefixes=True)
    both.fail_over()
    (here, there), topic = (both.out.here, both.out.to), both.topic
    theirs, ours = both.out.copy_of(topic), both.back.copy_of(topic)
    with driven(both.out), driven(both.back):
        assert both.run("failback", *QUICK, "--prepare").code == 0
        for place in (theirs, topic):
            both.commit("middle", {0: 15, 1: 20, 2: 25}, place)
        both.commit("end", both.ends(there, theirs), theirs)
        both.commit("end", both.ends(there), topic)
        ended = both.run("failback", *QUICK, "-o", "json")
        assert ended.code == 0, ended
        report = json.loads(ended.out)
        assert report["tail_records"] == sum(both.never_copied.values())
        assert report["switchover"]["left"] == []

        assert both.contents(there, theirs) == both.contents(here)
        assert both.contents(here, ours) == both.contents(there)
        for group in ("middle", "end"):
            assert both.left_to_read(group, here) == both.left_to_read(group, there, theirs)
            assert both.left_to_read(group, here, ours) == both.left_to_read(group, there)
        assert both.left_to_read("end", here) == {}
        both.produce(both.out, "again", 30)
        both.out.wait_copied()
        assert both.contents(there, theirs) == both.contents(here)


def test_an_active_active_pair_loses_a_side_under_load_and_gets_it_back(
    a, target_cluster, tmp_path
):
    """Clients write on both sides: nothing is doubled, and no group loses its place."""
    pair = Return(a, target_cluster, tmp_path)
    here, there = pair.out.here, pair.out.to
    ours = pair.lose_a_side_under_load()
    assert pair.left_to_read("stays", there) == ours["stays"]
    left = pair.left_to_read("moves", there)
    for number, values in ours["moves"].items():
        assert set(values) <= set(left[number])
    pair.produce(pair.back, "new", 90)
    pair.a.start_broker(1)
    expected = pair.contents(here) | pair.contents(there)
    tail = sum((expected - pair.contents(there)).values())
    with driven(pair.out), driven(pair.back):
        with pair.clients_on_both(0.3):
            ended = pair.run("failback", "--both-sides", *QUICK, "-o", "json")
            assert ended.code == 0, ended
            assert json.loads(ended.out)["tail_records"] >= tail
        for each in (pair.out, pair.back):
            each.wait_copied()
    everything = pair.contents(here)
    assert pair.contents(there) == everything
    assert set(everything.values()) == {1}
    assert not expected - everything


def test_a_driver_and_a_dagster_run_that_are_killed_leave_both_ways_to_their_successors(
    a, target_cluster, tmp_path, monkeypatch
):
    """``kill -9`` of Spark's whole driver and of the run, in a failover and in a failback."""
    monkeypatch.setattr("orchestration.recovery.operator.WATCH_S", 1.5)
    both = Return(a, target_cluster, tmp_path)
    here, there = both.out.here, both.out.to
    both.produce(both.out, "before", 300)
    with killable_driver(both.file, both.back.alias, tmp_path / "driver") as kill:
        both.out.wait_copied()
        both.commit("behind", {0: 7, 1: 50, 2: 99}, bootstrap=here)
        both.commit("end", both.ends(here), bootstrap=here)
        assert run_command("offsets", "sync", both.file, "--flow", both.out.name).code == 0
        both.produce(both.out, "tail", 600)
        unread = {each: both.left_to_read(each, here) for each in ("behind", "end")}
        ours = both.contents(here)
        both.a.kill()
        words = "failover", "fail_over", both.out.name
        killed_run("fence", words, both.file, {"action": "CARRY_OUT"}, stop=kill)
    ended = both.run("failover", "--yes")
    assert ended.code == 0, ended
    assert "continuing failover" in ended.out
    copied = both.contents(there)
    assert copied <= ours
    values = {each[2] for each in copied}
    for group, left in unread.items():
        found = {n: [v for v in them if v in values] for n, them in left.items()}
        assert both.left_to_read(group, there) == {n: them for n, them in found.items() if them}

    both.produce(both.back, "new", 90)
    both.a.start_broker(1)
    everything = both.contents(here) | both.contents(there)
    with driven(both.back):
        with killable_driver(both.file, both.back.alias, tmp_path / "driver") as kill:
            config = {"action": "CARRY_OUT", "timeout_s": 60, "quiet_s": 1.5}
            words = "failback", "fail_back", both.out.name
            killed_run("drain", words, both.file, config, resume=kill)
        with driven(both.out):
            both.commit("behind", {0: 20, 1: 60, 2: 100})
            ended = both.run("failback", *QUICK)
            assert ended.code == 0, ended
            assert "continuing failback" in ended.out
            assert both.contents(here) == everything
            assert both.contents(there) == everything
            assert set(everything.values()) == {1}
            for number, left in both.left_to_read("behind", there).items():
                assert set(left) <= set(both.left_to_read("behind", here)[number])


def self_and_tail(returned: Return) -> Counter:
    """Return all that either side has: none of it is equal to another record."""
    return returned.contents(returned.out.here) | returned.contents(returned.out.to)


def exported(folder: Path) -> list[str]:
    files = [file.read_text() for file in folder.glob("json/*.txt")]
    return sorted(json.loads(line)["value"] for text in files for line in text.splitlines())
