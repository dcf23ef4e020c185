"""Verifying what was copied between two real clusters, by the command and its Spark job."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from support.flows.command import run_command
from support.flows.copier_flows import Flow, feeding
from support.flows.spark_driver import REPOSITORY
from support.records.kafka_records import create_topic, delete_records, produce, some_records

from orchestration.cli.flows import verify as command
from replication.adapters.offset_reader import OffsetReader
from replication.config.load import load_config
from replication.model import PartitionState, TopicPartition
from replication.state import Anchor, anchors_topic
from replication.verification.ranges import RangeResult
from spark_jobs.verification.range_task import check_ranges, forget

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration
COUNT = 5_000


class Verified(Flow):
    """A flow with one topic, its file, and the command on it."""

    @property
    def topic(self) -> str:
        return next(iter(self.topics))

    def made(self) -> Verified:
        for cluster in (self.here, self.to):
            create_topic(cluster, self.topic, self.topics[self.topic])
        return self

    def written(self, folder: Path) -> Path:
        file = folder / "flow.properties"
        file.write_text(
            f"clusters = {self.alias}, B\n{self.alias}.bootstrap.servers = {self.here}\n"
            f"B.bootstrap.servers = {self.to}\n{self.name}.enabled = true\n"
            f"{self.name}.topics = {self.topic}\nreplication.policy.class = "
            "org.apache.kafka.connect.mirror.IdentityReplicationPolicy\nreplication.factor = 1\n"
            "heartbeats.replication.enabled = false\nverification.range.bytes = 1MiB\n"
            f"reports.directory = {folder}/reports\n"
        )
        return file

    def verify(self, folder: Path, *options: str, status: int) -> dict:
        """Run the command and return its JSON."""
        done = run_command("verify", self.written(folder), "-o", "json", *options)
        assert done.code == status, done.err
        return json.loads(done.out)[0]

    def note(self, partition: int, target: int, records: int) -> None:
        """Write the anchor of a copy that was made by other means, of records of 1,000 bytes."""
        anchor = Anchor(
            self.name, self.topic, partition, self.topic, records, target,
            appenders=(("another tool", -1),),  # which no registry of producers knows
            records=records,
            bytes=records * 1000, state=PartitionState.RUNNING, run=(1, 0, 0, 0, 0), at_ms=1,
        )  # fmt: skip
        self.store.write(anchors_topic(self.alias), anchor)


def in_this_process(config, flow, ranges, _):
    """Compare ranges as a Spark task does, without Spark."""
    listed = [each.as_json() for each in ranges]
    return [RangeResult.of_json(each) for each in check_ranges("r", str(config.path), flow, listed)]


@pytest.fixture
def quick(monkeypatch):
    """Let the command compare without Spark, whose start takes longer than all the rest."""
    monkeypatch.setattr(command, "SparkProcess", lambda config: partial(in_this_process, config))
    yield
    forget()


def changed(record: tuple, at: int, to: object) -> tuple:
    return (*record[:at], to, *record[at + 1 :])


# A run of Dagster's job, in a process of its own as Dagster gives it.
_RUN = """
import sys
import dagster as dg
from orchestration.dagster.flow_jobs.job_list import flow_jobs
from orchestration.dagster.flow_jobs.spark_in_run import lazy_spark
from orchestration.dagster.resources import Isthmus
file, home, flow = sys.argv[1:]
with dg.DagsterInstance.ephemeral() as instance:
    ended = flow_jobs([flow])["verify"].execute_in_process(
        partition_key=flow,
        resources={"isthmus": Isthmus(file, home), "isthmus_spark": lazy_spark()},
        instance=instance,
        raise_on_error=False,
    )
(seen,) = [e for e in ended.all_events if e.event_type_value == "ASSET_OBSERVATION"]
result = seen.asset_observation_data.asset_observation.metadata["result"].value
print("ended:" if ended.success else "failed:", result)
"""

FAULTS = {
    "nothing": lambda copy: copy,
    "different_value": lambda copy: [
        *copy[:2_500],
        changed(copy[2_500], 2, b"X" + copy[2_500][2][1:]),
        *copy[2_501:],
    ],
    "out_of_order": lambda copy: [*copy[:700], copy[701], copy[700], *copy[702:]],
    "lost": lambda copy: [*copy[:1_234], *copy[1_235:]],
    "repeated": lambda copy: [*copy[:4_000], *copy[3_999:]],
    "different_timestamp": lambda copy: [
        *copy[:9],
        changed(copy[9], 4, copy[9][4] + 1),
        *copy[10:],
    ],
    "different_headers": lambda copy: [*copy[:-1], changed(copy[-1], 3, copy[-1][3][:1])],
    "different_key": lambda copy: [*copy[:1_999], changed(copy[1_999], 1, b"x"), *copy[2_000:]],
    "extra": lambda copy: [*copy[:3_000], (*copy[0][:2], b"foreign", None, 5), *copy[3_000:]],
}


@pytest.fixture
def faulty(source_cluster, target_cluster, topic_name):
    """A copy with each of the faults in a partition of its own."""
    flow = Verified(source_cluster, target_cluster, {topic_name(): len(FAULTS)}).made()
    for number, fault in enumerate(FAULTS.values()):
        records = [
            (number, b"k%d" % n, b"%0100d" % n, [("h", b"1"), ("i", None)], 1_700_000_000_000 + n)
            for n in range(COUNT)
        ]
        copy = fault(records)
        produce(flow.here, flow.topic, records)
        produce(flow.to, flow.topic, copy)
        flow.note(number, len(copy), COUNT)
    return flow


def test_spark_finds_each_fault_with_its_offsets_and_nothing_where_there_is_none(faulty, tmp_path):
    """By the command, and by Dagster's job."""
    flow = faulty
    reported = flow.verify(tmp_path, status=1)
    found = {each["source"]: each["differences"] for each in reported["partitions"]}
    assert found == {
        f"{flow.topic}-{number}": {} if name == "nothing" else {name: 1}
        for number, name in enumerate(FAULTS)
    }
    offsets = {
        each["examples"][0]["kinds"][0]: (
            each["examples"][0]["source"],
            each["examples"][0]["target"],
        )
        for each in reported["partitions"]
        if each["examples"]
    }
    assert offsets == {
        "different_value": (2_500, 2_500),
        "out_of_order": (701, 700),
        "lost": (1_234, None),
        "repeated": (None, 4_000),
        "different_timestamp": (9, 9),
        "different_headers": (4_999, 4_999),
        "different_key": (1_999, 1_999),
        "extra": (None, 3_000),
    }
    assert reported["ranges"] > 2 * len(FAULTS)
    assert (reported["result"], reported["differences"]) == ("different", len(FAULTS) - 1)
    [page] = (tmp_path / "reports").glob("*.html")
    assert "different timestamp" in page.read_text()
    assert json.loads(page.with_suffix(".json").read_text()) == reported
    page.with_suffix(".json").unlink()

    run = subprocess.run(
        [sys.executable, "-c", _RUN, str(flow.written(tmp_path)), str(tmp_path), flow.name],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.stdout.splitlines()[-1:] == ["failed: different"], run.stderr[-3000:]
    [data] = (tmp_path / "reports").glob("*.json")
    again = json.loads(data.read_text())
    assert [e["differences"] for e in again["partitions"]] == [
        e["differences"] for e in reported["partitions"]
    ]


@pytest.mark.usefixtures("quick")
def test_a_fault_that_moves_all_later_records_is_found_once(shifted, tmp_path):
    """One record is missing and a later one is doubled: the copy has as many as the source."""
    reported = shifted.verify(tmp_path, status=1)
    [partition] = reported["partitions"]
    assert partition["differences"] == {"lost": 1, "repeated": 1}
    assert [each["source"] or each["target"] for each in partition["examples"]] == [1_100, 3_899]
    assert reported["records"] == COUNT - 1


@pytest.fixture
def shifted(source_cluster, target_cluster, topic_name):
    flow = Verified(source_cluster, target_cluster, {topic_name(): 1}).made()
    records = some_records(COUNT)
    produce(flow.here, flow.topic, records)
    copy = [*records[:1_100], *records[1_101:3_900], *records[3_899:]]
    produce(flow.to, flow.topic, copy)
    flow.note(0, COUNT, COUNT)
    return flow


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    return Verified(source_cluster, target_cluster, {topic_name(): 2}).made()


@pytest.mark.usefixtures("quick")
def test_while_records_are_written_and_copied_nothing_is_found(flow, tmp_path):
    produce(flow.here, flow.topic, some_records(500, 2))
    with feeding(flow, 500), flow.copying(flow.spec()):
        for _ in range(4):
            flow.wait_moved(200)
            reported = flow.verify(tmp_path, status=0)
            assert (reported["result"], reported["differences"]) == ("equal", 0)


@pytest.mark.usefixtures("quick")
def test_a_run_continues_where_the_last_good_one_ended(flow, tmp_path):
    produce(flow.here, flow.topic, some_records(100, 2))
    flow.copy_all()
    assert flow.verify(tmp_path, status=0)["records"] == 100
    again = flow.verify(tmp_path, status=0)
    assert (again["result"], again["equal"], again["records"]) == ("nothing new", False, 0)
    produce(flow.here, flow.topic, some_records(30, 2, seed=2))
    flow.copy_all(generation=2)
    assert flow.verify(tmp_path, status=0)["records"] == 30
    assert flow.verify(tmp_path, "--full", status=0)["records"] == 130


@pytest.mark.usefixtures("quick")
def test_what_was_different_is_found_again_and_good_runs_are_noted(flow, tmp_path):
    produce(flow.here, flow.topic, some_records(100, 2))
    flow.copy_all()
    assert flow.verify(tmp_path, status=0)["equal"]
    good = known(flow, tmp_path).verification
    [first, *_] = flow.anchors().values()
    produce(flow.here, flow.topic, some_records(20, 2, seed=2))
    flow.store.write(anchors_topic(flow.alias), replace(first, source=first.source + 3))
    for _ in range(2):
        assert flow.verify(tmp_path, status=1)["lost"] == 3
    last = known(flow, tmp_path).verification
    assert (last.verdict, last.differences, last.good_ms) == ("different", 3, good.at_ms)
    assert good.good_ms == good.at_ms < last.at_ms


def known(flow, folder):
    reader = OffsetReader(load_config(flow.written(folder)).config.flows[0])
    try:
        return reader.look()
    finally:
        reader.close()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("side", ["source", "target"])
def test_what_retention_deletes_is_no_difference(flow, tmp_path, monkeypatch, side):
    produce(flow.here, flow.topic, some_records(COUNT, 1))
    flow.copy_all()
    where = flow.here if side == "source" else flow.to
    delete_records(where, flow.topic, {0: 1_000})

    def deleting(config, name, ranges, progress):
        delete_records(where, flow.topic, {0: 2_500})  # after the plan
        return in_this_process(config, name, ranges, progress)

    monkeypatch.setattr(command, "SparkProcess", lambda config: partial(deleting, config))
    reported = flow.verify(tmp_path, status=0)
    assert (reported["result"], reported["differences"]) == ("equal", 0)
    assert COUNT - 2_600 < reported["records"] <= COUNT - 1_000
    assert known(flow, tmp_path).verified[TopicPartition(flow.topic, 0)].source == COUNT


@pytest.mark.usefixtures("quick")
def test_a_sample_and_a_time_choose_ranges_and_nothing_is_noted(flow, tmp_path):
    records = [(0, b"k", b"%01000d" % n, None, 1_700_000_000_000 + n) for n in range(4_000)]
    produce(flow.here, flow.topic, records, {"linger.ms": 5})
    flow.copy_all()
    early = flow.verify(tmp_path, "--until", "1700000000900", status=0)
    assert 900 <= early["records"] < 4_000
    late = flow.verify(tmp_path, "--since", "1700000003900", status=0)
    assert 100 <= late["records"] < 4_000
    assert 0 < flow.verify(tmp_path, "--sample", "0.3", status=0)["records"] < 4_000
    assert known(flow, tmp_path).verified == {}
    assert flow.verify(tmp_path, status=0)["records"] == 4_000


@pytest.mark.usefixtures("quick")
def test_nothing_that_could_be_compared_is_not_equal(flow, tmp_path):
    produce(flow.here, flow.topic, some_records(10, 2))
    reported = flow.verify(tmp_path, status=2)
    assert (reported["result"], reported["equal"]) == ("nothing verified", False)
    assert all(each["not_verified"] for each in reported["partitions"])
    reported = flow.verify(tmp_path, "--topics", "none", status=2)
    assert "has no topic" in reported["nothing_found"]
