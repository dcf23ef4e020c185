"""Two clusters that copy to each other, one of which is lost and comes back with a tail."""

from __future__ import annotations

import threading
import uuid
from collections import Counter, defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from bench.threads import working
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.model import BY_ID, PartitionPlan, TopicPartition
from support.copier.unit_specs import changed
from support.flows.command import run_command
from support.flows.copier_flows import Flow, start_unit
from support.flows.killed_operator import killed_at
from support.records import kafka_records

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT_NAMES = (
    "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
)
QUICK = ("--yes", "--timeout", "60", "--quiet", "1.5")


class Way(Flow):
    """One of two flows between the same topics of two clusters."""

    target_alias = "B"

    @property
    def name(self) -> str:
        return f"{self.alias}->{self.target_alias}"

    prefixes: bool = False

    def copy_of(self, topic: str) -> str:
        return f"{self.alias}.{topic}" if self.prefixes else topic

    def spec(self, generation: int = 1, epoch: int = 0, **more: object):
        origins = "" if self.prefixes else BY_ID
        plans = tuple(
            PartitionPlan(e, TopicPartition(self.copy_of(e.topic), e.partition), origins=origins)
            for e in self.partitions
        )
        whole = super().spec(generation, epoch, partitions=plans, **more)
        return changed(whole, target_alias=self.target_alias)


class Return:
    """Two clusters and a flow between them, failed over with a tail that was never copied."""

    def __init__(self, a, b, folder, *, prefixes: bool = False) -> None:
        self.a, self.folder = a, folder
        self.topic = f"orders-{uuid.uuid4().hex[:8]}"
        topics = {self.topic: 3}
        for each in (a, b):
            kafka_records.create_topic(each.bootstrap_servers, self.topic, 3)
        self.out = Way(a, b, topics)
        self.back = Way(b, a, topics, alias=f"b{uuid.uuid4().hex[:8]}")
        self.out.target_alias, self.back.target_alias = self.back.alias, self.out.alias
        for each in (self.out, self.back):
            each.prefixes = prefixes
            if prefixes:
                kafka_records.create_topic(each.to, each.copy_of(self.topic), 3)
        self.file = folder / "mm2.properties"
        self.file.write_text(
            f"clusters = {self.out.alias}, {self.back.alias}\n"
            f"{self.out.alias}.bootstrap.servers = {self.out.here}\n"
            f"{self.back.alias}.bootstrap.servers = {self.out.to}\n"
            + "".join(
                f"{each.name}.enabled = true\n{each.name}.topics = {self.topic}\n"
                f"{each.name}.groups = .*{self.topic}\n"
                f"{each.name}.sync.group.offsets.enabled = true\n"
                for each in (self.out, self.back)
            )
            + ("" if prefixes else _KEPT_NAMES)
            + "heartbeats.replication.enabled = false\nreplication.factor = 1\n"
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
        assert ended.code == 0, ended
        self.produce(self.back, "new", 90)
        self.a.start_broker(1)
        copied = self.contents(self.out.to, self.out.copy_of(self.topic))
        self.never_copied = self.contents(self.out.here) - copied
        assert sum(self.never_copied.values()) >= 60

    def lose_a_side_under_load(self) -> dict[str, dict[int, list[bytes]]]:
        """Copy both ways while clients write on both sides, lose the source, and fail over.

        Returns what two groups had left to read: ``moves``, of the source, of what was copied, and
        ``stays``, of the target.
        """
        units = [start_unit(each.spec(), self.folder) for each in (self.out, self.back)]
        with self.clients_on_both():
            for each in (self.out, self.back):
                each.wait_moved(900)
            self.commit("moves", {0: 45, 1: 120, 2: 200}, bootstrap=self.out.here)
            self.commit("stays", {0: 90, 1: 10, 2: 130})
            assert run_command("offsets", "sync", self.file, "--flow", self.out.name).code == 0
            self.out.wait_moved(300)
            for each in units:
                each.kill()
                each.communicate(timeout=30)
        self.produce(self.out, "tail", 60)
        copied = set(self.contents(self.out.to))
        left = {
            "moves": self.left_to_read("moves", self.out.here),
            "stays": self.left_to_read("stays", self.out.to),
        }
        self.a.kill()
        ended = self.run("failover", "--yes")
        assert "is open for clients" in ended.out, ended
        there = {each[2] for each in copied}
        left["moves"] = {n: [v for v in them if v in there] for n, them in left["moves"].items()}
        return left

    def lose_again(self) -> None:
        """Lose the source while a failback is not finished; clients write 30 more on B."""
        self.a.kill()
        ended = self.run("failover", "--yes")
        assert ended.code == 0, ended
        assert "abandoning failback " in ended.out
        self.produce(self.back, "meanwhile", 30)
        self.a.start_broker(1)

    def produce(self, flow: Way, what: str, count: int) -> None:
        records = [(n % 3, b"k", f"{what} {n}".encode()) for n in range(count)]
        kafka_records.produce(flow.here, self.topic, records)
        flow.fed.update(TopicPartition(self.topic, each[0]) for each in records)

    def run(self, verb: str, *words: str):
        return run_command(verb, self.file, "--flow", self.out.name, *words)

    def ends(self, bootstrap: str, topic: str = "") -> dict[int, int]:
        admin = KafkaAdmin({"bootstrap.servers": bootstrap})
        places = [TopicPartition(topic or self.topic, number) for number in range(3)]
        return {each.partition: end for each, end in admin.end_offsets(places).items()}

    def contents(self, bootstrap: str, topic: str = "") -> Counter:
        records = kafka_records.consume_all(bootstrap, topic or self.topic, "read_committed")
        return Counter(each.content for each in records)

    def values_on(self, bootstrap: str) -> set[bytes]:
        return {each[2] for each in self.contents(bootstrap)}

    @contextmanager
    def clients_on_both(self, seconds: float = 0.05) -> Iterator[None]:
        """Let clients of either side produce while the block runs."""
        over = threading.Event()

        def feed() -> None:
            turn = 0
            while not over.wait(seconds):
                turn += 1
                self.produce(self.out, f"here {turn}", 60)
                self.produce(self.back, f"there {turn}", 60)

        with working(over, feed):
            yield

    def commit(
        self, group: str, offsets: dict[int, int], topic: str = "", bootstrap: str = ""
    ) -> None:
        """Commit a group's offsets at the target, or at ``bootstrap``."""
        name = f"{group}-{self.topic}"
        consumer = Consumer({"bootstrap.servers": bootstrap or self.out.to, "group.id": name})
        where = [ClientPartition(topic or self.topic, *each) for each in offsets.items()]
        consumer.commit(offsets=where, asynchronous=False)
        consumer.close()

    def left_to_read(self, group: str, bootstrap: str, topic: str = "") -> dict[int, list[bytes]]:
        """Return the values at or behind a group's offsets, by partition."""
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{group}-{self.topic}"})
        where = [ClientPartition(topic or self.topic, n) for n in range(3)]
        at = {each.partition: each.offset for each in consumer.committed(where, timeout=30)}
        consumer.close()
        assert min(at.values()) >= 0, f"{group} has no offset: {at}"
        found = defaultdict(list)
        for each in kafka_records.consume_all(bootstrap, topic or self.topic, "read_committed"):
            if each.offset >= at[each.partition]:
                found[each.partition].append(each.value)
        return found

    def killed_at(self, step: str, *words: str) -> None:
        """Carry it out, and kill its process when it begins ``step``."""
        command = ("failback", self.file, "--flow", self.out.name, *QUICK, *words)
        killed_at(step, command)
