"""A function of the operator's own: what it may return, and which record it fails on."""

from __future__ import annotations

import contextlib
import time

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.records.decoded_records import records_of

from replication.client.producer_identity import ProducerIdentity
from replication.errors import ConfigError
from replication.model import TopicPartition
from replication.records.codec import key_and_value
from replication.settings.transform_settings import DEAD_LETTER, STOP, SettingText, TopicTransform
from replication.state import Anchor
from replication.transforms.key_partitioner import partition_of
from spark_jobs.transform.task.range_outcome import RangeOutcome
from spark_jobs.transform.task.user_function import UserFunction, load_function
from spark_jobs.transform.task.work import RangeWork, SlotWork, TaskClusters

WRITTEN = SettingText("mine:f", "isthmus.properties:9: A->B.transform")
ANCHOR = Anchor("A->B", "orders", 1, "A.orders", 0, None)


def results(call, values, limit_s=5.0, on_error=DEAD_LETTER):
    transform = TopicTransform("orders", function=WRITTEN, on_error=on_error)
    work = RangeWork(ANCHOR, 99, "", TopicPartition("A.orders", 1))
    me = ProducerIdentity("isthmus.A->B.transform.0.0", 7, 2, 5)
    counts = {"A.orders": 4, "eu": 2}
    clusters = TaskClusters("A->B", "A", {}, {})
    found = RangeOutcome(SlotWork(clusters, transform, me, (work,), counts, {}), work)
    records = records_of([(n, b"k", value) for n, value in enumerate(values)])
    UserFunction(call, WRITTEN, limit_s).take(found, records)
    return found


def written(found):
    return {
        tuple(where): [(*key_and_value(each), each.timestamp) for each in records.records()]
        for where, records in found.records.items()
    }


def values_of(found):
    return [value for listed in written(found).values() for _, value, _ in listed]


def poisons_of(found):
    return [each.record.offset for each in found.poisons]


def failing(bad):
    def call(batch):
        if bad & set(batch.column("value").to_pylist()):
            raise ValueError("no")
        return batch

    return call


@pytest.mark.parametrize("bad", [set(), {b"3"}, {b"0", b"7"}, {b"%d" % n for n in range(8)}])
def test_each_record_that_it_fails_on_is_found_and_the_others_keep_their_order(bad):
    values = [b"%d" % n for n in range(8)]
    found = results(failing(bad), values)
    assert values_of(found) == [each for each in values if each not in bad]
    assert poisons_of(found) == [n for n, each in enumerate(values) if each in bad]


def test_by_policy_the_first_record_that_it_fails_on_ends_the_range():
    found = results(failing({b"2", b"5"}), [b"%d" % n for n in range(8)], on_error=STOP)
    assert (values_of(found), found.next_offset) == ([b"0", b"1"], 2)


def test_a_function_that_hangs_on_a_record_is_interrupted_even_if_it_catches_exceptions():
    def call(batch):
        while b"slow" in batch.column("value").to_pylist():
            with contextlib.suppress(Exception):
                time.sleep(30)
        return batch

    found = results(call, [b"a", b"slow"], 1.0)
    assert (values_of(found), poisons_of(found)) == ([b"a"], [1])
    assert found.problem == "mine:f took longer than 1 s"


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda _: None, "returned a NoneType, not a pyarrow.RecordBatch"),
        (lambda b: b.select(["key"]), "returned the columns ['key']"),
        (
            lambda b: pa.RecordBatch.from_pydict({"value": [[1]] * b.num_rows}),
            "returned value as list<item: int64>, not as binary",
        ),
        (
            lambda b: b.set_column(6, "headers", [[{"key": None, "value": b"1"}]] * b.num_rows),
            "returned a header without a name",
        ),
        (lambda b: b.set_column(0, "topic", ["us"] * b.num_rows), "us is not on the target"),
        (lambda b: b.set_column(1, "partition", [9] * b.num_rows), "A.orders has no partition 9"),
    ],
)
def test_another_type_is_a_poison_record_with_the_reason(call, reason):
    found = results(call, [b"x"])
    assert (poisons_of(found), values_of(found)) == ([0], [])
    assert reason in found.problem


def test_columns_that_are_left_out_are_none_and_null_partitions_go_by_the_key():
    def call(batch):
        return batch.select(["value", "key", "timestamp"])

    number = partition_of(b"k", 4)
    assert written(results(call, [b"x"])) == {("A.orders", number): [(b"k", b"x", 0)]}


def test_results_go_to_the_topics_and_partitions_that_it_names_in_order():
    def call(batch):
        even = pc.equal(pc.bit_wise_and(batch["offset"], 1), 0)
        topics = pc.if_else(even, batch["topic"], pa.scalar("eu"))
        first = batch.slice(0, 1).set_column(0, "topic", pa.array([None], pa.string()))
        return pa.Table.from_batches([first, batch.set_column(0, "topic", topics)])

    found = results(call, [b"0", b"1", b"2", b"3"])
    assert written(found) == {
        ("A.orders", 1): [(b"k", b"0", 0), (b"k", b"0", 0), (b"k", b"2", 2)],
        ("eu", 1): [(b"k", b"1", 1), (b"k", b"3", 3)],
    }


def test_a_function_that_cannot_be_loaded_is_refused_at_its_line(tmp_path):
    (tmp_path / "mine.py").write_text("raise RuntimeError('broken')\n")
    for text, reason in (
        ("mine.py:f", "loading mine.py:f: RuntimeError: broken"),
        ("other.py:f", "FileNotFoundError"),
        ("mine", "names no function"),
    ):
        written = SettingText(text, "isthmus.properties:9: A->B.transform")
        with pytest.raises(ConfigError) as caught:
            load_function(TopicTransform(".*", function=written, folder=str(tmp_path)))
        assert str(caught.value).startswith("isthmus.properties:9: A->B.transform: ")
        assert reason in str(caught.value)
