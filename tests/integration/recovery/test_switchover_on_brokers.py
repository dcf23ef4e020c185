"""A switchover on real brokers with authorizers: producers that go on, operators that die."""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as ClientPartition
from support.brokers.secured_broker import PASSWORD
from support.flows.command import run_command
from support.flows.copier_flows import Flow
from support.flows.killed_operator import killed_at
from support.flows.spark_driver import wait_for
from support.flows.unit_driver import driven
from support.records import kafka_records

from bench.threads import working
from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.dagster.resources import Isthmus
from replication.client.acl_values import TOPIC, Resource
from replication.model import TopicPartition
from replication.recovery.switchover import SwitchoverOptions, denials, switchover_steps

pytestmark = [pytest.mark.integration, pytest.mark.slow]

STEPS = tuple(e.name for e in switchover_steps("", "", "", SwitchoverOptions(deny_writes=True)))
QUICK = ("--yes", "--timeout", "60", "--quiet", "1.5", "--tail", "50")


class Move:
    """A flow under kept names, which a unit copies; ``user`` is bound by ACLs on the source."""

    def __init__(self, clusters, folder) -> None:
        self.here, self.there = clusters
        topic = f"moved-{uuid.uuid4().hex[:8]}"
        self.flow = Flow(self.here.cluster, self.there.cluster, {topic: 3})
        self.topic = topic
        self.sent = itertools.count()
        for bootstrap in (self.flow.here, self.flow.to):
            kafka_records.create_topic(bootstrap, topic, 3)
        self.file = folder / "mm2.properties"
        self.file.write_text(
            f"clusters = {self.flow.alias}, B\n"
            f"{self.flow.alias}.bootstrap.servers = {self.flow.here}\n"
            f"B.bootstrap.servers = {self.flow.to}\n"
            f"{self.flow.name}.enabled = true\n{self.flow.name}.topics = {topic}\n"
            f"{self.flow.name}.groups = .*{topic}\n"
            "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
            "heartbeats.replication.enabled = false\nreplication.factor = 1\n"
        )

    def produce(self, count: int = 300, config=None) -> None:
        numbers = list(itertools.islice(self.sent, count))
        records = [(n % 3, b"key-%d" % (n % 7), b"record %d" % n) for n in numbers]
        kafka_records.produce(self.flow.here, self.topic, records, config)
        self.flow.fed.update(TopicPartition(self.topic, each[0]) for each in records)

    @contextmanager
    def producing(self, transactional_id: str):
        """Produce transactions while the block runs."""
        over = threading.Event()
        producer = Producer(
            {"bootstrap.servers": self.flow.here, "transactional.id": transactional_id}
        )
        producer.init_transactions()

        def feed() -> None:
            while not over.wait(0.1):
                producer.begin_transaction()
                producer.produce(self.topic, b"%d" % next(self.sent), partition=1)
                producer.commit_transaction()

        with working(over, feed):
            yield

    def commit(self, group: str, offsets: dict[int, int]) -> None:
        consumer = Consumer({"bootstrap.servers": self.flow.here, "group.id": self.group(group)})
        where = [ClientPartition(self.topic, *each) for each in offsets.items()]
        consumer.commit(offsets=where, asynchronous=False)
        consumer.close()

    def group(self, name: str) -> str:
        return f"{name}-{self.topic}"

    def next_of(self, group: str) -> dict[int, object]:
        """Return the content of the record that a group reads next on the target, by partition."""
        consumer = Consumer({"bootstrap.servers": self.flow.to, "group.id": self.group(group)})
        where = [ClientPartition(*each) for each in self.flow.partitions]
        found = {each.partition: each.offset for each in consumer.committed(where, timeout=30)}
        consumer.close()
        by_place = {(e.partition, e.offset): e.content for e in self.records(self.flow.to)}
        return {number: by_place.get((number, offset)) for number, offset in found.items()}

    def records(self, bootstrap: str) -> list[kafka_records.Rec]:
        return kafka_records.consume_all(bootstrap, self.topic, "read_committed")

    def run(self, *words: str):
        return run_command("switchover", self.file, "--flow", self.flow.name, *words)

    def killed_at(self, step: str, *words: str) -> None:
        """Carry it out, and kill its process when it begins ``step``."""
        command = ("switchover", self.file, "--flow", self.flow.name, *QUICK, *words)
        killed_at(step, command)

    def denied(self) -> bool:
        return bool(denials([self.topic]) & self.here.admin.acls())

    def assert_as_it_was(self) -> None:
        """The flow runs and copies, and no write is denied."""
        assert not self.denied()
        self.produce(30)
        self.flow.wait_copied()
        ours, copies = (self.records(each) for each in (self.flow.here, self.flow.to))
        assert [each.content for each in copies] == [each.content for each in ours]


@pytest.fixture
def move(guarded_clusters, tmp_path):
    moved = Move(guarded_clusters, tmp_path)
    with driven(moved.flow):
        moved.produce()
        moved.flow.wait_copied()
        yield moved


def test_whatever_kills_its_operator_every_group_goes_on_at_its_next_record(move):
    ends = dict.fromkeys(range(3), 100)
    move.commit("begin", dict.fromkeys(range(3), 0))
    move.commit("middle", {0: 7, 1: 50, 2: 99})
    move.commit("end", ends)
    for step in STEPS:
        move.killed_at(step, "--deny-writes")
        move.here.allow_only([(Resource(TOPIC, move.topic), "WRITE")], "driver")
        if step == "wait for producers":
            assert move.denied()
            assert not _may_write(move)
    ended = move.run(*QUICK, "-o", "json")
    assert ended.code == 0, ended
    report = json.loads(ended.out)
    assert [each["step"] for each in report["operation"]["done"]] == list(STEPS)
    assert report["operation"]["writable"] == "B"
    assert not move.denied()
    assert _may_write(move)

    ours, copies = (move.records(each) for each in (move.flow.here, move.flow.to))
    before = [each for each in ours if each.value != b"may I"]
    assert [each.content for each in copies] == [each.content for each in before]
    place = {(each.partition, each.offset): each.content for each in before}
    assert move.next_of("begin") == {n: place[n, 0] for n in range(3)}
    assert move.next_of("middle") == {0: place[0, 7], 1: place[1, 50], 2: place[2, 99]}
    kafka_records.produce(move.flow.to, move.topic, [(n, b"k", b"new %d" % n) for n in range(3)])
    assert [move.next_of("end")[n][2] for n in range(3)] == [b"new 0", b"new 1", b"new 2"]
    undone = move.run("--undo")
    assert undone.code == 1
    assert "clients wrote 1 record to" in undone.lines[-1]


def _may_write(move: Move) -> bool:
    """Say whether a user that has WRITE on the topic may use it."""
    login = {
        "bootstrap.servers": move.here.logins, "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN", "sasl.username": "driver", "sasl.password": PASSWORD,
    }  # fmt: skip
    try:
        kafka_records.produce("", move.topic, [(0, b"k", b"may I")], login)
    except KafkaException as error:
        return error.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED
    return True


def test_a_producer_that_does_not_stop_is_named_and_everything_is_undone(move):
    name = f"till-{move.topic}"
    with move.producing(name):
        ended = move.run("--yes", "--timeout", "8", "--quiet", "4", "--deny-writes")
    assert ended.code == 1
    reported = ended.lines[-1]
    assert f"transactional id {name}" in reported
    assert f"in {move.topic}-1" in reported
    assert "no longer denied" in reported
    move.assert_as_it_was()


def test_a_record_that_comes_after_all_is_found_before_the_target_is_open(move):
    move.killed_at("set groups")
    move.produce(1, {"enable.idempotence": True})
    ended = move.run(*QUICK)
    assert ended.code == 1
    assert f"wrote in {move.topic}-0 up to offset 100" in ended.lines[-1]
    assert "will run within seconds" in ended.lines[-1]
    move.assert_as_it_was()


def test_an_interrupted_one_is_undone_and_an_open_target_is_closed_again(move, tmp_path):
    plan = move.run("--dry-run")
    assert plan.lines[-1] == "nothing was changed"
    move.killed_at("compare tail", "--deny-writes")
    assert move.denied()
    undone = move.run("--undo")
    assert undone.code == 0
    assert "no longer denied" in undone.lines[-1]
    move.assert_as_it_was()

    isthmus = Isthmus(config_path=str(move.file), home_path=str(tmp_path))
    config = {"action": "CARRY_OUT", "quiet_s": 1.5, "timeout_s": 60}
    run = flow_jobs([move.flow.name])["switchover"].execute_in_process(
        run_config={"ops": {"switch_over": {"config": config}}},
        partition_key=move.flow.name,
        resources={"isthmus": isthmus},
    )
    assert run.success
    resumed = run_command("resume", move.file, "--flow", move.flow.name)
    assert "B is open for clients since switchover" in resumed.lines[-1]
    assert move.run("--undo").code == 0
    move.assert_as_it_was()


def test_a_flow_that_stands_still_is_not_switched_over(move):
    assert run_command("stop", move.file, "--flow", move.flow.name).code == 0
    wait_for(lambda: "has the desired state stop" in move.run("--dry-run").out)
    ended = move.run(*QUICK)
    assert ended.code == 1
    assert "nothing had been changed" in ended.lines[-1]
