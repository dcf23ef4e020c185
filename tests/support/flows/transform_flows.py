"""A transform's run between two real clusters, without Spark: its tasks run in this process."""

from __future__ import annotations

import multiprocessing
import time
from functools import partial
from typing import TYPE_CHECKING

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.topics.state_store import StateStore
from replication.config.load import load_config
from replication.model import PartitionPlan, TopicPartition
from replication.state import Anchor, anchors_topic
from spark_jobs.transform import point_record
from spark_jobs.transform.flow_transforms import clusters_of
from spark_jobs.transform.run.run_setting import TransformRunContext
from spark_jobs.transform.run.transform_run import TransformRun
from spark_jobs.transform.task import tasks
from support.flows.state_reader import StateReader
from support.records import kafka_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from replication.settings.transform_settings import TopicTransform
    from spark_jobs.transform.task.work import SlotReport, SlotWork


class HereJob:
    """Runs the tasks of a batch in this process, one after the other."""

    def __init__(self, transform: TopicTransform, _: int) -> None:
        self.transform = transform

    def check(self) -> None:
        if self.transform.function is not None:
            tasks.load_function(self.transform)

    def run(self, work: Sequence[SlotWork]) -> list[SlotReport]:
        return [tasks.guarded(partial(tasks._transform, each)) for each in work]


def _run_for_ever(flow: TransformFlow, generation: int, begun: Connection) -> None:
    point_record._MINUTE_MS = flow.minute_ms
    run = flow.run(generation)
    run._guarded_round()
    while True:
        begun.send(run.problem)
        time.sleep(min(run._guarded_round(), 0.05))


class TransformFlow:
    """A file with one flow A->B that transforms the topic ``orders``, which has two partitions."""

    def __init__(self, home: Path, source: str, target: str, more: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.config = home / "isthmus.properties"
        self.here, self.there = source, target
        self.minute_ms = 60_000  # of points, in a process of its own
        self.alias = home.name.replace("_", "-")[-20:]
        self.topic = f"{self.alias}-orders"  # and no topic of another test: clusters are shared
        self.copy = f"{self.alias}.{self.topic}"
        self.config.write_text(
            f"clusters = {self.alias}, B\n{self.alias}.bootstrap.servers = {source}\n"
            f"B.bootstrap.servers = {target}\n{self.alias}->B.enabled = true\n"
            f"replication.factor = 1\n{more.replace('SOURCE', self.alias)}"
            f"{self.alias}->B.topics = {self.topic}\n"
        )
        self.flow = load_config(self.config).config.flows[0]

    def make(self, partitions: int = 2) -> None:
        """Create the topic, its copy, and the state topics."""
        kafka_records.create_topic(self.here, self.topic, partitions)
        kafka_records.create_topic(self.there, self.copy, partitions)
        store = StateStore({"bootstrap.servers": self.there}, 1)
        store.ensure_topics(self.alias)
        store.ensure_dead_letters(self.alias)
        store.close()

    def run(self, generation: int = 1) -> TransformRun:
        """Return a run that was told what to transform, but does not run yet."""
        source = KafkaAdmin({"bootstrap.servers": self.here})
        target = KafkaAdmin({"bootstrap.servers": self.there})
        setting = TransformRunContext(
            self.flow,
            clusters_of(self.flow, "", "", has_copies=False),
            generation,
            HereJob,
            source.end_offsets,
            lambda: {name: each.partitions for name, each in target.topics().items()},
        )
        run = TransformRun(setting, 0, self.flow.transforms[0])
        run._plans = {
            TopicPartition(self.topic, n): PartitionPlan(
                TopicPartition(self.topic, n), TopicPartition(self.copy, n)
            )
            for n in range(2)
        }
        return run

    def run_killed(self, generation: int, after_s: float, rounds: int = 1) -> None:
        """Run in a process of its own, and kill it with SIGKILL so long after its first rounds."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["support.flows.transform_flows"])
        ours, theirs = context.Pipe()
        child = context.Process(target=_run_for_ever, args=(self, generation, theirs), daemon=True)
        child.start()
        for number in range(rounds):
            assert ours.poll(180), f"it did not make its round {number}"
            ours.recv()
        time.sleep(after_s)
        child.kill()
        child.join()

    def until_done(self, run: TransformRun) -> None:
        """Run batches until nothing is left, or everything waits; problems may pass."""
        deadline = time.monotonic() + 180
        while (pause_s := run._guarded_round()) != 0.2:
            assert time.monotonic() < deadline, run.problem
            time.sleep(pause_s)

    def anchors(self) -> dict[int, Anchor]:
        store = StateStore({"bootstrap.servers": self.there}, 1)
        reader = StateReader(store, anchors_topic(self.alias))
        found = [each for each in reader.read().values() if isinstance(each, Anchor)]
        reader.close()
        store.close()
        return {each.partition: each for each in found}

    def read(self, topic: str = "") -> list[kafka_records.Rec]:
        return kafka_records.consume_all(self.there, topic or self.copy, "read_committed")
