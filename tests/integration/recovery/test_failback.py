"""A failback on real brokers: a source that returns with records that never arrived."""

from __future__ import annotations

import json
import uuid
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition
from support import kafka_records
from support.command import run_command
from support.copier_flows import Flow, start_unit
from support.killed_operator import killed_at
from support.unit_driver import driven
from support.unit_specs import changed

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.model import BY_ID, PartitionPlan, TopicPartition
from replication.recovery.failback import FailbackOptions, failback_steps

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.slow]

QUICK = ("--yes", "--timeout", "60", "--quiet", "1.5")


class Way(Flow):
    """One of two flows between the same topics of two clusters."""

    target_alias = "B"

    @property
    def name(self) -> str:
        return f"{self.alias}->{self.target_alias}"

    def spec(self, generation: int = 1, epoch: int = 0, **more: object):
        plans = tuple(PartitionPlan(each, each, origins=BY_ID) for each in self.partitions)
        whole = super().spec(generation, epoch, partitions=plans, **more)
        return changed(whole, target_alias=self.target_alias)


class Return:
    """Two clusters and a flow between them, failed over with a tail that was never copied."""

    def __init__(self, a, b, folder) -> None:
        self.a, self.folder = a, folder
        self.topic = f"orders-{uuid.uuid4().hex[:8]}"
        topics = {self.topic: 3}
        for each in (a, b):
            kafka_records.create_topic(each.bootstrap_servers, self.topic, 3)
        self.out = Way(a, b, topics)
        self.back = Way(b, a, topics, alias=f"b{uuid.uuid4().hex[:8]}")
        self.out.target_alias, self.back.target_alias = self.back.alias, self.out.alias
        self.file = folder / "mm2.properties"
        self.file.write_text(
            f"clusters = {self.out.alias}, {self.back.alias}\n"
            f"{self.out.alias}.bootstrap.servers = {self.out.here}\n"
            f"{self.back.alias}.bootstrap.servers = {self.out.to}\n"
            + "".join(
                f"{each.name}.enabled = true\n{each.name}.topics = {self.topic}\n"
                f"{each.name}.groups = .*{self.topic}\n"
                for each in (self.out, self.back)
            )
            + "replication.policy.class = "
            "org.apache.kafka.connect.mirror.IdentityReplicationPolicy\nreplication.factor = 1\n"
        )

    def fail_over(self) -> None:
        """Copy 300 records, lose units and source with 60 more, and let clients write 90 on B."""
        self.produce(self.out, "before", 300)
        unit = start_unit(self.out.spec(), self.folder)
        self.out.wait_copied()
        self.produce(self.out, "late", 30)
        self.out.wait_for(lambda found: sum(e.records for e in found.values()) >= 300, "copied")
        unit.kill()
        unit.communicate(timeout=30)
        self.produce(self.out, "tail", 60)
        self.a.kill()
        ended = self.run("failover", "--yes")
        assert "is open for clients" in ended.out
        self.produce(self.back, "new", 90)
        self.a.start_broker(1)
        self.never_copied = self.contents(self.out.here) - self.contents(self.out.to)
        assert sum(self.never_copied.values()) >= 60

    def produce(self, flow: Way, what: str, count: int) -> None:
        records = [(n % 3, b"k", f"{what} {n}".encode()) for n in range(count)]
        kafka_records.produce(flow.here, self.topic, records)
        flow.fed.update(TopicPartition(self.topic, each[0]) for each in records)

    def run(self, verb: str, *words: str):
        return run_command(verb, self.file, "--flow", self.out.name, *words)

    def ends(self, bootstrap: str) -> dict[int, int]:
        admin = KafkaAdmin({"bootstrap.servers": bootstrap})
        return {each.partition: end for each, end in admin.end_offsets(self.out.partitions).items()}

    def contents(self, bootstrap: str) -> Counter:
        records = kafka_records.consume_all(bootstrap, self.topic, "read_committed")
        return Counter(each.content for each in records)

    def commit(self, group: str, offsets: dict[int, int]) -> None:
        consumer = Consumer({"bootstrap.servers": self.out.to, "group.id": f"{group}-{self.topic}"})
        where = [ClientPartition(self.topic, *each) for each in offsets.items()]
        consumer.commit(offsets=where, asynchronous=False)
        consumer.close()

    def left_to_read(self, group: str, bootstrap: str) -> dict[int, list[bytes]]:
        """Return the values at or behind a group's offsets, by partition."""
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{group}-{self.topic}"})
        where = [ClientPartition(self.topic, n) for n in range(3)]
        at = {each.partition: each.offset for each in consumer.committed(where, timeout=30)}
        consumer.close()
        found = defaultdict(list)
        for each in kafka_records.consume_all(bootstrap, self.topic, "read_committed"):
            if each.offset >= at[each.partition]:
                found[each.partition].append(each.value)
        return found

    def killed_at(self, step: str, *words: str) -> None:
        """Carry it out, and kill its process when it begins ``step``."""
        command = ("failback", self.file, "--flow", self.out.name, *QUICK, *words)
        killed_at(step, command)


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
    wanted = self_and_tail(returned)
    returned.commit("middle", {0: 50, 1: 100, 2: 130})
    export = returned.folder / "tail"
    plan = returned.run("failback", "--dry-run")
    assert plan.lines[-1] == "nothing was changed"
    for step in STEPS:
        if step == "switch over":  # both have copied all
            returned.commit("end", returned.ends(returned.out.to))
        returned.killed_at(step, "--export", str(export))
    ended = returned.run("failback", *QUICK, "-o", "json")
    assert ended.code == 0, ended
    report = json.loads(ended.out)
    assert [each["step"] for each in report["operation"]["done"]] == STEPS
    assert report["tail_records"] == sum(returned.never_copied.values())
    assert exported(export) == sorted(each[2].decode() for each in returned.never_copied)

    assert returned.contents(returned.out.here) == wanted
    assert returned.contents(returned.out.to) == wanted
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
    wanted = returned.contents(returned.out.to)
    ended = returned.run("failback", "--tail", "keep", *QUICK)
    assert ended.code == 0, ended
    here, there = (returned.contents(each) for each in (returned.out.here, returned.out.to))
    assert there == wanted
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


def self_and_tail(returned: Return) -> Counter:
    """Return all that either side has: none of it is equal to another record."""
    return returned.contents(returned.out.here) | returned.contents(returned.out.to)


def exported(folder: Path) -> list[str]:
    files = [file.read_text() for file in folder.glob("json/*.txt")]
    return sorted(json.loads(line)["value"] for text in files for line in text.splitlines())
