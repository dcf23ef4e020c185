"""What transforms must make of records is what their settings, and the function, say."""

from __future__ import annotations

import io
import json

import fastavro
import pyarrow as pa

from chaos import application
from chaos.topics import transformed_topics
from chaos.topics.masking import mask
from chaos.topics.registry import schema
from chaos.topics.transformed_topics import TRANSFORMED, avro, avro_number
from replication.adapters.topics.record_reader import ConsumedRecord
from replication.config.load import load_config
from spark_jobs.transform.columns.record_columns import RECORDS

NUMBERS = (0, 1, 63, 64, 8191, 8192, 1_000_000)


def record(value: bytes | None, *names: str) -> ConsumedRecord:
    return ConsumedRecord(0, b"k", value, tuple((name, b"") for name in names), (0, 1))


def test_a_number_in_avro_is_of_the_schema_that_the_registry_has():
    parsed = fastavro.parse_schema(json.loads(schema("7")))
    for number in NUMBERS:
        encoded = avro(7, number)
        assert encoded[:5] == b"\0\0\0\0\x07"
        decoded = fastavro.schemaless_reader(io.BytesIO(encoded[5:]), parsed, None)
        assert decoded == {"number": number}
        assert avro_number(encoded) == number


def test_filters_leave_out_what_their_sql_does():
    kept, left_out = (record(avro(1, number)) for number in (3, 4))
    assert transformed_topics.by_number(kept) == kept
    assert transformed_topics.by_number(left_out) is None
    assert transformed_topics.by_number(record(None)) is None
    assert transformed_topics.by_value(record(b"12")) == record(b"12")
    assert transformed_topics.by_value(record(b"1")) is None
    assert transformed_topics.by_value(record(None)) is None
    assert transformed_topics.by_header(record(None, "n", "empty")) is not None
    assert transformed_topics.by_header(record(b"1", "n")) is None


def test_the_function_masks_as_is_expected_of_it():
    values = [b"1:secret", None, b"12", b"1234", b"", b"12345"]
    rows = [{"offset": at, "value": value} for at, value in enumerate(values)]
    made = mask(pa.RecordBatch.from_pylist(rows, schema=RECORDS))
    expected = filter(None, map(transformed_topics.masked, map(record, values)))
    assert made.column("value").to_pylist() == [each.value for each in expected]
    assert made.column("offset").to_pylist() == [0, 2, 3, 4, 5]


def test_the_file_of_a_run_has_a_transform_for_each_topic(tmp_path):
    tested = application.TestedApplication(tmp_path / "app")
    tested.configure("localhost:1", "localhost:2", 1, TRANSFORMED)
    tested.add_setting("schema.registry.url", "http://localhost:3")
    flow = load_config(tested.config).config.flows[0]
    assert [each.pattern for each in flow.transforms] == [each.name for each in TRANSFORMED]
    assert {each.batch_records for each in flow.transforms} == {300}
