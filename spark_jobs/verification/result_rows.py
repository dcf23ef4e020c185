"""Rows of what a transform should have written, and of what it wrote, for Spark to match.

Expected rows come from the flow's own reader, transform and choice of partitions; they are only
not written to the target. Memory holds some thousand records of a range at a time.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from replication.model import OffsetRange
from replication.offsets.counted_log import CountedLog
from spark_jobs.transform.columns.decoded_batches import decode, parts_of
from spark_jobs.transform.task.batch_work import slot_work
from spark_jobs.transform.task.range_outcome import RangeOutcome
from spark_jobs.transform.task.range_reader import RangeReader
from spark_jobs.transform.task.sql_results import take_results
from spark_jobs.transform.task.sql_stream import SqlStream
from spark_jobs.transform.task.sql_tasks import task_number
from spark_jobs.transform.task.task_process import task_process
from spark_jobs.transform.task.tasks import numbers, stage_of
from spark_jobs.transform.task.user_function import CHUNK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from replication.model import TopicPartition
    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.task.range_outcome import Placed
    from spark_jobs.transform.task.tasks import Stage
    from spark_jobs.transform.task.work import SlotWork, TaskClusters

    Numbers = npt.NDArray[np.int64]
    Tasks = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

# ``place``: number of the target partition, FAILED for a record that cannot be transformed;
# ``late``: it may be missing; ``span``: number of the source partition, NOBODY for what was
# written; ``seq``: in the order of this source partition.
ROWS_DDL = (
    "place int, late boolean, span int, seq long, offset long, time long, "
    "key binary, value binary, headers binary"
)
FAILED, NOBODY, UNPLANNED = -1, -1, -2
_SCHEMA = pa.schema(
    [
        ("place", pa.int32()),
        ("late", pa.bool_()),
        ("span", pa.int32()),
        ("seq", pa.int64()),
        ("offset", pa.int64()),
        ("time", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.binary()),
    ]
)
_ROOM = 40  # bits for the results of one part of a partition


class SourcePart(NamedTuple):
    """What a task reads of a source partition: the work of its slot, and whose it is."""

    span: int
    late: bool


class TargetPart(NamedTuple):
    """What a task reads of a target partition."""

    place: int
    where: TopicPartition
    begin: int
    end: int


def expected_of_sql(
    clusters: TaskClusters, parts: Sequence[SourcePart], places: Mapping[TopicPartition, int]
) -> Tasks:
    """Return what takes SQL's results of the slots, and yields them as rows."""

    def take(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = task_number()
        rows_of = _Rows(slot_work(clusters, number), parts[number], places, number)
        with closing(SqlStream()) as stream:
            for chunk, rows in stream.chunks(batches):
                outcome = rows_of.outcome()
                take_results(outcome, chunk.records, rows, chunk.first)
                yield from rows_of.made(outcome)
        if not stream.is_whole:
            raise RuntimeError("Spark passed on only a part of the records: verify again")

    return take


def expected_of_stage(
    clusters: TaskClusters, parts: Sequence[SourcePart], places: Mapping[TopicPartition, int]
) -> Tasks:
    """Return what transforms the slots by a function or single message transforms."""

    def transform(slots: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(slots):
            slot = slot_work(clusters, number)
            stage, rows_of = stage_of(slot), _Rows(slot, parts[number], places, number)
            for records in _read(slot):
                outcome = rows_of.outcome()
                stage(outcome, records)
                yield from rows_of.made(outcome)

    return transform


def differing(clusters: TaskClusters) -> Tasks:
    """Return what transforms the first records of slots twice, and yields whether that differs."""

    def transform(slots: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(slots):
            slot = slot_work(clusters, number)
            stage, first = stage_of(slot), next(_read(slot), None)
            differs = first is not None and _contents(stage, slot, first) != _contents(
                stage, slot, first
            )
            yield pa.RecordBatch.from_pydict({"differs": [differs]})

    return transform


def written(
    clusters: TaskClusters, producers: frozenset[int], listed: Sequence[TargetPart]
) -> Tasks:
    """Return what reads what these producers committed, in the ranges with the given numbers."""

    def read(ranges: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        process = task_process()
        for number in numbers(ranges):
            each = listed[number]
            network = process.run(process.connected(clusters)).target
            process.run(network.refresh([each.where.topic]))
            log = CountedLog(network, each.where, lambda batch: batch.producer_id in producers)
            batches = log.batches(each.begin, each.end)
            while (found := process.run(anext(batches, None))) is not None:
                batch, first, after = found
                records = decode([batch], OffsetRange(first, after), each.where).encoded
                rests = records.rests(np.arange(len(records)))
                rows = partial(_rows, each.place, SourcePart(NOBODY, late=False))
                yield rows(records.offsets, records.offsets, records.times, rests)

    return read


class _Expected(RangeOutcome):
    """Keeps what is to be written, with the source offsets that it comes from."""

    def __init__(self, slot: SlotWork) -> None:
        super().__init__(slot, slot.ranges[0])
        self.placed: list[Placed] = []

    def extend(self, made: Placed) -> None:
        """Add records to write to one partition."""
        if len(made.times):
            self.placed.append(made)


class _Rows:
    """Makes the rows of one slot, which has one range."""

    def __init__(
        self, slot: SlotWork, part: SourcePart, places: Mapping[TopicPartition, int], number: int
    ) -> None:
        self._slot, self._part, self._places = slot, part, places
        self._next = number << _ROOM

    def outcome(self) -> _Expected:
        return _Expected(self._slot)

    def made(self, outcome: _Expected) -> Iterator[pa.RecordBatch]:
        """Yield a row for each result, and one for each record that cannot be transformed."""
        for where, times, rests, sources in outcome.placed:
            place = self._places.get(where, UNPLANNED)
            seqs = np.arange(self._next, self._next + len(times))
            self._next += len(times)
            yield _rows(place, self._part, seqs, sources, times, rests)
        failed = np.array([each.record.offset for each in outcome.found_poisons], np.int64)
        if len(failed):
            nothing = pa.array([b"\1\1\0"] * len(failed), pa.binary())
            yield _rows(FAILED, self._part, failed, failed, failed, nothing)


def _rows(  # noqa: PLR0913, PLR0917 - columns
    place: int,
    part: SourcePart,
    seqs: Numbers,
    offsets: Numbers,
    times: Numbers,
    rests: pa.BinaryArray,
) -> pa.RecordBatch:
    count = len(times)
    columns = [
        pa.repeat(pa.scalar(place, pa.int32()), count),
        pa.repeat(pa.scalar(part.late), count),
        pa.repeat(pa.scalar(part.span, pa.int32()), count),
        *(pa.array(each, pa.int64()) for each in (seqs, offsets, times)),
        *parts_of(rests),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _contents(stage: Stage, slot: SlotWork, records: DecodedRecords) -> object:
    """Return what a transform makes of as many records as a function gets at a time."""
    outcome = _Expected(slot)
    stage(outcome, records.at(np.arange(min(CHUNK, len(records)))))
    return [(e.where, e.times.tolist(), e.rests.to_pylist()) for e in outcome.placed]


def _read(slot: SlotWork) -> Iterator[DecodedRecords]:
    """Yield the records of a slot's range, some at a time."""
    process = task_process()
    connected = process.run(process.connected(slot.clusters))
    (work,) = slot.ranges
    process.run(connected.source.refresh([work.source.topic]))
    reader = RangeReader(slot.clusters, connected.source, connected.registry, work)
    while not reader.is_done:
        records = process.run(reader.read())
        if len(records):
            yield records


def tolerant(slot: SlotWork) -> SlotWork:
    """Return a slot whose ranges go on behind each record that cannot be transformed."""
    most = 1 << 62
    transform = replace(slot.transform, on_error="dead-letter", dead_letters_max=most)
    return replace(slot, transform=transform)
