"""Spark SQL over one record of each kind makes what it makes over every record."""

from __future__ import annotations

import random
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from support.records.decoded_records import records_of

from replication.client.producer_identity import ProducerIdentity
from replication.model import TopicPartition
from replication.records.codec import headers_of, key_and_value
from replication.settings.transform_settings import DEAD_LETTER, STRING, SettingText, TopicTransform
from replication.state import Anchor
from spark_jobs.transform.columns.avro_documents import documents_of
from spark_jobs.transform.columns.record_columns import END, MEMORY, ROW
from spark_jobs.transform.columns.record_kinds import repeated_kinds
from spark_jobs.transform.columns.sql_rows import rows_of
from spark_jobs.transform.sql_plan import sql_plan, sql_session
from spark_jobs.transform.task.range_outcome import RangeOutcome
from spark_jobs.transform.task.shared_records import SharedRecords
from spark_jobs.transform.task.sql_results import take_results
from spark_jobs.transform.task.sql_stream import SqlStream
from spark_jobs.transform.task.work import RangeWork, SlotWork, TaskClusters

SOURCE = TopicPartition("orders", 1)
CASES = {
    "headers": {"where": "NOT array_contains(headers.key, 'origin')"},
    "nothing is named": {"where": "true"},
    "nothing is kept": {"where": "false"},
    "keys fail": {"where": "key IS NULL OR cast(key AS int) > 0"},
    "keys and headers": {"where": "key IS NULL OR size(headers) = 1"},
    "a route": {"where": "partition = 1", "route": "CASE WHEN size(headers) = 0 THEN 'eu' END"},
    "a route for all": {"route": "'eu'"},
    "a route that fails": {"route": "CASE WHEN cast(key AS int) = 0 THEN 'eu' END"},
    "a partition": {"select": "size(headers) % 2 AS partition"},
}
TOLD_APART = {
    "headers": ("headers",),
    "nothing is named": (),
    "keys fail": ("key",),
    "keys and headers": ("headers", "key"),
    "a route": ("headers",),
    "a route that fails": ("key",),
}


def transform_of(texts):
    written = {
        name: SettingText(text, f"isthmus.properties:7: {name}") for name, text in texts.items()
    }
    return TopicTransform(
        "orders", on_error=DEAD_LETTER, dead_letters_max=999, key_format=STRING, **written
    )


def some_records(seed):
    chance = random.Random(seed)
    headers = [(), (("origin", b"1"),), (("n", None), ("origin", b"")), (("n", b"\xff"),)]
    keys = [None, b"0", b"7", b"seven"]
    return records_of(
        [
            (1_700_000_000_000 + n, chance.choice(keys), b"%d" % n, chance.choice(headers))
            for n in range(chance.randrange(20, 80))
        ],
        10,
    )


def outcome(spark, plan, chunks, *, by_kind):
    """Return what becomes of the records, and how many SQL was given."""
    anchor = Anchor("A->B", "orders", 1, "A.orders", 10, 4)
    work = RangeWork(anchor, 1 << 40, "", TopicPartition("A.orders", 1))
    me = ProducerIdentity("isthmus.A->B.transform.0.0", 7, 2, 5)
    counts = {"A.orders": 4, "eu": 2}
    slot = SlotWork(TaskClusters("A->B", "A", {}, {}), plan.transform, me, (work,), counts, {})
    found, shared, given = RangeOutcome(slot, work), SharedRecords(), []
    for records in chunks:
        kinds = repeated_kinds(records.encoded, plan.kinds) if by_kind else None
        first = shared.add(0, records.encoded, kinds)
        places = np.arange(len(records)) if kinds is None else kinds.firsts
        seen = records.at(places).seen(SOURCE, plan.inputs)
        given.append(rows_of(first + places, seen, (), documents_of({})))
    rows = plan.results(spark.createDataFrame(pa.Table.from_batches(given))).toArrow()
    schema = pa.schema([(each.name, each.type) for each in rows.schema])
    begin, end = (
        pa.RecordBatch.from_pylist([{**dict.fromkeys(schema.names), ROW: each}], schema=schema)
        for each in (MEMORY + shared.place, END + shared.count)
    )
    with closing(SqlStream()) as stream:
        made = (each.cast(schema) for each in rows.to_batches())
        for chunk, taken in stream.chunks([begin, *made, end]):
            take_results(found, chunk.records, taken, chunk.first)
    shared.close()
    return found, sum(each.num_rows for each in given)


def contents(found):
    records = {
        tuple(where): [(e.timestamp, *key_and_value(e), headers_of(e)) for e in each.records()]
        for where, each in found.records.items()
    }
    return records, [(each.record.offset, each.reason) for each in found.poisons], found.read


@pytest.mark.parametrize("case", CASES)
def test_one_record_of_each_kind_is_enough(spark, case):
    session = sql_session(spark)
    plan = sql_plan(session, transform_of(CASES[case]))
    assert plan.kinds == TOLD_APART.get(case, plan.kinds)
    chunks = [some_records(seed) for seed in range(3)]
    found, fewer = outcome(session, plan, chunks, by_kind=True)
    expected, every = outcome(session, plan, chunks, by_kind=False)
    assert contents(found) == contents(expected)
    assert every == sum(map(len, chunks))
    assert fewer <= 3 * 16 < every


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param({"where": "rand() < 0.5"}, id="chance"),
        pytest.param({"where": "headers IS NULL OR uuid() < 'a'"}, id="chance beside headers"),
        pytest.param({"route": "CASE WHEN rand() < 0.5 THEN 'eu' END"}, id="chance in a route"),
        pytest.param({"where": "value IS NULL"}, id="values"),
        pytest.param({"where": "offset % 2 = 0"}, id="offsets"),
        pytest.param({"select": "headers[0].key AS key"}, id="large results"),
    ],
)
def test_every_record_is_given_to_sql_where_one_is_not_enough(spark, texts):
    assert sql_plan(sql_session(spark), transform_of(texts)).kinds is None
