"""The two processes around Spark SQL: one reads records for it, another one writes what it made.

    read ──Arrow──▶ Spark SQL ──Arrow──▶ write
      └────────── shared memory ─────────▲

SQL gets only the columns that it names, and passes on only what it makes, with the numbers of the
records in the task. All else stays as bytes in memory that both processes have.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from replication.errors import ReplicationError
from spark_jobs.transform.columns.avro_documents import documents_of
from spark_jobs.transform.columns.record_columns import (
    END,
    FAILED,
    MEMORY,
    REASONS,
)
from spark_jobs.transform.columns.sql_rows import avro_sides, marker, rows_of
from spark_jobs.transform.task.batch_work import slot_work
from spark_jobs.transform.task.range_outcome import RangeOutcome
from spark_jobs.transform.task.range_reader import RangeReader
from spark_jobs.transform.task.shared_records import shared_records
from spark_jobs.transform.task.sql_results import take_results
from spark_jobs.transform.task.sql_stream import SqlStream
from spark_jobs.transform.task.task_process import task_process
from spark_jobs.transform.task.tasks import (
    commit,
    guarded,
    numbers,
    report_row,
    require_first_attempt,
)
from spark_jobs.transform.task.work import SlotReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from spark_jobs.transform.task.shared_records import SharedRecords
    from spark_jobs.transform.task.work import Clusters, SlotWork


def read_slots(
    clusters: Clusters, names: Sequence[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what yields the records of the slots that it gets the numbers of.

    ``names``: the columns that SQL needs, see ``record_columns.RECORDS``.
    """

    def read(slots: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(slots):
            yield from _read_slot(slot_work(clusters, number), names)

    return read


def _read_slot(slot: SlotWork, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    shared = shared_records()
    yield marker(MEMORY + shared.place, names)
    try:
        yield from _read_ranges(slot, names, shared)
    except ReplicationError as problem:  # Spark would try again, and tell it with a stack trace
        shared.fail(str(problem))
    yield marker(END + shared.count, names)


def _read_ranges(
    slot: SlotWork, names: Sequence[str], shared: SharedRecords
) -> Iterator[pa.RecordBatch]:
    process, documents = task_process(), documents_of(slot.clusters.registry)
    sides = avro_sides(slot.transform)
    connected = process.run(process.connected(slot.clusters))
    for at, each in enumerate(slot.ranges):
        reader = RangeReader(slot.clusters, connected.source, connected.registry, each)
        process.run(connected.source.refresh([each.source.topic]))
        while not reader.is_done:
            if not len(records := process.run(reader.read())):
                continue
            first, seen = shared.add(at, records.encoded), records.seen(each.source, names)
            yield _without(each.poisons, records.offsets, rows_of(first, seen, sides, documents))


def _without(
    poisons: Mapping[int, str], offsets: npt.NDArray[np.int64], rows: pa.RecordBatch
) -> pa.RecordBatch:
    """Leave out what is known as poison records."""
    if not poisons:
        return rows
    return rows.filter(pa.array(~np.isin(offsets, list(poisons))))


def write_slots(
    clusters: Clusters,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what writes the results of SQL, and yields a report a slot.

    The task of a slot has its number: between the two there is no shuffle.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = task_number()
        slot = slot_work(clusters, number)
        yield report_row(number, guarded(partial(_write_results, slot, batches)))

    return write


def _write_results(slot: SlotWork, batches: Iterator[pa.RecordBatch]) -> SlotReport:
    outcomes = [RangeOutcome(slot, each) for each in slot.ranges]
    with closing(SqlStream()) as stream:
        for chunk, rows in stream.chunks(batches):
            take_results(outcomes[chunk.number], chunk.records, rows, chunk.first)
    if not stream.is_whole:
        # Where Spark's side fails, Arrow's stream just ends: that is no end of the records.
        return SlotReport(problem="Spark passed on only a part of the records")
    if failed := tuple(_failed(outcomes)):
        return SlotReport(failed=failed)
    require_first_attempt()
    process = task_process()
    connected = process.run(process.connected(slot.clusters))
    return process.run(commit(connected, slot, outcomes))


def _failed(outcomes: Sequence[RangeOutcome]) -> Iterator[tuple[int, int]]:
    """Yield what SQL fails on, as far as the policy takes poison records at all."""
    for number, outcome in enumerate(outcomes):
        for each in outcome.found_poisons:
            if each.reason == REASONS[FAILED]:
                yield number, each.record.offset


def task_number() -> int:
    from pyspark import TaskContext  # noqa: PLC0415 - in a task alone

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()
