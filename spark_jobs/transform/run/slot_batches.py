"""Runs the batches of a transform, and learns from what the tasks of their slots report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from replication.model import OffsetRange
from spark_jobs.transform.batch_clock import JobTooSlow
from spark_jobs.transform.sql_errors import is_about_data, sql_reason
from spark_jobs.transform.task.range_reader import OutsideLog, record_at
from spark_jobs.transform.task.work import RangeWork, SlotWork

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from replication.model import TopicPartition
    from replication.settings.transform_settings import TopicTransform
    from spark_jobs.transform.run.batch_plan import BatchLimits
    from spark_jobs.transform.run.run_positions import RunPositions
    from spark_jobs.transform.run.run_setting import Job
    from spark_jobs.transform.slot_producers import SlotProducers
    from spark_jobs.transform.task.work import SlotReport

_GONE = "SQL failed on it, and it is not in the source's log any more"


@dataclass(slots=True)
class SlotBatches:
    """Runs batches with one task a slot; ``positions`` and ``limits`` learn how they ended.

    ``tell`` lets operators see why a slot has not written. ``in_doubt``: a task may still be
    running, or have committed, which shows when its producer is fenced.
    """

    job: Job
    transform: TopicTransform
    limits: BatchLimits
    positions: RunPositions
    counts: Callable[[], Mapping[str, int]]  # of partitions, of the topics on the target
    tell: Callable[[str], None]
    in_doubt: bool = False
    records: int = 0  # read since the start
    _sequences: dict[int, dict[TopicPartition, int]] = field(default_factory=dict)
    _slow: str = ""  # that the last job that failed as a whole took too long
    _outside: Collection[TopicPartition] = ()  # some of these lost records that the last job wanted

    def forget(self) -> None:
        """Forget what producers wrote last: they have new epochs."""
        self.in_doubt, self._sequences = False, {}

    def run(self, producers: SlotProducers, slots: Mapping[int, tuple[RangeWork, ...]]) -> None:
        """Run a batch of these ranges. Raises PySparkException where it did not fail on data.

        Where Spark's job fails as a whole, some slots may have committed: then it is in doubt.
        """
        listed = sorted(slots)
        work = tuple(self._slot(producers, slot, slots[slot]) for slot in listed)
        ranges = {
            e.source: OffsetRange(e.anchor.source or 0, e.end) for each in work for e in each.ranges
        }
        self.in_doubt = True  # until all reports are learned
        try:
            reports = self.job.run(work)
        except PySparkException as error:
            if "OutsideLog" in str(error):
                self._outside = [*ranges]
                return
            if not is_about_data(error):
                raise
            self._slow = ""
            self.limits.failed(ranges, sql_reason(error))
            return
        except JobTooSlow as slow:
            self._slow = str(slow)
            self.limits.failed(ranges, self._slow)
            return
        for number, slot, report in zip(listed, work, reports, strict=True):
            self._learn(producers, number, slot, report)
            if report.ranges:
                self.limits.succeeded({e.source: ranges[e.source] for e in slot.ranges})
        self.in_doubt = any(each.problem and not each.outside for each in reports)

    @property
    def search(self) -> str:
        """Why batches have few records now: each attempt lasts until its time is over."""
        if not self._slow or not self.limits.searching:
            return ""
        return f"{self._slow}; looking for the record on which it hangs, the others wait"

    def lose_outside(self, producers: SlotProducers) -> None:
        """Go on behind what retention deleted, where the last job did not say of which range.

        Its tasks were fenced and the positions read again since: some of its slots may have
        committed.
        """
        outside, self._outside = self._outside, ()
        self.positions.lose(producers, outside)

    def _learn(
        self, producers: SlotProducers, number: int, slot: SlotWork, report: SlotReport
    ) -> None:
        if report.outside:
            self.positions.lose(producers, [each.source for each in slot.ranges])
            return
        if report.problem:  # whether it committed shows when its producer is fenced
            self.tell(report.problem)
            return
        if report.failed:
            self._find_reasons(producers, slot, report)
            return
        self._sequences[number] = dict(report.sequences)
        for each in report.ranges:
            where = each.anchor.topic, each.anchor.partition
            partition = next(e.source for e in slot.ranges if e.source == where)
            self.records += each.read
            self.positions.advance(partition, each.anchor)

    def _find_reasons(self, producers: SlotProducers, slot: SlotWork, report: SlotReport) -> None:
        """Find why SQL fails on records: the next batch takes them as poison records."""
        for number, offset in report.failed:
            work = slot.ranges[number]
            found = record_at(producers.connected, slot.clusters, work, offset)
            try:
                record = self.positions.process.run(found)
            except OutsideLog:
                return  # retention took it meanwhile, which the next batch finds too
            reason = _GONE if record is None else self.job.reason(slot, work, record)
            self.limits.poison(work.source, offset, reason)

    def _slot(self, producers: SlotProducers, slot: int, ranges: tuple[RangeWork, ...]) -> SlotWork:
        return SlotWork(
            producers.clusters,
            self.transform,
            producers.identities[slot],
            ranges,
            self.counts(),
            self._sequences.get(slot, {}),
        )
