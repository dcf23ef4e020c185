"""A failover after the loss of a source: real brokers, a unit that freezes, operators that die."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
import uuid
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition
from support.flows.command import run_command
from support.flows.copier_flows import Flow, kill, report_of, start_unit
from support.flows.killed_operator import killed_at
from support.flows.spark_driver import REPOSITORY, wait_for
from support.records import kafka_records

from bench.threads import working
from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.dagster.resources import Isthmus
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.model import PartitionPlan, TopicPartition

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

STEPS = ("stop", "fence", "prove positions", "set groups", "open target")
GROUPS = ("behind", "half way", "at the end")


_KEPT_NAMES = (
    "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
)


class Disaster:
    """A flow under kept names whose source can be killed."""

    def __init__(self, source, target, folder, *, prefix: bool = False) -> None:
        name = f"orders-{uuid.uuid4().hex[:8]}" if prefix else f"orders-{source.name}"
        self.flow = Flow(source, target, {name: 3})
        (self.topic,) = self.flow.topics
        self.copy = f"{self.flow.alias}.{self.topic}" if prefix else self.topic
        self.sent = itertools.count()
        for bootstrap in (self.flow.here, self.flow.to):
            kafka_records.create_topic(bootstrap, self.topic, 3)
        if prefix:
            kafka_records.create_topic(self.flow.to, self.copy, 3)
        self.file = folder / "mm2.properties"
        self.file.write_text(
            f"clusters = {self.flow.alias}, B\n"
            f"{self.flow.alias}.bootstrap.servers = {self.flow.here}\n"
            f"B.bootstrap.servers = {self.flow.to}\n"
            f"{self.flow.name}.enabled = true\n{self.flow.name}.topics = {self.topic}\n"
            f"{'' if prefix else _KEPT_NAMES}"
            "sync.group.offsets.enabled = true\nheartbeats.replication.enabled = false\n"
            "replication.factor = 1\n"
        )
        self.commits: dict[str, dict[int, int]] = {}

    @property
    def plans(self) -> tuple[PartitionPlan, ...]:
        copies = (TopicPartition(self.copy, each.partition) for each in self.partitions)
        return tuple(map(PartitionPlan, self.partitions, copies))

    @property
    def partitions(self) -> list[TopicPartition]:
        return self.flow.partitions

    def produce(self, count: int = 300, size: int = 0) -> None:
        """Produce records, no two of them alike, of ``size`` or more, and wait for their acks."""
        numbers = list(itertools.islice(self.sent, count))
        records = [(n % 3, b"key-%d" % (n % 7), b"%-*d" % (size, n)) for n in numbers]
        kafka_records.produce(self.flow.here, self.topic, records)
        self.flow.fed.update(TopicPartition(self.topic, each[0]) for each in records)

    @contextmanager
    def producing(self):
        """Produce while the block runs."""
        over = threading.Event()

        def feed() -> None:
            while not over.wait(0.1):
                self.produce()

        with working(over, feed):
            yield

    def commit(self, group: str, offsets: dict[int, int]) -> None:
        """Commit a group's offsets at the source."""
        self.commits[group] = offsets
        consumer = Consumer({"bootstrap.servers": self.flow.here, "group.id": group})
        where = [ClientPartition(self.topic, *each) for each in offsets.items()]
        consumer.commit(offsets=where, asynchronous=False)
        consumer.close()

    def run(self, *words: str):
        return run_command("failover", self.file, "--flow", self.flow.name, *words)

    def killed_at(self, step: str) -> None:
        """Carry the failover out, and kill its process when it begins ``step``."""
        command = ("failover", self.file, "--flow", self.flow.name, "--yes")
        killed_at(step, command, is_patient=True)

    def ends(self) -> dict[TopicPartition, int]:
        return KafkaAdmin({"bootstrap.servers": self.flow.to}).end_offsets(self.partitions)

    def next_of(self, group: str) -> dict[int, object]:
        """Return the content of the record that a group reads next on the target, by partition."""
        consumer = Consumer({"bootstrap.servers": self.flow.to, "group.id": group})
        where = [ClientPartition(*each) for each in self.partitions]
        found = {each.partition: each.offset for each in consumer.committed(where, timeout=30)}
        consumer.close()
        by_place = {(e.partition, e.offset): e.content for e in self.copied()}
        return {number: by_place.get((number, offset)) for number, offset in found.items()}

    def copied(self) -> list[kafka_records.Rec]:
        return kafka_records.consume_all(self.flow.to, self.topic)


@pytest.fixture
def disaster(kafka_cluster, target_cluster, tmp_path):
    return Disaster(kafka_cluster(), target_cluster, tmp_path)


def test_whatever_kills_its_operator_each_group_goes_on_and_no_frozen_unit_appends(
    disaster, tmp_path
):
    flow = disaster.flow
    unit = start_unit(flow.spec(), tmp_path)
    with disaster.producing():
        flow.wait_moved(3000)
        ends = {each.partition: anchor.source for each, anchor in flow.anchors().items()}
        disaster.commit("behind", dict.fromkeys(ends, 100))
        disaster.commit("half way", {number: end // 2 for number, end in ends.items()})
        flow.wait_moved(1000)
        assert run_command("offsets", "sync", disaster.file).code == 0
        unit.send_signal(signal.SIGSTOP)
    disaster.commit("at the end", {n: flow.fed[TopicPartition(disaster.topic, n)] for n in ends})
    assert run_command("offsets", "sync", disaster.file).code == 0
    flow.source.kill()

    for step in STEPS:
        disaster.killed_at(step)
    ended = disaster.run("--yes", "-o", "json")
    assert ended.code == 0, ended
    report = json.loads(ended.out)
    before = disaster.ends()
    unit.send_signal(signal.SIGCONT)
    outcome = report_of(unit).outcome  # whatever it reads first: the status, or a claim
    assert "took over" in outcome or "another driver" in outcome
    assert disaster.ends() == before

    flow.source.start()
    ours = {(e.partition, e.offset): e.content for e in _records(flow.here, disaster.topic)}
    copied = [each.content for each in disaster.copied()]
    there = {*copied}
    assert len(copied) == len(there)
    missing = {place for place, content in ours.items() if content not in there}
    firsts = {int(e["partition"].rpartition("-")[2]): e["first"] for e in report["partitions"]}
    assert missing == {(number, at) for number, at in ours if at >= firsts[number]}
    for group in GROUPS[:2]:
        expected = {n: ours[n, at] for n, at in disaster.commits[group].items()}
        assert disaster.next_of(group) == expected
    assert [each["again"] for each in report["groups"] if each["group"] != GROUPS[2]] == [0] * 6


def test_what_status_says_would_be_lost_is_what_a_failover_announces_and_what_is_missing(
    disaster, tmp_path
):
    flow = disaster.flow
    for _ in range(30):  # each of them a batch in each partition
        disaster.produce(60, size=1000)
    disaster.commit("behind", dict.fromkeys(range(3), 7))
    disaster.commit("ahead", dict.fromkeys(range(3), 590))
    unit = start_unit(flow.spec(bytes_per_second=50_000), tmp_path)
    flow.wait_moved(150)
    assert run_command("offsets", "sync", disaster.file).code == 0
    unit.send_signal(signal.SIGSTOP)

    ends = {each: flow.fed[each] for each in disaster.partitions}
    anchors = flow.anchors()
    behind = {str(each): end - (anchors[each].source or 0) for each, end in ends.items()}
    live, planned = _status(disaster), _plan(disaster)
    assert live == planned
    assert live.missing == behind
    assert live.point["unknown_since_ms"] is None
    assert live.groups == {
        name: sum(end - max(anchors[each].source or 0, read) for each, end in ends.items())
        for name, read in (("behind", 7), ("ahead", 590))
    }

    flow.source.kill()
    silent, planned = _status(disaster), _plan(disaster)
    assert silent == planned
    assert (silent.missing, silent.groups) == (live.missing, live.groups)
    assert silent.point["unknown_since_ms"] == min(each.at_ms for each in anchors.values())
    announced = json.loads(disaster.run("--yes", "-o", "json").out)
    kill(unit)

    flow.source.start()
    copied = {each.content for each in disaster.copied()}
    ours = _records(flow.here, disaster.topic)
    missing = [each for each in ours if each.content not in copied]
    assert announced["recovery_point"]["records"] == len(missing) > 0
    assert len(missing) <= sum(behind.values()), "what was copied behind the anchors is proven now"
    assert announced["missing_of_group"] == {
        name: sum(each.offset >= read for each in missing)
        for name, read in (("behind", 7), ("ahead", 590))
    }
    assert abs(announced["recovery_point"]["bytes"] / len(missing) - 1000) < 100
    silent = "the group sync was silent: no round of it was ever reported"
    assert announced["group_sync"]["warning"].startswith(silent), "no driver ran"


class Numbers(NamedTuple):
    """What would be lost, of the flow, by partition and by group."""

    point: dict[str, float]
    missing: dict[str, int]
    groups: dict[str, int]


def _status(disaster) -> Numbers:
    """Return what ``isthmus status`` says."""
    (flow,) = json.loads(run_command("status", disaster.file, "-o", "json").out)["flows"]
    parts = [
        {**each, "partition": f"{topic['topic']}-{each['partition']}"}
        for topic in flow["topics"]
        for each in topic["partitions"]
    ]
    missing = {each["partition"]: each["rpo_records"] for each in parts}
    return _numbers(flow["recovery_point"], missing)


def _plan(disaster) -> Numbers:
    """Return what ``isthmus failover --dry-run`` says."""
    report = json.loads(disaster.run("--dry-run", "-o", "json").out)
    missing = {each["partition"]: each["records"] for each in report["partitions"]}
    return _numbers(report["recovery_point"], missing)


def _numbers(point, missing) -> Numbers:
    groups = {each["group"]: each["records"] for each in point["groups"]}
    known = point["unknown_since_ms"] is None
    # The age of a record grows, and so does the moment of the look while the source answers.
    fixed = {k: v for k, v in point.items() if k in {"records", "bytes", "unknown_since_ms"}}
    rest = {} if known else {k: point[k] for k in ("seconds", "source_last_seen_ms")}
    return Numbers({**fixed, **rest}, missing, groups)


def test_under_mirrormaker_names_groups_go_on_in_the_copy_and_read_what_is_new_beside_it(
    source_cluster, target_cluster, tmp_path
):
    moved = Disaster(source_cluster, target_cluster, tmp_path, prefix=True)
    flow, kept = moved.flow, moved.topic.replace(".", r"\.")
    moved.produce()
    commits = {"behind": {0: 10, 1: 20, 2: 99}, "at the end": dict.fromkeys(range(3), 100)}
    for group, offsets in commits.items():
        moved.commit(f"{group} of {moved.topic}", offsets)
    flow.copy_all(partitions=moved.plans)
    assert run_command("offsets", "sync", moved.file).code == 0

    ended = moved.run("--yes", "-o", "json")
    assert ended.code == 0, ended
    report = json.loads(ended.out)
    (opened,) = [e["did"] for e in report["operation"]["done"] if e["step"] == "open target"]
    assert opened.endswith(f"consumers of {moved.topic} read {moved.copy} there as well")
    targets = {each["target"].rpartition("-")[0] for each in report["groups"]}
    assert targets == {moved.copy} == {f"{flow.alias}.{moved.topic}"}

    kafka_records.produce(flow.to, moved.topic, [(n, b"k", b"new %d" % n) for n in range(3)])
    ours = _records(flow.here, moved.topic)
    for group, offsets in commits.items():
        expected = {
            *((moved.copy, each.value) for each in ours if each.offset >= offsets[each.partition]),
            *((moved.topic, b"new %d" % n) for n in range(3)),
        }
        pattern = rf"^({flow.alias}\.)?{kept}$"
        read = _read(flow.to, f"{group} of {moved.topic}", pattern, len(expected))
        assert len(read) == len(expected)
        assert {*read} == expected
    assert moved.run("--undo").code == 0, "nobody wrote to the copy"


def _read(bootstrap: str, group: str, pattern: str, count: int) -> list[tuple[str, bytes]]:
    """Return topic and value of what a group reads that subscribes to a pattern of topics."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([pattern])
    found: list[tuple[str, bytes]] = []
    try:
        wait_for(lambda: found.extend(_polled(consumer)) or len(found) >= count)
        found.extend(_polled(consumer))
    finally:
        consumer.close()
    return found


def _polled(consumer: Consumer) -> list[tuple[str, bytes]]:
    got = consumer.consume(500, timeout=1.0)
    return [(each.topic(), each.value()) for each in got if each.error() is None]


def _records(bootstrap: str, topic: str) -> list[kafka_records.Rec]:
    return wait_for(lambda: kafka_records.consume_all(bootstrap, topic))


def test_an_operator_that_comes_second_is_told_who_works_at_which_step(disaster):
    flow = disaster.flow
    disaster.produce()
    flow.copy_all()
    disaster.killed_at("prove positions")
    with subprocess.Popen(
        [sys.executable, "-c", _BEATING, flow.to, flow.alias, flow.name], cwd=REPOSITORY,
        stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        other.stdout.readline()
        second = disaster.run("--yes")
        other.kill()
    assert second.code == 1
    assert "carries out failover" in second.lines[-1]
    assert "step 'prove positions'" in second.lines[-1]
    assert disaster.run("--yes").code == 0


def test_an_open_target_is_closed_only_while_no_client_has_written_there(disaster, tmp_path):
    flow = disaster.flow
    disaster.produce()
    flow.copy_all()
    plan = disaster.run("--dry-run")
    assert plan.lines[-1] == "nothing was changed"
    assert "prove positions" in plan.out
    assert disaster.run("--undo").code == 2

    run = _run_job(disaster, tmp_path, "CARRY_OUT")
    assert run.success
    (output,) = [each for each in run.all_events if each.event_type_value == "STEP_OUTPUT"]
    assert output.step_output_data.metadata["missing records"].value == 0
    assert disaster.run("--yes").code == 2
    resumed = run_command("resume", disaster.file, "--flow", flow.name)
    assert resumed.code == 1
    assert "B is open for clients since failover" in resumed.lines[-1]

    assert disaster.run("--undo").code == 0
    assert run_command("resume", disaster.file, "--flow", flow.name).code == 0
    assert disaster.run("--yes").code == 0
    kafka_records.produce(flow.to, disaster.topic, [(1, b"k", b"written after the failover")])
    undone = disaster.run("--undo")
    assert undone.code == 1
    assert f"clients wrote 1 record to {disaster.topic}-1 on B" in undone.lines[-1]


def _run_job(disaster, home, action: str):
    isthmus = Isthmus(config_path=str(disaster.file), home_path=str(home))
    name = disaster.flow.name
    return flow_jobs([name])["failover"].execute_in_process(
        run_config={"ops": {"fail_over": {"config": {"action": action}}}},
        partition_key=name,
        resources={"isthmus": isthmus},
    )


_BEATING = """
import sys, time
from dataclasses import replace
from replication.adapters.topics.state_store import StateStore
from replication.state import Operation, status_topic
to, alias, flow = sys.argv[1:]
store = StateStore({"bootstrap.servers": to}, 1)
found = next(e for e in store.read(status_topic(alias)).values() if isinstance(e, Operation))
for beat in range(1000):
    store.write(status_topic(alias), replace(found, beat_ms=found.beat_ms + beat))
    print(beat, flush=True)
    time.sleep(0.5)
"""
