"""What a transform wrote between real clusters, compared by Spark with what it should have."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING

import pytest
from support.flows.transform_flows import TransformFlow
from support.records import kafka_records

from orchestration.flows.comparison.flow_comparison import FlowComparison
from orchestration.flows.comparison.topic_comparison import Options
from orchestration.verification.flow_verification import FlowVerification
from orchestration.verification.partition_plan import Selected
from orchestration.verification.transformed_topics import TransformedTopics
from replication.config.load import load_config
from replication.errors import ReplicationError
from replication.settings.transform_settings import SettingText, TopicTransform
from replication.state import TransformPoint
from replication.verification.transformed import TransformedResult
from spark_jobs.transform.columns.record_columns import rows_ddl
from spark_jobs.transform.sql_plan import sql_plan
from spark_jobs.transform.start_record import definition_of
from spark_jobs.verification import transformed_job
from spark_jobs.verification.repeatable import unrepeatable_sql
from spark_jobs.verification.transformed_job import compare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from orchestration.verification.outcome import VerificationOutcome
    from replication.verification.transformed import TransformedSpans, TransformFinding

pytestmark = pytest.mark.integration

FILE = "SOURCE->B.transform.function = made.py:make\nSOURCE->B.tasks.max = 2\n"
FUNCTION = """
import pyarrow as pa

def make(batch):
    rows = [row for row in batch.to_pylist() if int(row["key"]) % 2 == 0]
    for row in rows:
        row["topic"] = None
    FAULT
    return pa.RecordBatch.from_pylist(rows, schema=batch.schema)
"""
# What should be there is damaged instead of what is there: so kinds are the other way round.
# Each of a record of its own, of which each of the two partitions has one.
FAULTS = {
    "lost": "rows.insert(at, rows[at])",
    "extra": "rows.pop(at)",
    "out of order": "rows.insert(at + 1, rows.pop(at))",
    "different key": "rows[at].update(key=b'201')",
    "different value": "rows[at].update(value=b'V' + rows[at]['value'][1:])",
    "different headers": "rows[at].update(headers=[])",
    "different timestamp": "rows[at].update(timestamp=rows[at]['timestamp'].replace(year=2020))",
}
KEYS = {kind: b"%d" % (100 + 20 * number) for number, kind in enumerate(FAULTS)}
ALL_FAULTS = "\n    ".join(
    f"for at in [n for n, row in enumerate(rows) if row['key'] == {KEYS[kind]}]: {fault}"
    for kind, fault in FAULTS.items()
)


@pytest.fixture(scope="module")
def done(source_cluster, target_cluster, tmp_path_factory) -> TransformFlow:
    """A flow that has transformed 1,000 records of each of two partitions, in two runs."""
    home = tmp_path_factory.mktemp("verified")
    written(home, "pass")
    both = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    flow = TransformFlow(home, *both, FILE)
    flow.make()
    for generation in (1, 2):
        records = [
            (n % 2, b"%d" % (n // 2), b"value %d" % n, [("h", b"x")], 1_700_000_000_123 + n)
            for n in range(1000 * generation - 1000, 1000 * generation)
        ]
        kafka_records.produce(flow.here, flow.topic, records)
        run = flow.run(generation)
        flow.until_done(run)
        run.close()
    return flow


def written(home: Path, fault: str) -> None:
    (home / "made.py").write_text(FUNCTION.replace("FAULT", fault))


def spans_of(flow: TransformFlow) -> TransformedSpans:
    """Return what `isthmus verify` compares now, as if the flow ran with the function as it is."""
    found: list[TransformedSpans] = []

    def run(_: str, spans: Sequence[TransformedSpans]) -> list[TransformedResult]:
        found.extend(spans)
        return [TransformedResult() for _ in spans]

    config, topics = load_config(flow.config).config, re.compile(re.escape(flow.topic))
    with FlowComparison(flow.flow, config, topics, Options("read_committed")) as comparison:
        outcomes = TransformedTopics(flow.flow, comparison, run).verify()
    assert len(found) == 1, outcomes
    return found[0]


def verified(flow: TransformFlow, spark: SparkSession, **change: object) -> list[TransformFinding]:
    """Return what is found; a change is of the spans."""
    definition = definition_of(flow.flow.transforms[0])
    result = compare(spark, flow.flow, replace(spans_of(flow), definition=definition, **change))
    assert not result.problem
    return list(result.found)


def test_what_a_function_made_in_two_runs_is_what_it_should_be(done, spark):
    written(done.config.parent, "pass")
    found = verified(done, spark)
    assert {each.kind for each in found} == {"same"}
    assert sum(each.records for each in found) == len(done.read()) == 1000


def test_each_fault_of_one_record_is_found_at_its_offsets_and_nothing_else(done, spark):
    written(done.config.parent, ALL_FAULTS)
    wrong = [each for each in verified(done, spark) if each.kind != "same"]
    assert sorted((each.kind, each.records) for each in wrong) == sorted(
        (kind, 1) for kind in FAULTS for _ in range(2)
    )
    copies = {(each.partition, each.key): each.offset for each in done.read()}
    for kind, key in KEYS.items():
        mine = [each for each in wrong if each.kind == kind]
        there = {copies[partition, key] for partition in range(2)}
        if kind == "out of order":
            there |= {offset + 1 for offset in there}
            assert {each.target_offset for each in mine} <= there
        elif kind != "lost":
            assert {each.target_offset for each in mine} == there
        if kind != "extra":
            offsets = {int(key), int(key) + 2} if kind == "out of order" else {int(key)}
            assert {each.source_offset for each in mine} <= offsets


def test_what_is_beyond_the_anchors_may_be_there(done, spark):
    written(done.config.parent, "pass")
    spans = spans_of(done)
    read = tuple(each._replace(required=400) for each in spans.read)
    ends = tuple(each._replace(end=each.begin + 210) for each in spans.written)
    found = verified(done, spark, read=read, written=ends)
    assert {each.kind for each in found} == {"same", "in flight"}


def test_what_the_source_or_the_target_deleted_is_no_difference(done, spark):
    written(done.config.parent, "pass")
    spans = spans_of(done)
    read = (spans.read[0]._replace(begin=100, trimmed=True), spans.read[1])
    first = spans.written[1]
    there = (spans.written[0], first._replace(begin=first.begin + 70, trimmed=True))
    found = verified(done, spark, read=read, written=there)
    wrong = {each.kind: (each.read, each.written) for each in found if each.kind != "same"}
    assert wrong == {"deleted on the source": (None, 0), "deleted on the target": (1, 1)}


@pytest.mark.parametrize("routed", [False, True])
def test_results_of_a_topic_that_was_deleted_are_no_difference_where_topics_are_routed_to(
    done, spark, routed
):
    written(done.config.parent, "pass")
    spans, transform = spans_of(done), done.flow.transforms[0]
    transform = replace(transform, route_topics=(done.copy,) if routed else ())
    flow = done.flow.model_copy(update={"transforms": (transform,)})
    spans = replace(spans, definition=definition_of(transform), read=spans.read[:1], unread=True)
    found = compare(spark, flow, spans).found
    kinds = {each.kind: each.records for each in found}
    assert kinds == {"same": 500, "deleted on the source" if routed else "extra": 500}


@pytest.fixture
def growing(source_cluster, target_cluster, tmp_path_factory) -> TransformFlow:
    """A flow whose topic gets records bit by bit."""
    home = tmp_path_factory.mktemp("growing")
    written(home, "pass")
    both = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    flow = TransformFlow(home, *both, FILE)
    flow.make()
    return flow


def transformed(flow: TransformFlow, numbers: range, minute: int = 0) -> None:
    """Transform more records, and note where that ended, as a minute later."""
    records = [
        (n % 2, b"%d" % (n // 2), b"value %d" % n, [("h", b"x")], 1_700_000_000_000 + 1_000 * n)
        for n in numbers
    ]
    kafka_records.produce(flow.here, flow.topic, records)
    run = flow.run(minute + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.time", lambda: time() + 60 * minute)
        flow.until_done(run)
        run._note_point(run._producers)
    run.close()


def outcome_of(flow: TransformFlow, spark: SparkSession, **selected: object) -> VerificationOutcome:
    """Verify as `isthmus verify` does, with the Spark of this process."""
    config = load_config(flow.config).config

    def run(_: str, spans: Sequence[TransformedSpans]) -> list[TransformedResult]:
        return [compare(spark, flow.flow, each) for each in spans]

    topics = re.compile(re.escape(flow.topic))
    return FlowVerification(
        flow.flow, config, topics, Selected(**selected), lambda *_: [], run
    ).run()


def spans_read(found: VerificationOutcome) -> list[tuple[int, int]]:
    return [(each.begin.source, each.end.source) for each in found.partitions]


def test_a_run_goes_on_where_the_last_good_one_ended(growing, spark):
    transformed(growing, range(400))
    first = outcome_of(growing, spark)
    assert (first.verdict, first.records, spans_read(first)) == ("equal", 200, [(0, 200)] * 2)
    assert outcome_of(growing, spark).verdict == "nothing new"
    transformed(growing, range(400, 1000), 1)
    second = outcome_of(growing, spark)
    assert (second.verdict, second.records, spans_read(second)) == (
        "equal", 300, [(200, 500)] * 2
    )  # fmt: skip
    assert all(each.continues for each in second.partitions)
    whole = outcome_of(growing, spark, full=True)
    assert (whole.records, spans_read(whole)) == (500, [(0, 500)] * 2)


def test_a_difference_is_found_again_until_it_is_gone(growing, spark):
    transformed(growing, range(400))
    outcome_of(growing, spark)
    transformed(growing, range(400, 600), 1)
    # Of what the first run has verified nothing is found, as nothing of it is compared again.
    faults = "rows = [row for row in rows if row['key'] not in (b'100', b'240')]"
    home = growing.config.parent
    for _ in range(2):
        written(home, faults)
        with pytest.MonkeyPatch.context() as patch:
            was = definition_of(growing.flow.transforms[0])
            patch.setattr(transformed_job, "definition_of", lambda _: started(growing))
            found = outcome_of(growing, spark)
        assert was != started(growing)
        assert (found.verdict, found.counts["extra"], found.differences) == ("different", 2, 2)
    written(home, "pass")
    found = outcome_of(growing, spark)
    assert (found.verdict, spans_read(found)) == ("equal", [(200, 300)] * 2)


def started(flow: TransformFlow) -> str:
    return spans_of(flow).definition


def test_after_an_edit_all_is_compared_from_there_and_this_is_said(growing, spark):
    transformed(growing, range(400))
    outcome_of(growing, spark)
    written(growing.config.parent, "rows = rows")
    transformed(growing, range(400, 600), 1)
    found = outcome_of(growing, spark)
    assert (found.verdict, found.records, spans_read(found)) == ("equal", 100, [(200, 300)] * 2)
    assert not any(each.continues for each in found.partitions)
    assert "after the last good verification" in found.partitions[0].remarks[0]


def test_times_and_samples_choose_intervals_between_points(growing, spark):
    for minute in range(4):
        transformed(growing, range(200 * minute, 200 * minute + 200), minute)
    second = {"since_ms": 1_700_000_250_000, "until_ms": 1_700_000_350_000}
    found = outcome_of(growing, spark, **second)
    assert (found.verdict, found.records) == ("equal", 100)
    assert {each.skipped for each in found.partitions} == {4}
    sampled = outcome_of(growing, spark, sample=0.5, seed=3)
    assert sampled.verdict == "equal"
    assert 0 < sampled.records < 400
    assert outcome_of(growing, spark, since_ms=1_800_000_000_000).verdict == "nothing verified"
    assert spans_read(outcome_of(growing, spark)) == [(0, 400)] * 2  # nothing was noted


def test_points_hold_through_kills_at_any_moment(
    source_cluster, target_cluster, tmp_path_factory, spark
):
    both = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    home = tmp_path_factory.mktemp("killed")
    written(home, "pass")
    flow = TransformFlow(home, *both, FILE + "SOURCE->B.transform.batch.records = 20\n")
    flow.minute_ms = 1
    flow.make()
    chance = random.Random(7)
    for generation in range(1, 6):
        numbers = range(1000 * generation - 1000, 1000 * generation)
        records = [(n % 2, b"%d" % (n // 2), b"value %d" % n, [], 1_000 + n) for n in numbers]
        kafka_records.produce(flow.here, flow.topic, records)
        flow.run_killed(generation, chance.uniform(0, 0.1), chance.randint(10, 40))
    run = flow.run(9)
    flow.until_done(run)
    run.close()
    whole = outcome_of(flow, spark, full=True)
    assert (whole.verdict, whole.records) == ("equal", 2500)
    for seed in range(3):
        found = outcome_of(flow, spark, full=True, sample=0.5, seed=seed)
        assert found.verdict == "equal", found
        assert 0 < found.records < 2500
        assert found.partitions[0].skipped > 5


def test_a_topic_that_was_deleted_on_the_target_stops_no_transform(growing):
    transformed(growing, range(400))
    run = growing.run(2)
    growing.until_done(run)
    start = run._producers.start
    run._producers.start = replace(start, targets={**start.targets, "deleted": [0]})
    run._producers.point = None
    assert run._guarded_round() == 0.2
    assert (run.problem, run._producers.point) == ("", None)
    run.close()


def test_a_driver_that_was_fenced_notes_no_point(growing):
    transformed(growing, range(400))
    former = growing.run(2)
    growing.until_done(former)
    kafka_records.produce(growing.here, growing.topic, kafka_records.some_records(10, 2))
    latter = growing.run(3)
    growing.until_done(latter)
    latter.close()
    producers = former._producers
    point = replace(producers.point or TransformPoint("x", 0, 0), flow=growing.flow.name)
    with pytest.raises(ReplicationError):
        former._process.run(producers.note(point))
    former.close()


def test_a_function_that_depends_on_chance_is_not_verified(done, spark):
    written(done.config.parent, "import uuid; [row.update(key=uuid.uuid4().bytes) for row in rows]")
    spans = spans_of(done)
    now = replace(spans, definition=definition_of(done.flow.transforms[0]))
    problem = compare(spark, done.flow, now).problem
    assert "isthmus.properties:" in problem
    assert "made.py:make makes another thing" in problem


def test_a_function_whose_file_changed_since_the_flow_began_is_not_verified(done, spark):
    written(done.config.parent, "rows = rows")
    spans = spans_of(done)
    assert "restart the flow" in compare(spark, done.flow, spans).problem


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("rand() > 0.5", "rand()"),
        ("timestamp > now() - interval 1 day", "now()"),
        ("length(concat(uuid(), string(key))) > 3", "uuid()"),
        ("cast(timestamp as long) < unix_timestamp()", "current_timestamp()"),
        ("length(key) > 3", ""),
    ],
)
def test_sql_that_depends_on_time_or_chance_is_named_at_its_line(spark, text, name):
    plan = sql_plan(spark, TopicTransform("t", where=SettingText(text, "f:7: where")))
    nothing = spark.createDataFrame([], rows_ddl(plan.inputs))
    found = unrepeatable_sql(spark, plan, nothing)
    assert found == (
        f"f:7: where: {name}: its results cannot be made a second time" if name else ""
    )


SMTS = """
SOURCE->B.transforms = drop, toldMORE
SOURCE->B.transforms.drop.type = org.apache.kafka.connect.transforms.Filter
SOURCE->B.transforms.drop.predicate = noted
SOURCE->B.transforms.told.type = InsertHeader
SOURCE->B.transforms.told.header = by
SOURCE->B.transforms.told.value.literal = B
SOURCE->B.transforms.wrong.type = MaskField$Value
SOURCE->B.transforms.wrong.fields = n
SOURCE->B.transforms.wrong.predicate = damaged
SOURCE->B.predicates = noted, damaged
SOURCE->B.predicates.noted.type = org.apache.kafka.connect.transforms.predicates.HasHeaderKey
SOURCE->B.predicates.noted.name = n
SOURCE->B.predicates.damaged.type = org.apache.kafka.connect.transforms.predicates.HasHeaderKey
SOURCE->B.predicates.damaged.name = d
SOURCE->B.transform.value.format = json
"""


@pytest.mark.parametrize("damaged", [False, True], ids=["as it should be", "one record differs"])
def test_what_single_message_transforms_made_is_verified(
    source_cluster, target_cluster, tmp_path_factory, spark, damaged
):
    both = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    home = tmp_path_factory.mktemp("smts")
    flow = TransformFlow(home, *both, SMTS.replace("MORE", ", wrong" if damaged else ""))
    flow.make()
    headers = {n: [("n", b"x")] for n in range(0, 600, 3)} | {301: [("d", b"x")]}
    records = [
        (n % 2, b"%d" % n, b'{"n":%d}' % n, headers.get(n, []), 1_700_000_000_000 + n)
        for n in range(600)
    ]
    kafka_records.produce(flow.here, flow.topic, records)
    run = flow.run()
    flow.until_done(run)
    run.close()
    flow = TransformFlow(home, *both, SMTS.replace("MORE", ""))  # without what did the damage
    found = verified(flow, spark)
    copies = {each.key: each for each in flow.read()}
    assert sum(each.records for each in found if each.kind == "same") == 400 - damaged
    wrong = [each for each in found if each.kind != "same"]
    place = (1, 1, 150, copies[b"301"].offset)
    assert wrong == ([("different value", 1, *place)] if damaged else [])
    assert copies[b"301"].value == (b'{"n":0}' if damaged else b'{"n":301}')
