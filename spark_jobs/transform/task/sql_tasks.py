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

from replication.errors import ReplicationError
from spark_jobs.transform.columns.avro_documents import documents_of
from spark_jobs.transform.columns.record_columns import (
    END,
    FAILED,
    MEMORY,
    REASONS,
)
from spark_jobs.transform.columns.record_kinds import repeated_kinds
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
    import pyarrow as pa

    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.columns.record_kinds import Kinds
    from spark_jobs.transform.task.shared_records import SharedRecords
    from spark_jobs.transform.task.work import SlotWork, TaskClusters


def read_slots(
    clusters: TaskClusters, names: Sequence[str], kinds: Sequence[str] | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what yields the records of the slots that it gets the numbers of.

    ``names``: the columns that SQL needs, see ``record_columns.RECORDS``. ``kinds``: the columns by
    which SQL tells records apart, see ``SqlPlan.kinds``; None: each record is yielded.
    """

    def read(slots: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(slots):
            yield from _read_slot(slot_work(clusters, number), names, kinds)

    return read


def _read_slot(
    slot: SlotWork, names: Sequence[str], kinds: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    shared = shared_records()
    yield marker(MEMORY + shared.place, names)
    try:
        yield from _read_ranges(slot, names, kinds, shared)
    except ReplicationError as problem:  # Spark would try again, and tell it with a stack trace
        shared.fail(str(problem))
    yield marker(END + shared.count, names)


def _read_ranges(
    slot: SlotWork, names: Sequence[str], kinds: Sequence[str] | None, shared: SharedRecords
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
            alike, places = given_to_sql(records, kinds, each.poisons)
            first = shared.add(at, records.encoded, alike)
            seen = records.at(places).seen(each.source, names)
            yield rows_of(first + places, seen, sides, documents)


def given_to_sql(
    records: DecodedRecords, kinds: Sequence[str] | None, poisons: Mapping[int, str]
) -> tuple[Kinds | None, npt.NDArray[np.int64]]:
    """Return the kinds of records, and the places of those that SQL is given.

    It is not given ``poisons``, by offset, and then each of the others: a kind would be left out
    with its first record.
    """
    if poisons:
        return None, np.flatnonzero(~np.isin(records.offsets, list(poisons)))
    found = None if kinds is None else repeated_kinds(records.encoded, kinds)
    return found, np.arange(len(records)) if found is None else found.firsts


def write_slots(
    clusters: TaskClusters,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what writes the results of SQL, and yields a report a slot.

    The task of a slot has its number: between the two there is no shuffle.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = task_number()
        slot = slot_work(clusters, number)
        yield report_row(number, guarded(partial(_write_results, slot, batches)))
        for _ in batches:  # else Spark ends this process, which may have records of another task
            pass

    return write


def _write_results(slot: SlotWork, batches: Iterator[pa.RecordBatch]) -> SlotReport:
    outcomes = [RangeOutcome(slot, each) for each in slot.ranges]
    with closing(SqlStream()) as stream:
        for chunk, rows in stream.chunks(batches):
            take_results(outcomes[chunk.number], chunk.records, rows, chunk.first)
    require_first_attempt()  # before a report that says of a slot that it committed nothing
    if not stream.is_whole:
        # Where Spark's side fails, Arrow's stream just ends: that is no end of the records.
        return SlotReport(
            problem="Spark passed on only a part of the records: the batch is tried again"
        )
    if failed := tuple(_failed(outcomes)):
        return SlotReport(failed=failed)
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
