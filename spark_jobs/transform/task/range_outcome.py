"""What becomes of one range: records by their target partition, dead letters, and the next anchor.

Pure. Records of a range stay in their order in each target partition. Nothing is left out without
a trace: a record that cannot be transformed halts the range before it, or becomes a dead letter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from replication.clock import now_ms
from replication.model import Mode, PartitionState, TopicPartition
from replication.records.codec import plain_record
from replication.settings.transform_settings import DEAD_LETTER
from replication.state import Anchor, Loss, dead_letters_topic
from replication.transforms.transformed_record import PoisonRecord, SourceRecord
from spark_jobs.transform.columns.encoded_batches import TargetRecords

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import pyarrow as pa

    from replication.records.codec import BatchRecord
    from replication.settings.transform_settings import TopicTransform
    from spark_jobs.transform.columns.encoded_records import EncodedRecords
    from spark_jobs.transform.task.work import RangeWork, SlotWork

    Numbers = npt.NDArray[np.int64]

_MOST_REASON = 500  # characters


class Placed(NamedTuple):
    """Results for one target partition, in order."""

    where: TopicPartition
    times: Numbers  # ms
    rests: pa.BinaryArray  # key, value and headers as they are encoded
    sources: Numbers  # offset of the record that each comes from; -1: a function did not say


@dataclass(slots=True)
class RangeOutcome:
    """Collects what becomes of a range."""

    slot: SlotWork
    work: RangeWork
    records: dict[TopicPartition, TargetRecords] = field(default_factory=dict)
    poisons: list[PoisonRecord] = field(default_factory=list)
    read: int = 0
    written: int = 0
    newest_ms: int = 0
    halted: PoisonRecord | None = None  # the range ends before this one

    def extend(self, made: Placed) -> None:
        """Add records to write to one partition."""
        if len(made.times):
            self.records.setdefault(made.where, TargetRecords()).extend(made.times, made.rests)
            self.written += len(made.times)

    def poison(self, found: PoisonRecord) -> None:
        """Add a record that cannot be transformed; by policy, or without budget, the range ends."""
        if self.halted is not None:
            return
        transform = self.slot.transform
        spent = self.work.anchor.lost + len(self.poisons)
        if transform.on_error == DEAD_LETTER and spent < transform.dead_letters_max:
            self.poisons.append(found)
        else:
            self.halted = found

    def note(self, records: EncodedRecords, poisons: Mapping[int, str]) -> npt.NDArray[np.bool_]:
        """Add poison records, by their places in ``records``; return which may be written.

        Their keys, values and headers are left out.
        """
        good = np.ones(len(records), bool)
        for place in sorted(poisons):
            offset, time_ms = int(records.offsets[place]), int(records.times[place])
            self.poison(PoisonRecord(SourceRecord(offset, time_ms, None, None, ()), poisons[place]))
            good[place] = False
            if self.halted is not None:
                good[place:] = False
                break
        return good

    @property
    def found_poisons(self) -> tuple[PoisonRecord, ...]:
        """All poison records that were found, the one that ends the range last."""
        return (*self.poisons, *(() if self.halted is None else (self.halted,)))

    @property
    def problem(self) -> str:
        """Why its first poison record cannot be transformed; empty: there is none."""
        return next((each.reason for each in self.found_poisons), "")

    @property
    def size(self) -> int:
        """Bytes of keys, values and headers to write."""
        return sum(each.size for each in self.records.values())

    @property
    def next_offset(self) -> int:
        """The source offset at which the next range begins."""
        return self.work.end if self.halted is None else self.halted.record.offset

    def anchor(self, target_end: int | None, size: int) -> Anchor:
        """Return the anchor to commit; ``target_end``: behind our last record on the target."""
        before, now = self.work.anchor, now_ms()
        state, reason = PartitionState.RUNNING, ""
        if self.halted is not None:
            state, reason = PartitionState.TRANSFORM_FAILED, self._reason(self.halted)
        me = self.slot.producer
        return replace(
            before,
            source=self.next_offset,
            target=before.target if target_end is None else target_end,
            appenders=((me.transactional_id, me.producer_id),),
            generation=me.generation,
            epoch=me.epoch,
            records=before.records + self.written,
            bytes=before.bytes + size,
            lost=before.lost + len(self.poisons),
            state=state,
            reason=reason,
            mode=Mode.TRANSACTIONAL,
            transform=fingerprint(self.slot.transform),
            clean=False,
            run=None,
            at_ms=now,
        )

    def dead_letters(self) -> list[BatchRecord]:
        """Return the dead letters, as the append engine writes them."""
        return [self._dead_letter(each) for each in self.poisons]

    def losses(self) -> list[Loss]:
        """Return a loss for each dead letter."""
        anchor, now = self.work.anchor, now_ms()
        return [
            Loss(
                anchor.flow,
                anchor.topic,
                anchor.partition,
                anchor.source_topic_id,
                each.record.offset,
                PartitionState.TRANSFORM_FAILED,
                each.record.offset + 1,
                self._reason(each),
                now,
            )
            for each in self.poisons
        ]

    def _reason(self, found: PoisonRecord) -> str:
        line = self.slot.transform.first_line
        why = " ".join(found.reason.split())[:_MOST_REASON]
        reason = f"{line}: {self.work.source} offset {found.record.offset}: {why}"
        spent = self.work.anchor.lost + len(self.poisons)
        if self.slot.transform.on_error == DEAD_LETTER and found is self.halted:
            reason = f"{reason}; its {spent} dead letters are all that dead.letters.max allows"
        return reason

    def _dead_letter(self, found: PoisonRecord) -> BatchRecord:
        record, source = found.record, self.work.source
        headers: list[tuple[str, bytes | None]] = [
            ("isthmus.flow", self.slot.clusters.flow.encode()),
            ("isthmus.topic", source.topic.encode()),
            ("isthmus.partition", b"%d" % source.partition),
            ("isthmus.offset", b"%d" % record.offset),
            ("isthmus.reason", self._reason(found).encode()),
            *record.headers,
        ]
        return plain_record(record.timestamp, record.key, record.value, headers)


def problem_of(topic: str, partition: int, partitions: Mapping[str, int]) -> str:
    """Return why a record cannot be written where it is to go; empty: it can."""
    if topic not in partitions:
        return f"its topic {topic} is not on the target, or not in route.topics"
    if partition >= partitions[topic]:
        return f"{topic} has no partition {partition}"
    return ""


def dead_letters_partition(slot: SlotWork) -> TopicPartition:
    """Return where the dead letters of a task go."""
    return TopicPartition(dead_letters_topic(slot.clusters.source_alias), 0)


def fingerprint(transform: TopicTransform) -> str:
    """Return what an anchor says of the transform that its records went through."""
    return transform.first_line.rpartition(": ")[2] or "transform"
