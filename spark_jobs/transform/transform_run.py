"""Runs one transform of a flow in a thread of the driver: batch after batch, until it is stopped.

A batch is a bounded Spark job with one task a slot. Where it begins and ends is decided here, from
the anchors on the target, so a job is repeated or resumed exactly. Between batches nothing is open.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from replication.errors import ClusterUnavailable, ConfigError, ReplicationError
from replication.model import PartitionState
from spark_jobs.transform.batch_plan import BatchLimits, plan_batch
from spark_jobs.transform.placement import Placement
from spark_jobs.transform.point_record import point_now
from spark_jobs.transform.slot_producers import SlotProducers
from spark_jobs.transform.spark_job import JobTooSlow
from spark_jobs.transform.sql_plan import is_about_data, sql_reason
from spark_jobs.transform.start_record import (
    definition_of,
    goes_on,
    lost_position,
    start_now,
    with_more,
)
from spark_jobs.transform.task.range_reader import OutsideLog, record_at
from spark_jobs.transform.task.task_process import TaskProcess
from spark_jobs.transform.task.work import RangeWork, SlotWork

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from replication.model import PartitionPlan, TopicPartition
    from replication.settings.flow_settings import Flow
    from replication.settings.transform_settings import TopicTransform
    from replication.state import Anchor
    from spark_jobs.transform.columns.decoded_batches import DecodedRecords
    from spark_jobs.transform.task.work import Clusters, SlotReport

_PAUSE_S = 0.2  # between two looks at the ends of partitions
_RETRY_S = 2.0
_GONE = "SQL failed on it, and it is not in the source's log any more"
_REFRESH_S = 10.0  # between two looks at the partition counts of target topics

log = structlog.get_logger()


class Job(Protocol):
    """Runs batches; see ``spark_job``."""

    def check(self) -> None: ...

    def run(self, work: Sequence[SlotWork]) -> list[SlotReport]: ...

    def reason(self, slot: SlotWork, work: RangeWork, record: DecodedRecords) -> str: ...


class Setting(NamedTuple):
    """What a run needs of its driver."""

    flow: Flow
    clusters: Clusters
    generation: int
    job: Callable[[TopicTransform, int], Job]  # for a transform, by its number in the flow
    ends: Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]]  # readable, of source
    partitions: Callable[[], Mapping[str, int]]  # of the topics on the target


@dataclass(slots=True)
class TransformRun:
    """One transform, from its start to its stop."""

    setting: Setting
    number: int
    transform: TopicTransform
    problem: str = ""  # why nothing is transformed now
    halted: dict[TopicPartition, str] = field(default_factory=dict)  # partitions that wait, and why
    records: int = 0  # read since the start
    _plans: Mapping[TopicPartition, PartitionPlan] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _process: TaskProcess = field(default_factory=TaskProcess)
    _producers: SlotProducers | None = None
    _anchors: dict[TopicPartition, Anchor] = field(default_factory=dict)
    _sequences: dict[int, dict[TopicPartition, int]] = field(default_factory=dict)
    _counts: Mapping[str, int] = field(default_factory=dict)
    _counted_at: float = 0.0
    _definition: str = ""
    _limits: BatchLimits = field(init=False)
    _job: Job = field(init=False)

    def __post_init__(self) -> None:
        self._limits = BatchLimits(self.transform.batch_records)
        self._job = self.setting.job(self.transform, self.number)

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """Whether it was stopped; it may still be alive."""
        return self._stopping.is_set()

    @property
    def waiting(self) -> int:
        """How many of its partitions are not transformed now."""
        return len(self.reasons)

    @property
    def reasons(self) -> dict[TopicPartition, str]:
        """Why partitions wait, be it for a transform that is wrong as a whole."""
        if self.problem:
            return dict.fromkeys(self._plans, self.problem)
        return {each: reason for each, reason in self.halted.items() if each in self._plans}

    def drive(self, plans: Mapping[TopicPartition, PartitionPlan]) -> None:
        """Transform these partitions from now on; start if it does not run."""
        self._plans = plans
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after the batch that is running."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            pause_s = self._guarded_round()
            self._stopping.wait(pause_s)
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._process.close()

    def _guarded_round(self) -> float:
        """Run one batch; return how long to pause."""
        try:
            self._take()
            moved = self._round()
            self._report("")
        except ConfigError as error:  # the file has to be changed, which restarts the driver
            self._report(str(error))
            return _RETRY_S * 5
        except (ReplicationError, PySparkException, Py4JError) as error:
            self._producers = None
            known = isinstance(error, ReplicationError)
            self._report(str(error) if known else f"Spark: {sql_reason(error)}")
            return _RETRY_S
        except Exception as error:  # noqa: BLE001 - the thread goes on, and says what happened
            self._producers = None
            self._report(f"internal error: {type(error).__name__}: {error}")
            return _RETRY_S
        return 0.0 if moved else _PAUSE_S

    def _report(self, problem: str) -> None:
        if problem and problem != self.problem:
            log.error("transform", flow=self.setting.flow.name, reason=problem)
        self.problem = problem

    def _take(self) -> None:
        """Check the transform, fence former tasks, and read where to go on."""
        if self._producers is not None:
            return
        self._job.check()
        self._definition = definition_of(self.transform)
        connected = self._process.run(self._process.connected(self.setting.clusters))
        producers = SlotProducers(
            self.setting.clusters,
            connected,
            self.setting.generation,
            self.number,
            self.setting.flow.copying.units,
        )
        self._process.run(producers.take())
        self._anchors, self._sequences, self._producers = {}, {}, producers
        flow, line = self.setting.flow.name, self.transform.first_line
        log.info("transform started", flow=flow, line=line, topics=self.transform.pattern)

    def _round(self) -> bool:
        """Place new partitions, and run a batch if records wait; return whether one was run."""
        producers = self._producers
        plans = self._plans
        if producers is None or not plans:
            return False
        self._place(producers, plans)
        self._note_point(producers)
        running = {each: a for each, a in self._anchors.items() if each in plans}
        running = {each: a for each, a in running.items() if each not in self.halted}
        ends = self.setting.ends(running) if running else {}
        slots = plan_batch(plans, running, ends, self._limits, producers.slots)
        if not slots:
            return False
        self._note_start(producers, ())
        self._run_batch(producers, slots)
        return True

    def _place(
        self, producers: SlotProducers, plans: Mapping[TopicPartition, PartitionPlan]
    ) -> None:
        new = plans.keys() - self._anchors.keys() - self.halted.keys()
        again = {each for each in self.halted if self._decided(each, plans)}
        if not new | again:
            return
        self._partition_counts()  # where a topic is missing, nothing is placed
        placement = Placement(self.setting.flow, producers)
        placed = self._process.run(placement.place([plans[each] for each in sorted(new | again)]))
        for where, anchor in placed.items():
            self.halted.pop(where, None)
            if anchor.state != PartitionState.RUNNING:
                self.halted[where] = anchor.reason
            self._anchors[where] = anchor
        known = producers.anchors
        self._note_start(producers, [e for e in placed if lost_position(known.get(e), placed[e])])

    def _note_start(self, producers: SlotProducers, anew: Collection[TopicPartition]) -> None:
        """Note before the first batch since when the transform works as it works now."""
        known, counts = producers.start, self._partition_counts()
        now = start_now(
            self.setting.flow.name, self.number, self._definition, self._anchors.values()
        )
        sizes = {} if known is None else {topic: len(each) for topic, each in known.targets.items()}
        same = all(sizes.get(topic, count) == count for topic, count in counts.items())
        if known is None or not same or not goes_on(known, now, anew):
            self._process.run(producers.begin(now, counts))
        elif (more := with_more(known, now)) != known or counts.keys() - sizes.keys():
            self._process.run(producers.begin(more, counts))

    def _note_point(self, producers: SlotProducers) -> None:
        """Note which offsets of both sides belong together, if it is time to."""
        anchors = {**producers.anchors, **self._anchors}
        now_ms = int(time.time() * 1000)
        point = point_now(producers.start, anchors, producers.point, now_ms)
        if point is None or producers.start is None:
            return
        deleted = producers.start.targets.keys() - self._partition_counts().keys()
        if not deleted:
            self._process.run(producers.note(point))

    def _decided(
        self, where: TopicPartition, plans: Mapping[TopicPartition, PartitionPlan]
    ) -> bool:
        """Say whether an operator has answered for a partition that waits."""
        anchor = self._anchors.get(where)
        if where not in plans or anchor is None or (made := plans[where].decision) is None:
            return False
        at = -1 if anchor.source is None else anchor.source
        return (made.state, made.position) == (anchor.state, at)

    def _run_batch(
        self, producers: SlotProducers, slots: Mapping[int, tuple[RangeWork, ...]]
    ) -> None:
        listed = sorted(slots)
        work = tuple(self._slot(producers, slot, slots[slot]) for slot in listed)
        ranges = {e.source: (e.anchor.source or 0, e.end) for each in work for e in each.ranges}
        try:
            reports = self._job.run(work)
        except PySparkException as error:
            if "OutsideLog" in str(error):
                self._lose(producers, slots)
                return
            if not is_about_data(error):
                raise
            self._limits.failed(ranges, sql_reason(error))
            return
        except JobTooSlow as slow:
            self._limits.failed(ranges, str(slow))
            self._producers = None  # its tasks may still be running
            return
        for number, slot, report in zip(listed, work, reports, strict=True):
            self._learn(producers, number, slot, report)
            if report.ranges:
                self._limits.succeeded({e.source: ranges[e.source] for e in slot.ranges})

    def _learn(
        self, producers: SlotProducers, number: int, slot: SlotWork, report: SlotReport
    ) -> None:
        if report.outside:
            self._lose(producers, {number: slot.ranges})
            return
        if report.problem:
            self._producers = None  # whether it committed shows when its producer is fenced
            self._report(report.problem)
            self._stopping.wait(_RETRY_S)
            return
        if report.failed:
            self._find_reasons(producers, slot, report)
            return
        self._sequences[number] = dict(report.sequences)
        for each in report.ranges:
            where = each.anchor.topic, each.anchor.partition
            partition = next(e.source for e in slot.ranges if e.source == where)
            self._anchors[partition] = each.anchor
            self.records += each.read
            if each.anchor.state != PartitionState.RUNNING:
                self.halted[partition] = each.anchor.reason
                log.error("transform halted", flow=each.anchor.flow, reason=each.anchor.reason)

    def _find_reasons(self, producers: SlotProducers, slot: SlotWork, report: SlotReport) -> None:
        """Find why SQL fails on records: the next batch takes them as poison records."""
        for number, offset in report.failed:
            work = slot.ranges[number]
            found = record_at(producers.connected, slot.clusters, work, offset)
            try:
                record = self._process.run(found)
            except OutsideLog:
                return  # retention took it meanwhile, which the next batch finds too
            reason = _GONE if record is None else self._job.reason(slot, work, record)
            self._limits.poison(work.source, offset, reason)

    def _slot(self, producers: SlotProducers, slot: int, ranges: tuple[RangeWork, ...]) -> SlotWork:
        return SlotWork(
            producers.clusters,
            self.transform,
            producers.identities[slot],
            ranges,
            self._partition_counts(),
            self._sequences.get(slot, {}),
        )

    def _partition_counts(self) -> Mapping[str, int]:
        known = {each.target.topic for each in self._plans.values()}
        is_old = time.monotonic() - self._counted_at > _REFRESH_S
        if is_old or not known <= self._counts.keys():
            self._counts, self._counted_at = self.setting.partitions(), time.monotonic()
        if missing := sorted(known - self._counts.keys()):
            raise ClusterUnavailable(f"the target does not list {missing[0]} yet")
        wanted = known | {*self.transform.route_topics}
        return {name: self._counts[name] for name in wanted if name in self._counts}

    def _lose(self, producers: SlotProducers, slots: Mapping[int, tuple[RangeWork, ...]]) -> None:
        """Go on behind what retention deleted, or halt, by policy; the loss is recorded."""
        placement = Placement(self.setting.flow, producers)
        for each in (each for ranges in slots.values() for each in ranges):
            anchor = self._anchors[each.source]
            found = self._process.run(placement.behind_lost_range(anchor))
            self._anchors[each.source] = found
            if found.state != PartitionState.RUNNING:
                self.halted[each.source] = found.reason
