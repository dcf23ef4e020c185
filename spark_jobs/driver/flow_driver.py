"""Drives one flow: starts, watches and ends its query, and writes its status; never blocks."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import structlog
from pyspark.errors import PySparkException

from replication.model import Desired
from replication.supervision.flow_figures import FlowCounters, FlowFigures
from spark_jobs.budget.throttle_notice import throttle_notice
from spark_jobs.budget.unit_count import EpochLoad
from spark_jobs.driver.flow_query import EpochStall, first_line
from spark_jobs.driver.flow_states import Situation, Step, decide_step, flow_state
from spark_jobs.memo import MemoizeLast
from spark_jobs.planning.absent_topics import problem_and_remark
from spark_jobs.planning.delivery_modes import at_least_once_notice, notice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from replication.copier.spec import UnitSpec
    from replication.model import TopicPartition
    from replication.settings.flow_settings import Flow
    from spark_jobs.budget.disk_watch import DiskWatch
    from spark_jobs.driver.background_tasks import BackgroundTasks
    from spark_jobs.driver.flow_lease import FlowLease
    from spark_jobs.driver.flow_query import FlowQuery
    from spark_jobs.metrics.metrics_collector import FlowMetrics
    from spark_jobs.planning.topic_watcher import Planner, TopicWatcher
    from spark_jobs.transform.flow_transforms import FlowTransforms

    Starter = Callable[[int, int, int], FlowQuery]

_DRAIN_S = 4.0  # Ctrl-C has ten seconds for everything
_FIRST_REST_S = 1.0
_LONGEST_REST_S = 30.0
_SPACE_REST_S = 5.0  # between two looks whether there is space for a query
_STALL_EPOCHS = 2  # a task whose worker dies is tried again, for a whole epoch
_STALL_S = 90.0  # beyond these: a takeover at an epoch's begin may take a minute
_HEALED_S = 60.0  # a query that ran this long restarts at once
_LOST_SLOTS = (
    "its units wait: Spark has fewer slots than they need; look for executors that were lost"
)

log = structlog.get_logger()


class Beside(NamedTuple):
    """What runs beside a flow's query."""

    tasks: BackgroundTasks
    transforms: FlowTransforms  # of the topics that units do not copy
    disks: DiskWatch


class FlowDriver:
    """Starts, watches and ends one flow's query.

    ``starter`` starts one, given the generation, the number of the attempt and the last epoch
    of the query before it; ``beside`` is what runs beside it.
    """

    def __init__(
        self,
        flow: Flow,
        lease: FlowLease,
        topic_watcher: TopicWatcher,
        starter: Starter,
        beside: Beside,
    ) -> None:
        self.flow = flow
        self.lease = lease
        self.query: FlowQuery | None = None
        self.slot_shortage = ""  # why it cannot start, or its units wait: too few slots
        self.ending = False
        self.restart = ""  # why the driver starts again after it has ended
        self.file: dict[str, Any] = {}  # which settings are in force: fields of FlowStatus
        self.tasks, self._transforms, self._disks = beside
        self._topic_watcher = topic_watcher
        self._mode_notice = MemoizeLast(notice)
        self._gone = MemoizeLast(partial(problem_and_remark, policies=flow.policies))
        self._starter = starter
        self._tally = FlowCounters()
        self._problem = ""
        self._not_running = 0
        self._rest_s = 0.0
        self._rested_at = 0.0
        self._drained_at: float | None = None
        self._hands_over = False  # the next query is to have another number of units
        self._load: EpochLoad | None = None
        self._stall = EpochStall()
        self._begun_at: float | None = None  # when the query was first seen to copy

    @property
    def plan(self) -> TopicWatcher:
        """What the flow copies now."""
        return self._topic_watcher

    @property
    def transformed(self) -> dict[TopicPartition, str]:
        """The partitions that are transformed, each with why it waits; empty: it does not."""
        reasons = self._transforms.reasons
        return {e.source: reasons.get(e.source, "") for e in self._topic_watcher.transformed}

    def tick(self) -> None:
        """Do what is due. Raises FlowTaken when another driver has the flow."""
        self.lease.poll()
        if not self.ending:
            self._topic_watcher.look(self.lease.decisions)
            self._disks.look(self.flow)
            self._topic_watcher.limit(self._disks.limit.bytes_per_second)
        now = self.situation()
        match decide_step(now):
            case Step.START:
                self._start()
            case Step.DRAIN:
                self._drain()
            case Step.STOP:
                self._stop(now)
            case Step.NOTHING:
                self._watch()
        self._transform(now)
        self.tasks.tick(wanted=now.may_copy and now.planned)
        self._beat()

    def follow(self, flow: Flow, planner: Planner, settings: UnitSpec) -> None:
        """Copy by edited settings: from the next plan on, or from the next query on."""
        if self.query is not None and flow.copying.units != self.flow.copying.units:
            self._hands_over = True
        self.flow = flow
        self._gone = MemoizeLast(partial(problem_and_remark, policies=flow.policies))
        self._topic_watcher.follow(flow, planner, settings)

    def take_load(self) -> EpochLoad | None:
        """Return what the units used in an epoch that has ended, once."""
        load, self._load = self._load, None
        return load

    def situation(self) -> Situation:
        """Return the flow's situation now."""
        query, moment = self.query, time.monotonic()
        draining = self._drained_at is not None
        return Situation(
            desired=self.lease.desired,
            is_desired_lost=self.lease.is_desired_lost,
            ending=self.ending,
            restart=self.restart,
            hands_over=self._hands_over,
            query=query is not None,
            alive=query is not None and query.alive(),
            begun=query is not None and self._has_begun(query),
            idle=query is not None and draining and query.idle(),
            draining=draining,
            overdue=self._drained_at is not None and moment - self._drained_at > _DRAIN_S,
            planned=self._topic_watcher.number > 0,
            partitions=len(self._topic_watcher.partitions),
            not_running=self._not_running + self._transforms.not_running,
            rested=moment >= self._rested_at,
            slot_shortage=self.slot_shortage,
            wrong_cluster=self._topic_watcher.wrong_cluster,
            unplanned=self._topic_watcher.problem,
            gap=self._topic_watcher.gap,
            gone=self._gone(self._topic_watcher.absent)[0],
            at_risk=self._topic_watcher.state_at_risk,
            notice=self._notice(),
            problem="; ".join(filter(None, (self._problem, self._transforms.problem))),
        )

    def _has_begun(self, query: FlowQuery) -> bool:
        """Say whether an epoch was planned; there is none where every topic is transformed."""
        return query.epoch() is not None or (self._transforms.alive and not self._copies)

    @property
    def _copies(self) -> bool:
        """Whether there is something that units copy."""
        return bool(self._topic_watcher.copied)

    def _transform(self, now: Situation) -> None:
        if now.may_copy and now.planned and not now.draining:
            self._transforms.drive(self._topic_watcher.transformed)
        else:
            self._transforms.stop()

    def figures(self, flow_metrics: FlowMetrics) -> FlowFigures:
        """Return the flow's figures, in any thread. ``flow_metrics`` reads its clusters."""
        plan = self._topic_watcher.partitions if self._topic_watcher.number else None
        return FlowFigures(
            source=self.flow.source,
            target=self.flow.target,
            status=self.lease.status,
            wanted=self.lease.desired is Desired.RUN,
            arrives=not self.lease.write_problem,
            tally=self._tally,
            batch_good_ms=self.lease.last_good_ms if self.flow.is_batch else None,
            disk_limit=self._disks.limit.bytes_per_second,
            tasks=self.tasks.figures(),
            plan=plan,
            absent={each.topic: each.state for each in self._topic_watcher.absent},
            copied=flow_metrics.look(
                None if plan is None else [each.source for each in plan],
                self._topic_watcher.absent,
            ),
        )

    def _notice(self) -> str:
        """Return the remark on how partitions are copied, weakest delivery guarantee first."""
        configured = self.flow.copying.delivery == "at-least-once"
        weakest = at_least_once_notice(
            self._tally.at_least_once, self.flow.name, configured=configured
        )
        modes = self._mode_notice(self._topic_watcher.partitions, self.lease.missing_guarantees)
        notices = (
            weakest or modes or self.lease.probe_problem,
            throttle_notice(self._tally.throttle, self.flow.source, self.flow.target),
            self._disks.limit.reason,
            self._topic_watcher.remark,
            self._gone(self._topic_watcher.absent)[1],
        )
        return "; ".join(each for each in notices if each)

    def copies_since(self, seconds: float) -> bool:
        """Return whether the present query has been copying for that long."""
        return self._begun_at is not None and time.monotonic() - self._begun_at >= seconds

    @property
    def restart_reason(self) -> str:
        """Return the problem that only a restart of the driver fixes; empty: none."""
        if (
            accepted := self.lease.clusters.accepted
        ):  # connections to the former cluster may be open
            return f"an operator accepted the cluster with id {accepted} for {self.flow.name}"
        # Only a start creates the state topics and finds out whose copies are on the target.
        if topic := self._topic_watcher.missing_state_topic:
            return f"{topic} was deleted on the target of {self.flow.name}"
        return ""

    def stalls(self, *, has_slots: Callable[[], bool]) -> bool:
        """Return whether a process that copies hangs: its epoch does not end.

        Without slots the epoch only waits. ``has_slots`` is called only when the time is over.
        """
        epoch_s = self.flow.copying.epoch / timedelta(seconds=1)
        if self.query is None or self._stall.seconds <= _STALL_EPOCHS * epoch_s + _STALL_S:
            return False
        if has_slots():
            return True
        self.slot_shortage = _LOST_SLOTS
        self._stall.begin()
        return False

    @property
    def done(self) -> bool:
        """Return whether the flow has ended, after ``ending`` was set, and its status says so."""
        if not self.ending or self.query is not None or self._transforms.alive:
            return False
        return self.lease.status.state == flow_state(self.situation())[0]

    def _start(self) -> None:
        attempt = self._tally.query_starts + 1
        self._tally = self._tally._replace(query_starts=attempt)
        self._topic_watcher.write(run=True)
        if problem := self._topic_watcher.space_problem():
            self._wait_for_space(problem)
            return
        try:
            generation = self.lease.status.generation
            self.query = self._starter(generation, attempt, self.lease.ended)
        except PySparkException as error:
            self._fail(f"starting the query: {first_line(error)}", 0.0)
        except OSError as error:
            self._fail(f"starting the query: {error}", 0.0)
        else:
            self._stall.begin()
            log.info("query started", flow=self.flow.name, attempt=attempt)

    def _watch(self) -> None:
        """Read the newest figures; end an epoch that follows an old plan."""
        if self.query is None:
            return
        if figures := self.query.figures():
            self.slot_shortage = ""
            self._not_running = figures["not_running"]
            self._problem = figures["outcome"] or ""
            self._tally = self._tally.plus(figures)
            self._load = self._load_of(figures)
            log.info("epoch", flow=self.flow.name, **figures)
        running = self.query.epoch()
        if self._copies:
            self._stall.see(running)
        else:
            self._stall.begin()
        if running is None:
            return
        if self._begun_at is None:
            self._begun_at = time.monotonic()
        if running[1] != self._topic_watcher.number:
            self.lease.end_epoch(running[0])

    def _load_of(self, figures: Mapping[str, Any]) -> EpochLoad:
        waits = ("takeovers", "not_running", "source_throttled_ms", "target_throttled_ms",
                 "backed_off_to", "outcome")  # fmt: skip
        return EpochLoad(
            figures["busiest_core"],
            figures["cores"],
            len(self._topic_watcher.copied),
            is_typical=not any(figures[each] for each in waits) and not self._hands_over,
        )

    def _drain(self) -> None:
        if self._drained_at is None:
            self._drained_at = time.monotonic()
            self._topic_watcher.write(run=False)
        if self.query is not None and (running := self.query.epoch()) is not None:
            self.lease.end_epoch(running[0], last=True)

    def _stop(self, now: Situation) -> None:
        query, self.query, self._drained_at, self._begun_at = self.query, None, None, None
        self._hands_over = False
        if query is None:
            return
        if now.alive:
            self._problem = ""
            log.info("query ended", flow=self.flow.name, clean=now.idle)
        else:
            self._fail(f"the query ended: {query.problem()}", time.monotonic() - query.started)
        self._not_running = 0
        query.stop()

    def _wait_for_space(self, problem: str) -> None:
        """Keep the reason and look again soon; the pauses of failures begin anew after that."""
        if problem != self._problem:
            log.error("query not started", flow=self.flow.name, reason=problem)
        self._problem, self._rest_s = problem, 0.0
        self._rested_at = time.monotonic() + _SPACE_REST_S

    def _fail(self, reason: str, lived_s: float) -> None:
        """Keep the reason and pause: longer each time, unless the query had run for long."""
        self._problem = self._topic_watcher.space_problem() or reason
        log.error("query failed", flow=self.flow.name, reason=self._problem)
        if lived_s >= _HEALED_S:
            self._rest_s = 0.0
        self._rested_at = time.monotonic() + self._rest_s
        self._rest_s = min(max(self._rest_s * 2, _FIRST_REST_S), _LONGEST_REST_S)

    def _beat(self) -> None:
        now = self.situation()
        state, reason = flow_state(now)
        if state != self.lease.status.state:
            log.info("state", flow=self.flow.name, state=str(state), reason=reason)
        running = self.query.epoch() if self.query else None
        self.lease.beat(
            state=str(state),
            reason=reason,
            epoch=running[0] if running else 0,
            units=self.flow.copying.units,
            partitions=now.partitions,
            not_running=now.not_running,
            source_throttled_ms=self._tally.throttle.source_ms,
            target_throttled_ms=self._tally.throttle.target_ms,
            backed_off_to=self._tally.throttle.backed_off_to,
            disk_limit=self._disks.limit.bytes_per_second,
            starts_again=now.restart != "" and now.query is False,
            **self.file,
        )
