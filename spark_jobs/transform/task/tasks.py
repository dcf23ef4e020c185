"""What a transform's tasks do: read, transform and write; for SQL see ``sql_tasks``.

Functions and single message transforms run in the process that reads and writes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from replication.errors import ClusterUnavailable, ReplicationError
from replication.transforms.smt.chain import Chain
from replication.transforms.transformed_record import PoisonRecord, SourceRecord
from spark_jobs.transform.columns.encoded_batches import TargetRecords
from spark_jobs.transform.task.batch_work import slot_work
from spark_jobs.transform.task.chain_results import take_by_chain
from spark_jobs.transform.task.range_outcome import RangeOutcome, dead_letters_partition
from spark_jobs.transform.task.range_reader import OutsideLog, RangeReader, record_at
from spark_jobs.transform.task.target_writer import TargetWriter
from spark_jobs.transform.task.task_process import task_process
from spark_jobs.transform.task.user_function import load_function
from spark_jobs.transform.task.work import RangeReport, SlotReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from replication.model import TopicPartition
    from replication.records.codec import BatchRecord
    from replication.transforms.transformed_record import SourceRecord
    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.task.task_process import Connected
    from spark_jobs.transform.task.work import SlotWork, TaskClusters

    Stage = Callable[[RangeOutcome, DecodedRecords], None]

REPORT_DDL = "slot int, report string"


def transform_slots(
    clusters: TaskClusters,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what reads, transforms and writes the slots, and yields a report for each."""

    def transform(slots: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(slots):
            slot = slot_work(clusters, number)
            yield report_row(number, guarded(partial(_transform, slot)))

    return transform


def stage_of(slot: SlotWork) -> Stage:
    """Return what transforms records in Python. Raises ConfigError."""
    if slot.transform.function is not None:
        return load_function(slot.transform).take
    return partial(take_by_chain, Chain(slot.transform))


def guarded(work: Callable[[], SlotReport]) -> SlotReport:
    """Return a problem as a report: Spark would try the task again, with the same producer."""
    begin = time.process_time()
    try:
        report = work()
    except ReplicationError as error:
        report = SlotReport(problem=str(error))
    return replace(report, cpu_s=time.process_time() - begin)


def _transform(slot: SlotWork) -> SlotReport:
    require_first_attempt()
    process = task_process()
    connected = process.run(process.connected(slot.clusters))
    stage, outcomes, outside = stage_of(slot), [], []
    for at, each in enumerate(slot.ranges):
        outcome = RangeOutcome(slot, each)
        outcomes.append(outcome)
        reader = RangeReader(slot.clusters, connected.source, connected.registry, each)
        process.run(connected.source.refresh([each.source.topic]))
        try:
            while not reader.is_done and outcome.halted is None:
                _take(stage, outcome, process.run(reader.read()))
        except OutsideLog:
            outside.append(at)
    if outside:
        return SlotReport(outside=tuple(outside), problem="retention deleted records")
    return process.run(commit(connected, slot, outcomes))


def _take(stage: Stage, outcome: RangeOutcome, records: DecodedRecords) -> None:
    """Transform records of a range, some of which may be known as poison records."""
    outcome.read += len(records)
    begin, last = (int(records.offsets[at]) for at in (0, -1)) if len(records) else (0, -1)
    for offset, reason in sorted(outcome.work.poisons.items()):
        if len(known := records.between(offset, offset + 1)):
            stage(outcome, records.between(begin, offset))
            outcome.poison(PoisonRecord(known.singles()[0], reason))
            begin = offset + 1
    stage(outcome, records.between(begin, last + 1))


async def commit(
    connected: Connected, slot: SlotWork, outcomes: Sequence[RangeOutcome]
) -> SlotReport:
    """Write everything in one transaction; return the report."""
    records: dict[TopicPartition, TargetRecords] = {}
    for each in outcomes:
        for where, some in each.records.items():
            records.setdefault(where, TargetRecords()).join(some)
    if letters := [letter for each in outcomes for letter in await _letters(connected, each)]:
        records[dead_letters_partition(slot)] = TargetRecords.of(letters)
    writer = TargetWriter(connected.target, slot)
    await writer.begin(records)
    await writer.append(records)
    reports = [_range_report(each, writer) for each in outcomes]
    losses = [loss for each in outcomes for loss in each.losses()]
    await writer.commit([*losses, *(each.anchor for each in reports)])
    return SlotReport(tuple(reports), writer.sequences)


async def _letters(connected: Connected, outcome: RangeOutcome) -> list[BatchRecord]:
    """Return the dead letters of a range, with keys and values as they are at the source."""
    for at, each in enumerate(outcome.poisons):
        outcome.poisons[at] = PoisonRecord(await _original(connected, outcome, each), each.reason)
    return outcome.dead_letters()


async def _original(
    connected: Connected, outcome: RangeOutcome, poison: PoisonRecord
) -> SourceRecord:
    """Read a record again: SQL passes on what it made of it."""
    offset, clusters = poison.record.offset, outcome.slot.clusters
    found = await record_at(connected, clusters, outcome.work, offset)
    return poison.record if found is None else found.singles()[0]


def _range_report(outcome: RangeOutcome, writer: TargetWriter) -> RangeReport:
    anchor = outcome.anchor(writer.ends.get(outcome.work.target), outcome.size)
    return RangeReport(anchor, outcome.read, outcome.written, len(outcome.poisons))


def numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def report_row(number: int, report: SlotReport) -> pa.RecordBatch:
    schema = pa.schema([("slot", pa.int32()), ("report", pa.string())])
    return pa.RecordBatch.from_pylist([{"slot": number, "report": report.text()}], schema=schema)


def require_first_attempt() -> None:
    """Raise ClusterUnavailable when Spark tries a task again.

    The first attempt may be alive, or have committed: only a new epoch of the producer tells.
    """
    from pyspark import TaskContext  # noqa: PLC0415 - in a task alone

    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        raise ClusterUnavailable(
            "a task's process ended before it had reported: the batch is tried again"
        )
