"""Rows of files on their way into transactions."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from replication.client.producer_identity import ProducerIdentity
from replication.model import TopicPartition
from replication.records.codec import headers_of, key_and_value
from replication.state import Anchor
from spark_jobs.history.append_task import _Appending, _by_partition
from spark_jobs.history.file_records import _ARROW
from spark_jobs.transform.task.work import SlotWork, TaskClusters

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ME = ProducerIdentity("files", 7, 1, 1)


class Written(_Appending):
    """Keeps what would be committed, instead of sending it."""

    def __init__(self, **positions: int) -> None:
        anchors = {
            each: Anchor("A-files->B", *each, "A.t", positions.get(f"p{each.partition}", 0), None)
            for each in (T0, T1)
        }
        slot = SlotWork(TaskClusters("A-files->B", "A-files", {}, {}), None, ME, (), {}, {})
        super().__init__(slot, anchors, 0, self)
        self.transactions: list[tuple[int, list[tuple], int]] = []

    def run(self, work):
        work.close()
        records = [
            (each.timestamp, *key_and_value(each), headers_of(each))
            for each in self._waiting.records()
        ]
        self.transactions.append((self._anchor.partition, records, self._anchor.source))
        return self._anchor

    def feed(self, *rows: tuple, size: int = 1000) -> None:
        columns = [{"topic": "t", "partition": p, "offset": o, "timestamp": o, "key": b"k",
                    "value": b"%d" % o, "headers": [{"key": "h", "value": None}]}
                   for p, o in rows]  # fmt: skip
        for at in range(0, len(columns), size):
            batch = pa.RecordBatch.from_pylist(columns[at : at + size], schema=_ARROW)
            for where, some in _by_partition(batch):
                self.take(where, some)
        self.commit()


def record(offset: int) -> tuple:
    return (offset, b"k", b"%d" % offset, [("h", None)])


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_records_of_a_partition_are_in_order_once_and_with_the_position_behind_them(size):
    work = Written()
    work.feed((0, 3), (0, 5), (0, 5), (0, 9), (1, 2), (1, 2), size=size)
    assert work.transactions == [
        (0, [record(3), record(5), record(9)], 10),
        (1, [record(2)], 3),
    ]
    assert work.records == 4


def test_what_is_before_the_position_is_not_appended_again():
    work = Written(p0=6)
    work.feed((0, 3), (0, 5), (0, 6), (0, 9))
    assert work.transactions == [(0, [record(6), record(9)], 10)]


def test_a_partition_without_new_records_has_no_transaction():
    work = Written(p0=100)
    work.feed((0, 3), (1, 4))
    assert [each[0] for each in work.transactions] == [1]


def test_a_transaction_ends_after_20_000_records():
    work = Written()
    work.feed(*((0, n) for n in range(45_000)), size=7_000)
    assert [len(each[1]) for each in work.transactions] == [20_000, 20_000, 5_000]
    assert [each[2] for each in work.transactions] == [20_000, 40_000, 45_000]
    assert [r for each in work.transactions for r in each[1]] == [record(n) for n in range(45_000)]


def test_the_anchor_counts_what_was_appended_in_all_runs():
    work = Written()
    work.anchors = {T0: replace(work.anchors[T0], records=10, bytes=5)}
    work.feed((0, 1), (0, 2))
    assert work._anchor.records == 12
    assert work._anchor.bytes > 5
