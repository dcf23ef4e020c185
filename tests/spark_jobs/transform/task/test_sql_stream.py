"""What the writing process of a task takes from SQL and from the memory of the reading one."""

from __future__ import annotations

import os
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from support.records.decoded_records import records_of

from replication.errors import ClusterUnavailable, EnvironmentProblem
from spark_jobs.transform.columns.record_columns import END, FAILED, MEMORY, ROW
from spark_jobs.transform.task import shared_records
from spark_jobs.transform.task.shared_records import SharedRecords
from spark_jobs.transform.task.sql_stream import SqlStream


def rows(*coded):
    return pa.RecordBatch.from_pydict({ROW: pa.array(coded, pa.int64())})


@pytest.fixture
def shared():
    """Three chunks: records 0 to 2 and 3 to 4 of the range 0, 5 to 8 of the range 1."""
    found = SharedRecords()
    for number, base, count in ((0, 10, 3), (0, 20, 2), (1, 30, 4)):
        listed = [(base + n, b"k", b"%d" % (base + n)) for n in range(count)]
        found.add(number, records_of(listed, base).at(np.arange(count)).encoded)
    yield found
    found.close()


def taken(*batches):
    with closing(SqlStream()) as stream:
        found = [
            (chunk.number, chunk.records.offsets.tolist(), chunk.first, made.column(0).to_pylist())
            for chunk, made in stream.chunks(iter(batches))
        ]
    return found, stream.is_whole


@pytest.mark.parametrize("size", [1, 2, 3, 99])
def test_each_chunk_comes_once_with_its_rows_however_they_are_batched(shared, size):
    listed = [MEMORY + shared.place, 0, 2 + FAILED, 5, 7, 8, END + shared.count]
    batches = [rows(), *(rows(*listed[at : at + size]) for at in range(0, len(listed), size))]
    assert taken(*batches) == (
        [
            (0, [10, 11, 12], 0, [0, 2 + FAILED]),
            (0, [20, 21], 3, []),
            (1, [30, 31, 32, 33], 5, [5, 7, 8]),
        ],
        True,
    )


def test_a_stream_without_its_end_is_not_whole(shared):
    assert taken(rows(MEMORY + shared.place, 0, 1, 4)) == (
        [(0, [10, 11, 12], 0, [0, 1])],
        False,
    )
    assert taken() == ([], False)


def test_why_no_more_records_were_read_ends_the_stream_with_that_reason(shared):
    shared.fail("schema registry http://one: HTTP 503")
    with pytest.raises(ClusterUnavailable, match="http://one: HTTP 503"):
        taken(rows(MEMORY + shared.place, 0, END + shared.count))


def test_records_are_the_same_in_both_processes_and_the_memory_is_given_back(shared):
    stream = SqlStream()
    (first, _), *_ = stream.chunks([rows(MEMORY + shared.place, END + shared.count)])
    expected = records_of([(n, b"k", b"%d" % n) for n in (10, 11, 12)], 10).encoded
    every = np.arange(3)
    assert first.records.rests(every).to_pylist() == expected.rests(every).to_pylist()
    assert first.records.times.tolist() == [10, 11, 12]
    assert first.records.keys(every[1:]).to_pylist() == [b"k", b"k"]
    stream.close()
    assert taken(rows(MEMORY + shared.place, END)) == ([], True)


def test_records_that_are_gone_from_memory_are_no_records_that_sql_left_out(shared):
    """A batch of none would end: its position would pass them."""
    with closing(SqlStream()) as stream:
        next(stream.chunks([rows(MEMORY + shared.place, 0)]), None)
    assert taken(rows(MEMORY + shared.place, END + shared.count)) == ([], False)


def test_a_problem_that_is_gone_from_memory_is_not_overlooked():
    with closing(SharedRecords()) as shared:
        shared.fail("schema registry http://one: HTTP 503")
        os.ftruncate(shared._file.fileno(), 0)
        assert taken(rows(MEMORY + shared.place, END + shared.count)) == ([], False)


def test_the_memory_of_the_next_task_of_a_process_is_not_taken_for_that_of_the_one_before(shared):
    """Spark gives the reading process to another task before the writing one has begun."""
    place, count = shared.place, shared.count
    descriptor = shared._file.fileno()
    shared.close()
    with closing(SharedRecords()) as other:
        assert other._file.fileno() == descriptor
        other.fail("of another task")
        with pytest.raises(EnvironmentProblem, match="gone from memory"):
            taken(rows(MEMORY + place, 0, END + count))
        with pytest.raises(ClusterUnavailable, match="of another task"):
            taken(rows(MEMORY + other.place, END + other.count))


def test_a_process_keeps_the_memories_of_its_last_tasks(monkeypatch):
    monkeypatch.setattr(shared_records, "_here", [])
    first, *_, last = [shared_records.shared_records() for _ in range(shared_records._KEPT)]
    for each in (first, last):
        assert taken(rows(MEMORY + each.place, END)) == ([], True)
    shared_records.shared_records()
    with pytest.raises(EnvironmentProblem, match="gone from memory"):
        taken(rows(MEMORY + first.place, END))
    for each in shared_records._here:
        each.close()
