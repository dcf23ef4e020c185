"""What becomes of the rows that SQL makes: where they go, and which of them go nowhere."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from support.records.decoded_records import records_of

from replication.client.producer_identity import ProducerIdentity
from replication.model import TopicPartition
from replication.records.codec import headers_of, key_and_value
from replication.settings.transform_settings import DEAD_LETTER, STOP, SettingText, TopicTransform
from replication.state import Anchor
from replication.transforms.key_partitioner import partition_of
from spark_jobs.transform.columns.record_columns import (
    BAD_VALUE,
    FAILED,
    HEADERS,
    REASONS,
    ROW,
    TIMESTAMP,
)
from spark_jobs.transform.task.range_outcome import RangeOutcome
from spark_jobs.transform.task.sql_results import PARTITION, ROUTES, take_results
from spark_jobs.transform.task.work import RangeWork, SlotWork, TaskClusters

ANCHOR = Anchor("A->B", "orders", 3, "A.orders", 10, 4)
TYPES = {
    ROUTES: pa.list_(pa.string()),
    PARTITION: pa.int32(),
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": HEADERS,
    "timestamp": TIMESTAMP,
}


def outcome(poisons=None, **settings) -> RangeOutcome:
    where = SettingText("true", "isthmus.properties:7: A->B.transform.orders/where")
    transform = replace(TopicTransform("orders", where=where, on_error=DEAD_LETTER), **settings)
    work = RangeWork(ANCHOR, 20, "", TopicPartition("A.orders", 3), poisons or {})
    me = ProducerIdentity("isthmus.A->B.transform.0.0", 7, 2, 5)
    counts = {"A.orders": 4, "eu": 2}
    return RangeOutcome(
        SlotWork(TaskClusters("A->B", "A", {}, {}), transform, me, (work,), counts, {}), work
    )


def take(found, count, codes=None, first=0, dropped=(), **columns):
    """Take results of so many records with the offsets from 10 on; ``codes``: reasons by row."""
    records = records_of([(n, b"k%d" % n, b"%d" % n) for n in range(count)], 10).encoded
    left = [n for n in range(count) if n not in dropped]
    coded = [first + n + (codes or {}).get(n, 0) for n in left]
    made = {name: pa.array(each, TYPES[name]) for name, each in columns.items()}
    batch = pa.RecordBatch.from_pydict({ROW: pa.array(coded, pa.int64()), **made})
    take_results(found, records, batch, first)


def written(found: RangeOutcome) -> dict[tuple[str, int], list[bytes]]:
    return {
        tuple(where): [key_and_value(each)[1] for each in records.records()]
        for where, records in found.records.items()
    }


def test_rows_that_sql_does_not_change_go_to_their_partition_as_bytes_and_in_order():
    found = outcome()
    take(found, 4, dropped=(1,))
    take(found, 2, first=7)
    assert written(found) == {("A.orders", 3): [b"0", b"2", b"3", b"0", b"1"]}
    (records,) = found.records.values()
    assert [each.timestamp for each in records.records()] == [0, 2, 3, 0, 1]
    assert (found.read, found.written) == (6, 5)


def test_routes_send_a_record_to_none_one_or_several_topics_in_order():
    found = outcome()
    routes = [None, ["eu"], ["eu", None, "eu"], [], [None]]
    take(found, 5, routes=routes)
    assert written(found) == {("A.orders", 3): [b"0", b"2", b"4"], ("eu", 1): [b"1", b"2", b"2"]}


def test_a_number_or_else_the_key_chooses_the_partition():
    found = outcome()
    keys, numbers = [b"a", b"b", None, b"a"], [1, None, None, None]
    headers = [[{"key": "h", "value": None}], None, [], []]
    values = [b"0", b"1", b"2", b"3"]
    take(found, 4, key=keys, value=values, headers=headers, target_partition=numbers)
    expected: dict[tuple[str, int], list[bytes]] = {}
    for value, number in zip(
        values, (1, partition_of(b"b", 4), 3, partition_of(b"a", 4)), strict=True
    ):
        expected.setdefault(("A.orders", number), []).append(value)
    assert written(found) == expected
    first = next(iter(found.records["A.orders", 1].records()))
    assert (key_and_value(first)[0], headers_of(first)) == (b"a", [("h", None)])


@pytest.mark.parametrize("on_error", [DEAD_LETTER, STOP])
def test_poison_records_are_found_in_their_order_and_by_policy_end_the_range(on_error):
    found = outcome(on_error=on_error)
    routes = [None, None, ["eu", "us"], None, None]
    take(found, 5, {4: FAILED, 1: BAD_VALUE}, routes=routes)
    take(found, 1)
    if on_error == STOP:
        assert written(found) == {("A.orders", 3): [b"0"]}
        assert (found.next_offset, found.problem) == (11, REASONS[BAD_VALUE])
        return
    assert written(found) == {("A.orders", 3): [b"0", b"3", b"0"]}
    assert [(each.record.offset, each.reason) for each in found.poisons] == [
        (11, REASONS[BAD_VALUE]),
        (12, "its topic us is not on the target, or not in route.topics"),
        (14, REASONS[FAILED]),
    ]


def test_a_header_without_a_name_and_a_partition_that_is_not_there_are_poison():
    found = outcome()
    headers = [[{"key": None, "value": b"1"}], [{"key": "h", "value": b"1"}], [None]]
    content = {"key": [None] * 3, "value": [None] * 3, "headers": headers}
    take(found, 3, **content, target_partition=[0, 9, 1])
    assert found.records == {}
    assert [each.reason for each in found.poisons] == [
        "SQL made a header without a name",
        "A.orders has no partition 9",
        "SQL made a header without a name",
    ]


def test_what_sql_does_not_make_stays_as_it_is():
    found = outcome()
    take(found, 3, dropped=(1,), value=[b"new", None], timestamp=[7000, 8000])
    take(found, 2, key=[b"a", b"b"], target_partition=[0, 0])
    (first, second), more = (list(e.records()) for e in found.records.values())
    assert [(key_and_value(e), e.timestamp) for e in (first, second)] == [
        ((b"k0", b"new"), 7), ((b"k2", None), 8)]  # fmt: skip
    assert [(key_and_value(e), e.timestamp) for e in more] == [((b"a", b"0"), 0), ((b"b", b"1"), 1)]


def test_a_partition_that_sql_leaves_open_goes_by_the_key_of_the_source():
    found = outcome()
    take(found, 2, target_partition=[None, None])
    expected: dict[tuple[str, int], list[bytes]] = {}
    for n in range(2):
        place = "A.orders", partition_of(b"k%d" % n, 4)
        expected.setdefault(place, []).append(b"%d" % n)
    assert written(found) == expected


def test_what_is_known_as_poison_is_noted_in_its_place_though_sql_did_not_see_it():
    found = outcome({11: "it hangs", 99: "of another chunk"})
    take(found, 4, {3: FAILED}, dropped=(1,))
    assert [(e.record.offset, e.reason) for e in found.poisons] == [
        (11, "it hangs"), (13, REASONS[FAILED])]  # fmt: skip
    assert written(found) == {("A.orders", 3): [b"0", b"2"]}
