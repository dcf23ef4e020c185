"""Runs one transform of a flow in a thread of the driver: batch after batch, until it is stopped.

A batch is a bounded Spark job with one task a slot. Where it begins and ends is decided here, from
the anchors on the target, so a job is repeated or resumed exactly. Between batches nothing is open.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from replication.clock import now_ms
from replication.errors import ConfigError, ReplicationError
from spark_jobs.transform.point_record import point_now
from spark_jobs.transform.run.batch_plan import BatchLimits, plan_batch
from spark_jobs.transform.run.run_positions import RunPositions
from spark_jobs.transform.run.slot_batches import SlotBatches
from spark_jobs.transform.run.target_partitions import TargetPartitions
from spark_jobs.transform.slot_producers import SlotProducers
from spark_jobs.transform.sql_errors import job_reason
from spark_jobs.transform.start_record import (
    definition_of,
    goes_on,
    lost_position,
    start_now,
    with_more,
)
from spark_jobs.transform.task.task_process import TaskProcess

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.model import PartitionPlan, TopicPartition
    from replication.settings.transform_settings import TopicTransform
    from spark_jobs.transform.run.run_setting import Job, TransformRunContext

_PAUSE_S = 0.2  # between two looks at the ends of partitions
_RETRY_S = 2.0
_END_S = 10.0  # so long the target is waited for at the end

log = structlog.get_logger()


@dataclass(slots=True)
class TransformRun:
    """One transform, from its start to its stop."""

    setting: TransformRunContext
    number: int
    transform: TopicTransform
    problem: str = ""  # why nothing is transformed now
    _plans: Mapping[TopicPartition, PartitionPlan] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _process: TaskProcess = field(default_factory=TaskProcess)
    _producers: SlotProducers | None = None
    _last: SlotProducers | None = None  # those of the last batch, be it in doubt
    _definition: str = ""
    _limits: BatchLimits = field(init=False)
    _job: Job = field(init=False)
    _counts: TargetPartitions = field(init=False)
    _positions: RunPositions = field(init=False)
    _batches: SlotBatches = field(init=False)

    def __post_init__(self) -> None:
        self._limits = BatchLimits(self.transform.batch_records)
        self._job = self.setting.job(self.transform, self.number)
        self._counts = TargetPartitions(self.setting.partitions, self.transform.route_topics)
        self._positions = RunPositions(self.setting.flow, self._process)
        self._batches = SlotBatches(
            self._job,
            self.transform,
            self._limits,
            self._positions,
            self._partition_counts,
            self._tell,
        )

    @property
    def halted(self) -> dict[TopicPartition, str]:
        """Partitions that wait, and why."""
        return self._positions.halted

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
        return len(self._plans if self.search else self.reasons)

    @property
    def search(self) -> str:
        """That a record is looked for on which a batch hangs; empty: none is. It ends by itself."""
        return self._batches.search

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
        self.end()
        self.close()

    def end(self) -> None:
        """Let the anchors say that no task may append any more; nothing if that cannot be said."""
        producers, partitions = self._last, [*self._positions.anchors]
        if producers is None or not partitions:
            return
        try:
            self._process.run(asyncio.wait_for(producers.end(partitions), _END_S))
        except (ReplicationError, TimeoutError) as error:
            flow = self.setting.flow.name
            log.warning("transform did not end cleanly", flow=flow, reason=str(error))

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
        except (ReplicationError, PySparkException, Py4JError, ConnectionError) as error:
            self._producers = None
            self._report(str(error) if isinstance(error, ReplicationError) else job_reason(error))
            return _RETRY_S
        except Exception as error:  # noqa: BLE001 - the thread goes on, and says what happened
            self._producers = None
            self._report(f"internal error: {type(error).__name__}: {error}")
            return _RETRY_S
        return 0.0 if moved else _PAUSE_S

    def _report(self, problem: str) -> None:
        if problem and problem != self.problem:
            log.error("transform failed", flow=self.setting.flow.name, reason=problem)
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
        self._positions.follow(producers.anchors)
        self._batches.forget()
        self._producers = self._last = producers
        flow, line = self.setting.flow.name, self.transform.first_line
        log.info("transform started", flow=flow, line=line, topics=self.transform.pattern)

    def _round(self) -> bool:
        """Place new partitions, and run a batch if records wait; return whether one was run."""
        producers = self._producers
        plans = self._plans
        if producers is None or not plans:
            return False
        self._place(producers, plans)
        self._batches.lose_outside(producers)
        self._note_point(producers)
        running = self._positions.running(plans)
        self._limits.forget_others(running)
        ends = self.setting.ends(running) if running else {}
        slots = plan_batch(plans, running, ends, self._limits, producers.slots)
        if not slots:
            return False
        self._note_start(producers, ())
        try:
            self._batches.run(producers, slots)
        finally:
            if self._batches.in_doubt:
                self._producers = None
        return True

    def _place(
        self, producers: SlotProducers, plans: Mapping[TopicPartition, PartitionPlan]
    ) -> None:
        unplaced = self._positions.unplaced(plans)
        if not unplaced:
            return
        self._partition_counts()  # where a topic is missing, nothing is placed
        known = {**producers.anchors, **self._positions.anchors}
        placed = self._positions.place(producers, [plans[each] for each in sorted(unplaced)])
        self._note_start(producers, [e for e in placed if lost_position(known.get(e), placed[e])])

    def _note_start(self, producers: SlotProducers, anew: Collection[TopicPartition]) -> None:
        """Note before the first batch since when the transform works as it works now."""
        known, counts = producers.start, self._partition_counts()
        now = start_now(
            self.setting.flow.name, self.number, self._definition, self._positions.anchors.values()
        )
        sizes = {} if known is None else {topic: len(each) for topic, each in known.targets.items()}
        same = all(sizes.get(topic, count) == count for topic, count in counts.items())
        if known is None or not same or not goes_on(known, now, anew):
            self._process.run(producers.begin(now, counts))
        elif (more := with_more(known, now)) != known or counts.keys() - sizes.keys():
            self._process.run(producers.begin(more, counts))

    def _note_point(self, producers: SlotProducers) -> None:
        """Note which offsets of both sides belong together, if it is time to."""
        anchors = {**producers.anchors, **self._positions.anchors}
        wall_ms = now_ms()
        point = point_now(producers.start, anchors, producers.point, wall_ms)
        if point is None or producers.start is None:
            return
        deleted = producers.start.targets.keys() - self._partition_counts().keys()
        if not deleted:
            self._process.run(producers.note(point))

    def _partition_counts(self) -> Mapping[str, int]:
        return self._counts.of({each.target.topic for each in self._plans.values()})

    def _tell(self, problem: str) -> None:
        """Report a problem for long enough that operators see it."""
        self._report(problem)
        self._stopping.wait(_RETRY_S)
