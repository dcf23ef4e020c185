"""Runs of transforms between real clusters, without Spark: once, in order, nothing lost."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.flows.transform_flows import TransformFlow
from support.records import kafka_records
from typer.testing import CliRunner

from orchestration.cli.main import app
from replication.model import Choice, PartitionState, TopicPartition
from replication.settings.state_policies import SKIP
from replication.state import dead_letters_topic

if TYPE_CHECKING:
    from spark_jobs.transform.run.transform_run import TransformRun

pytestmark = pytest.mark.integration

DROP = """
SOURCE->B.transforms = drop
SOURCE->B.transforms.drop.type = org.apache.kafka.connect.transforms.Filter
SOURCE->B.transforms.drop.predicate = noted
SOURCE->B.predicates = noted
SOURCE->B.predicates.noted.type = org.apache.kafka.connect.transforms.predicates.HasHeaderKey
SOURCE->B.predicates.noted.name = n
"""


@pytest.fixture
def flow_of(source_cluster, target_cluster, tmp_path_factory):
    """Make a flow whose file ends with some lines; its topic has the records that are given."""

    def make(more: str, records: list[tuple]) -> TransformFlow:
        both = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
        flow = TransformFlow(tmp_path_factory.mktemp("transform"), *both, more)
        flow.make()
        kafka_records.produce(both[0], flow.topic, records)
        return flow

    return make


def finished(flow: TransformFlow, generation: int = 1) -> TransformRun:
    """Run it to the end, or until everything waits."""
    run = flow.run(generation)
    flow.until_done(run)
    run.close()
    return run


def numbered(count: int) -> list[tuple]:
    return [
        (n % 2, b"k%d" % (n % 7), json.dumps({"n": n}).encode(), [("h", b"%d" % n)], 1_700_000 + n)
        for n in range(count)
    ]


def source_records(flow: TransformFlow) -> list[kafka_records.Rec]:
    return kafka_records.consume_all(flow.here, flow.topic)


def test_a_filter_keeps_the_other_records_in_their_order(flow_of):
    """BL-052: what is filtered out does not hold up the position."""
    flow = flow_of(DROP, kafka_records.some_records(500, 2))
    assert finished(flow).problem == ""
    kept = [each for each in source_records(flow) if not each.headers]
    assert [each.content for each in flow.read()] == [each.content for each in kept]
    assert [flow.anchors()[n].source for n in (0, 1)] == [250, 250]


@pytest.mark.parametrize("seed", range(2))
def test_records_arrive_once_and_in_order_through_kills_at_any_moment(flow_of, seed):
    chance = random.Random(seed)
    flow = flow_of(DROP + "SOURCE->B.transform.batch.records = 40\n", [])
    records = kafka_records.some_records(4000, 2, seed)
    kafka_records.produce(flow.here, flow.topic, records[:2000])
    for generation in range(1, 6):
        flow.run_killed(generation, chance.uniform(0, 0.4))
        kafka_records.produce(flow.here, flow.topic, records[generation * 400 + 1600 :][:400])
    assert finished(flow, 9).problem == ""
    kept = [each for each in source_records(flow) if not each.headers]
    assert [each.content for each in flow.read()] == [each.content for each in kept]


FIELDS = """\
SOURCE->B.transforms = m
SOURCE->B.transforms.m.type = MaskField$Value
SOURCE->B.transforms.m.fields = n
SOURCE->B.transform.value.format = json
"""
BUDGET = """\
SOURCE->B.transform.on.error = dead-letter
SOURCE->B.transform.dead.letters.max = 2
"""
MASK = """\
SOURCE->B.transform = mine.py:mask
SOURCE->B.transform.on.error = dead-letter
SOURCE->B.transform.timeout.ms = 1500
SOURCE->B.transform.route.topics = evens
"""
FUNCTION = """
import time
import pyarrow as pa
import pyarrow.compute as pc

def mask(batch):
    values = batch.column("value").to_pylist()
    if b"bad" in values:
        raise ValueError("a bad value")
    if b"slow" in values:
        time.sleep(60)
    where = pc.equal(pc.bit_wise_and(batch.column("offset"), 1), 0)
    topics = pc.if_else(where, batch.column("topic"), pa.scalar("evens"))
    changed = [None if each is None else each.upper() for each in values]
    names = ["topic", "partition", "timestamp", "key", "value", "headers"]
    columns = [topics, *(batch.column(e) for e in ("partition", "timestamp", "key")),
               pa.array(changed, pa.binary()), batch.column("headers")]
    return pa.RecordBatch.from_arrays(columns, names=names)

def wrong(batch):
    return batch.to_pylist()
"""


def test_what_a_function_cannot_transform_becomes_a_dead_letter_with_its_reason(flow_of):
    flow = flow_of(MASK, [])
    flow.config.with_name("mine.py").write_text(FUNCTION)
    kafka_records.create_topic(flow.there, "evens", 2)
    values = [b"a", b"bad", b"c", b"d", b"slow", b"f"]
    given = [(0, b"k", each, [("h", b"1")], 5000 + n) for n, each in enumerate(values)]
    kafka_records.produce(flow.here, flow.topic, given)
    run = finished(flow)
    assert (run.problem, run.halted) == ("", {})
    assert [(e.value, e.timestamp) for e in flow.read()] == [(b"A", 5000), (b"C", 5002)]
    assert [e.value for e in flow.read("evens")] == [b"D", b"F"]
    letters = flow.read(dead_letters_topic(flow.alias))
    assert [(e.key, e.value, e.timestamp) for e in letters] == [
        (b"k", b"bad", 5001), (b"k", b"slow", 5004)]  # fmt: skip
    first, second = (dict(each.headers) for each in letters)
    assert (first["isthmus.topic"], first["isthmus.offset"], first["h"]) == (
        flow.topic.encode(), b"1", b"1")  # fmt: skip
    assert b"mine.py:mask raised ValueError: a bad value" in first["isthmus.reason"]
    assert b"took longer than" in second["isthmus.reason"]
    assert flow.anchors()[0].lost == 2


def test_without_a_policy_a_record_that_cannot_be_transformed_halts_its_partition(flow_of):
    flow = flow_of(FIELDS, [])
    records = numbered(20)
    records[6] = (0, b"k", b"no json")
    kafka_records.produce(flow.here, flow.topic, records)
    run = finished(flow)
    (reason,) = run.halted.values()
    assert reason.startswith(f"{flow.config}:7: {flow.alias}->B.transforms.m.type: ")
    assert f"{flow.topic}-0 offset 3: transforms.m: the value cannot be read" in reason
    found = flow.read()
    assert [json.loads(e.value) for e in found] == [{"n": 0}] * len(found)
    assert [e.partition for e in found].count(0) == 3
    assert [e.partition for e in found].count(1) == 10
    anchor = flow.anchors()[0]
    assert (anchor.state, anchor.source, anchor.lost) == ("TRANSFORM_FAILED", 3, 0)


@pytest.mark.parametrize("is_read_again", [False, True], ids=["at once", "later"])
def test_behind_a_record_that_an_operator_left_out_each_record_arrives_once(flow_of, is_read_again):
    """It goes on from what the run has committed; where tasks were fenced since, from the log."""
    flow = flow_of(FIELDS, [])
    records = numbered(20)
    records[6] = (0, b"k", b"no json")
    kafka_records.produce(flow.here, flow.topic, records)
    run, where = flow.run(), TopicPartition(flow.topic, 0)
    flow.until_done(run)
    if is_read_again:
        run._producers = None
        run._guarded_round()
    skip = Choice(PartitionState.TRANSFORM_FAILED, 3, SKIP)
    run._plans = {**run._plans, where: replace(run._plans[where], decision=skip)}
    flow.until_done(run)
    run.close()
    assert (run.problem, run.halted) == ("", {})
    kept = [each for each in source_records(flow) if each.value != b"no json"]
    assert [(e.partition, e.key, e.timestamp) for e in flow.read()] == [
        (e.partition, e.key, e.timestamp) for e in kept]  # fmt: skip
    anchor = flow.anchors()[0]
    assert (anchor.state, anchor.source, anchor.lost) == ("RUNNING", 10, 1)


def test_a_budget_of_dead_letters_ends_in_a_halt(flow_of):
    flow = flow_of(FIELDS + BUDGET, [])
    kafka_records.produce(flow.here, flow.topic, [(0, None, b"x")] * 5)
    run = finished(flow)
    assert "its 2 dead letters are all that dead.letters.max allows" in "".join(run.halted.values())
    assert len(flow.read(dead_letters_topic(flow.alias))) == 2
    assert flow.anchors()[0].source == 2


def test_a_function_of_another_type_is_refused_before_anything_is_written(flow_of):
    flow = flow_of("SOURCE->B.transform = mine.py:wrong\n", numbered(4))
    flow.config.with_name("mine.py").write_text(FUNCTION)
    run = flow.run()
    run._guarded_round()
    run.close()
    assert "mine.py:wrong returned a list, not a pyarrow.RecordBatch" in run.problem
    assert run.problem.startswith(f"{flow.config}:6: ")
    assert (flow.read(), flow.anchors()) == ([], {})


def test_a_preview_shows_real_records_and_writes_nothing(flow_of):
    flow = flow_of(FIELDS, [])
    records = [(0, b"k", b'{"n": 1, "m": "x"}'), (0, None, b"no json"), (1, b"k", b'{"m": 1}')]
    kafka_records.produce(flow.here, flow.topic, records)
    options = ["transform", str(flow.config), "-t", flow.topic, "--preview", "3", "-o", "json"]
    shown = CliRunner().invoke(app, options)
    found = {(e["partition"], e["offset"]): e for e in json.loads(shown.stdout)}
    first, second, third = found[0, 0], found[0, 1], found[1, 0]
    assert first["before"]["value"] == '{"n": 1, "m": "x"}'
    assert [(e["topic"], e["value"]) for e in first["after"]] == [(flow.copy, '{"m":"x","n":0}')]
    assert (second["after"], third["problem"], shown.exit_code) == ([], "", 1)
    assert second["problem"].startswith("transforms.m: the value cannot be read")
    assert (flow.read(), flow.anchors()) == ([], {})
