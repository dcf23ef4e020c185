"""Avro becomes JSON by the registry's schemas; what cannot be decoded is named, never lost."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import random
import uuid
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from support.network.schema_registry import Registry
from support.records.decoded_records import records_of

from replication.errors import ClusterUnavailable
from replication.model import TopicPartition
from spark_jobs.transform.columns.avro_documents import AvroDocuments, NotAvro, documents_of
from spark_jobs.transform.columns.record_columns import FAILED, ROW
from spark_jobs.transform.columns.sql_rows import rows_of

NUMBER = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
FIELDS = {
    "id": "long",
    "price": NUMBER,
    "at": {"type": "long", "logicalType": "timestamp-millis"},
    "day": {"type": "int", "logicalType": "date"},
    "uid": {"type": "string", "logicalType": "uuid"},
    "raw": "bytes",
    "size": "double",
    "name": ["null", "string"],
    "kind": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]},
    "tags": {"type": "map", "values": {"type": "array", "items": "int"}},
}
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": name, "type": kind} for name, kind in FIELDS.items()],
}
VALUE = {
    "id": 1 << 60,
    "price": decimal.Decimal("12.50"),
    "at": dt.datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=dt.UTC),
    "day": dt.date(2023, 11, 14),
    "uid": uuid.UUID(int=5),
    "raw": b"\0\xff",
    "size": 1.5,
    "name": "Größe",
    "kind": "B",
    "tags": {"x": [1, 2]},
}


@pytest.fixture
def registry():
    with closing(Registry().start()) as found:
        found.add(7, ORDER)
        found.add(8, {"type": "record", "name": "Small", "fields": [{"name": "n", "type": "int"}]})
        yield found


def documents(registry):
    return documents_of({"url": registry.url})


def test_all_types_become_json_that_sql_can_cast(registry):
    found = json.loads(documents(registry).document("value", registry.encoded(7, VALUE)))
    assert found == {
        "id": 1 << 60,
        "price": "12.50",
        "at": "2023-11-14T22:13:20.123000+00:00",
        "day": "2023-11-14",
        "uid": "00000000-0000-0000-0000-000000000005",
        "raw": "AP8=",
        "size": 1.5,
        "name": "Größe",
        "kind": "B",
        "tags": {"x": [1, 2]},
    }


@pytest.mark.parametrize(
    ("size", "text"), [("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity")]
)
def test_a_number_that_json_does_not_have_is_text(registry, size, text):
    content = registry.encoded(7, {**VALUE, "size": float(size)})
    assert json.loads(documents(registry).document("value", content))["size"] == text


def test_each_record_is_decoded_by_the_schema_that_it_names_and_null_stays_null(registry):
    found = documents(registry)
    content = registry.encoded(8, {"n": 5})
    assert found.document("value", content) == b'{"n": 5}'
    assert found.document("value", None) is None
    assert json.loads(found.document("value", registry.encoded(7, VALUE)))["kind"] == "B"
    assert found.document("value", content) == b'{"n": 5}'
    assert len(registry.asked) == 2


def test_a_schema_may_name_others(registry):
    named = {"type": "record", "name": "Item", "fields": [{"name": "n", "type": "int"}]}
    registry.subjects["item/versions/1"] = {"schema": json.dumps(named)}
    basket = {"type": "record", "name": "Basket", "fields": [{"name": "item", "type": "Item"}]}
    registry.add(9, basket, references=[{"name": "Item", "subject": "item", "version": 1}])
    content = b"\0\0\0\0\x09\x0a"
    assert documents(registry).document("value", content) == b'{"item": {"n": 5}}'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the value is not Avro with a schema id"),
        (b'{"n": 1}', "the value is not Avro with a schema id"),
        (b"\0\0\0\0", "the value is not Avro with a schema id"),
        (b"\0\0\0\0\x63\2", "the value cannot be decoded: the schema registry has no schema 99"),
        (b"\0\0\0\0\x08", "the value is not of the schema 8: "),
        (b"\0\0\0\0\x08\2\2\2", "the value is not of the schema 8: 2 bytes are left over"),
        (b"\0\0\0\0\x0a\2", "schema 10 of the registry cannot be parsed"),
    ],
)
def test_what_cannot_be_decoded_says_why(registry, content, reason):
    registry.add(10, {"type": "nonsense"})
    with pytest.raises(NotAvro, match=reason):
        documents(registry).document("value", content)


def test_damaged_bytes_are_never_an_error_of_another_kind(registry):
    chance, found = random.Random(3), documents(registry)
    whole = registry.encoded(7, VALUE)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(5, len(damaged))] = chance.randrange(256)
        column, bad = found.column("value", pa.array([bytes(damaged), whole], pa.binary()))
        first, second = column.to_pylist()
        assert bad == ([0] if first is None else [])
        assert json.loads(first or b"{}").keys() <= json.loads(second).keys()


def test_sql_is_given_json_and_marks_where_there_is_none(registry):
    good = registry.encoded(8, {"n": 5})
    records = records_of([(5, good, good), (6, good, b"bad"), (7, b"bad", b"bad"), (8, None, None)])
    seen = records.seen(TopicPartition("t", 0), ["key", "value"])
    rows = rows_of(np.arange(10, 14), seen, ("key", "value"), documents(registry))
    assert rows.column(ROW).to_pylist() == [10, 11 + FAILED, 12 + FAILED, 13]
    assert rows.column("value").to_pylist() == [b'{"n": 5}', None, None, None]
    assert rows.column("key").to_pylist() == [b'{"n": 5}', b'{"n": 5}', None, None]


def test_a_registry_that_does_not_answer_is_no_fault_of_the_records(registry):
    registry.fails_with = 503
    with pytest.raises(ClusterUnavailable, match="HTTP 503"):
        documents(registry).column("value", pa.array([b"\0\0\0\0\x08\2"], pa.binary()))
    registry.fails_with = 0
    found, bad = documents(registry).column("value", pa.array([b"\0\0\0\0\x08\2"], pa.binary()))
    assert (found.to_pylist(), bad) == ([b'{"n": 1}'], [])


def test_a_registry_is_kept_for_the_process_by_its_settings(registry):
    assert documents(registry) is documents(registry)
    assert isinstance(documents_of({"url": "http://localhost:1"}), AvroDocuments)
