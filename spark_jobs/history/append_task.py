"""Appends the records of some partitions, in order, in transactions that also hold the positions.

A position is the source offset behind the last record that was appended. The driver fences former
tasks before it reads the positions, so each record is in exactly one committed transaction.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from replication.clock import now_ms
from replication.errors import ReplicationError
from replication.model import TopicPartition
from replication.settings.transform_settings import TopicTransform
from spark_jobs.transform.columns.encoded_batches import TargetRecords, rests_of
from spark_jobs.transform.task.sql_tasks import task_number
from spark_jobs.transform.task.target_writer import TargetWriter
from spark_jobs.transform.task.task_process import task_process
from spark_jobs.transform.task.tasks import require_first_attempt
from spark_jobs.transform.task.work import SlotWork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from replication.client.producer_identity import ProducerIdentity
    from replication.state import Anchor
    from spark_jobs.transform.task.task_process import TaskProcess
    from spark_jobs.transform.task.work import TaskClusters

    Tasks = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

REPORT_DDL = "records long, problem string"
_REPORT = pa.schema([("records", pa.int64()), ("problem", pa.string())])
_MOST_RECORDS, _MOST_BYTES = 20_000, 8 << 20  # of a transaction
_LZ4 = 3
_NOTHING = TopicTransform("")


def appending(
    clusters: TaskClusters,
    producers: Mapping[int, ProducerIdentity],
    anchors: Mapping[TopicPartition, Anchor],
    bytes_per_second: float,
) -> Tasks:
    """Return what appends rows that are sorted by topic, partition and offset.

    ``producers``: by the number of the task. ``anchors``: the positions; rows before are not given.
    ``bytes_per_second``: of one task; 0: no limit.
    """

    def append(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        require_first_attempt()
        slot = SlotWork(clusters, _NOTHING, producers[task_number()], (), {}, {}, _LZ4)
        work = _Appending(slot, anchors, bytes_per_second, task_process())
        problem = ""
        try:
            for batch in batches:
                for where, rows in _by_partition(batch):
                    work.take(where, rows)
            work.commit()
        except ReplicationError as error:  # else Spark tries the task again, with this producer
            problem = str(error)
        report = {"records": work.records, "problem": problem}
        yield pa.RecordBatch.from_pylist([report], schema=_REPORT)

    return append


@dataclass(slots=True)
class _Appending:
    """The work of one task."""

    slot: SlotWork
    anchors: Mapping[TopicPartition, Anchor]
    bytes_per_second: float
    process: TaskProcess
    records: int = 0
    _anchor: Anchor | None = None  # of the partition in hand: behind what is collected
    _waiting: TargetRecords = field(default_factory=TargetRecords)
    _count: int = 0
    _size: int = 0

    def take(self, where: TopicPartition, rows: pa.RecordBatch) -> None:
        """Collect rows of one partition; commit those before it, and what is enough."""
        if self._anchor is None or (self._anchor.topic, self._anchor.partition) != where:
            self.commit()
            self._anchor = self.anchors[where]
        at = 0
        while at < rows.num_rows:
            some = rows.slice(at, _MOST_RECORDS - self._count)
            at += some.num_rows
            self._collect(self._anchor, some)
            if self._count >= _MOST_RECORDS or self._size >= _MOST_BYTES:
                self.commit()

    def _collect(self, anchor: Anchor, rows: pa.RecordBatch) -> None:
        new = rows.filter(pa.array(_is_first(rows.column("offset"), anchor.source or 0)))
        if not new.num_rows:
            return
        times = new.column("timestamp").to_numpy(zero_copy_only=False)
        rests = rests_of(*(new.column(each) for each in ("key", "value", "headers")))
        self._waiting.extend(times, rests)
        size = rests.nbytes
        self._count, self._size = self._count + new.num_rows, self._size + size
        last = new.column("offset")[new.num_rows - 1].as_py()
        self._anchor = replace(
            anchor,
            source=last + 1,
            records=anchor.records + new.num_rows,
            bytes=anchor.bytes + size,
        )

    def commit(self) -> None:
        """Append what was collected, and its position."""
        if self._anchor is None or not self._count:
            return
        begun = time.monotonic()
        self._anchor = self.process.run(self._committed(self._anchor))
        self.records += self._count
        if self.bytes_per_second:
            left_s = self._size / self.bytes_per_second - (time.monotonic() - begun)
            time.sleep(max(0.0, left_s))
        self._waiting, self._count, self._size = TargetRecords(), 0, 0

    async def _committed(self, anchor: Anchor) -> Anchor:
        connected = await self.process.connected(self.slot.clusters)
        where = TopicPartition(anchor.target_topic, anchor.partition)
        writer = TargetWriter(connected.target, self.slot)
        await writer.begin([where])
        await writer.append({where: self._waiting})
        me = self.slot.producer
        found = replace(
            anchor,
            target=writer.ends.get(where, anchor.target),
            appenders=((me.transactional_id, me.producer_id),),
            generation=me.generation,
            epoch=me.epoch,
            at_ms=now_ms(),
        )
        await writer.commit([found])
        self.slot = replace(self.slot, sequences=writer.sequences)
        return found


def _is_first(offsets: pa.Array, least: int) -> npt.NDArray[np.bool_]:
    """Say of each row whether it is the first one with its offset, and not before ``least``."""
    found = offsets.to_numpy(zero_copy_only=False)
    first = np.concatenate(([True], np.diff(found) > 0))[: len(found)]
    kept: npt.NDArray[np.bool_] = first & (found >= least)
    return kept


def _by_partition(batch: pa.RecordBatch) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
    """Yield the rows of each partition in a batch, in order."""
    topics = batch.column("topic").dictionary_encode()
    numbers = batch.column("partition").to_numpy(zero_copy_only=False)
    codes = topics.indices.to_numpy(zero_copy_only=False)
    changes = np.flatnonzero((np.diff(codes) != 0) | (np.diff(numbers) != 0)) + 1
    bounds: Sequence[int] = [0, *changes.tolist(), batch.num_rows]
    for begin, end in pairwise(bounds):
        if begin < end:
            topic = topics.dictionary[int(codes[begin])].as_py()
            yield TopicPartition(topic, int(numbers[begin])), batch.slice(begin, end - begin)
