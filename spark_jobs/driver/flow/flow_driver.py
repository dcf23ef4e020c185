"""Drives one flow: decides its next step, carries it out, and writes its status; never blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import structlog

from replication.model import Desired
from replication.supervision.flow_figures import FlowFigures
from spark_jobs.driver.flow.flow_remarks import FlowRemarks
from spark_jobs.driver.flow.flow_states import DriverStep, Situation, decide_step, flow_state
from spark_jobs.driver.flow.query_cycle import QueryCycle

if TYPE_CHECKING:
    from typing import Any

    from replication.adapters.followed_file import FileInForce
    from replication.copier.spec import UnitSpec
    from replication.model import TopicPartition
    from replication.settings.flow_settings import Flow
    from spark_jobs.budget.disk_watch import DiskWatch
    from spark_jobs.driver.background_tasks import BackgroundTasks
    from spark_jobs.driver.flow.flow_query import FlowQuery
    from spark_jobs.driver.flow.query_cycle import Starter
    from spark_jobs.driver.flow_lease import FlowLease
    from spark_jobs.metrics.metrics_collector import FlowMetrics
    from spark_jobs.planning.topic_watcher import Planner, TopicWatcher
    from spark_jobs.transform.flow_transforms import FlowTransforms

log = structlog.get_logger()


class FlowWork(NamedTuple):
    """What runs beside a flow's query."""

    tasks: BackgroundTasks
    transforms: FlowTransforms  # of the topics that units do not copy
    disks: DiskWatch


class FlowDriver:
    """Drives one flow by its lease, its plan and its query.

    ``starter`` starts a query, as in QueryCycle; ``beside`` is what runs beside it.
    """

    def __init__(
        self,
        flow: Flow,
        lease: FlowLease,
        topic_watcher: TopicWatcher,
        starter: Starter,
        work: FlowWork,
    ) -> None:
        self.flow = flow
        self.lease = lease
        self.cycle = QueryCycle(flow, lease, topic_watcher, starter)
        self._ending = False
        self._restart = ""  # why the driver starts again after it has ended
        self._file: dict[str, Any] = {}  # which settings are in force: fields of FlowStatus
        self.tasks, self._transforms, self._disks = work
        self._topic_watcher = topic_watcher
        self._remarks = FlowRemarks(flow)

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
        if not self._ending:
            self._topic_watcher.look(self.lease.decisions)
            self._disks.look(self.flow)
            self._topic_watcher.limit(self._disks.limit.bytes_per_second)
        now = self.situation()
        match decide_step(now):
            case DriverStep.START:
                self.cycle.start()
            case DriverStep.DRAIN:
                self.cycle.drain()
            case DriverStep.STOP:
                self.cycle.stop(alive=now.alive, idle=now.idle)
            case DriverStep.NOTHING:
                self.cycle.watch()
        self._transform(now)
        self.tasks.tick(runs=now.may_copy and now.planned)
        self._beat()

    def follow(self, flow: Flow, planner: Planner, settings: UnitSpec) -> None:
        """Copy by edited settings: from the next plan on, or from the next query on."""
        self.cycle.follow(flow)
        self.flow = flow
        self._remarks.follow(flow)
        self._topic_watcher.follow(flow, planner, settings)

    def end(self, restart: str = "") -> None:
        """Copy nothing new and end what is copied: the driver ends.

        ``restart``: why it starts again afterwards; empty: that is not known, or it does not.
        """
        self._ending, self._restart = True, restart or self._restart

    def note_file(self, reading: FileInForce) -> None:
        """Let the status say which settings are in force."""
        self._file = {
            "config": reading.fingerprint,
            "config_read_ms": reading.read_ms,
            "config_problem": reading.problem,
        }

    def situation(self) -> Situation:
        """Return the flow's situation now."""
        cycle, plan = self.cycle, self._topic_watcher
        query = cycle.query
        return Situation(
            desired=self.lease.desired,
            is_desired_lost=self.lease.is_desired_lost,
            ending=self._ending,
            restart=self._restart,
            hands_over=cycle.hands_over,
            query=query is not None,
            alive=query is not None and query.alive(),
            begun=query is not None and self._has_begun(query),
            idle=query is not None and cycle.draining and query.idle(),
            draining=cycle.draining,
            transforming=self._transforms.alive,
            overdue=cycle.overdue,
            planned=plan.number > 0,
            partitions=len(plan.partitions),
            not_running=cycle.not_running + self._transforms.not_running,
            rested=cycle.pauses.over,
            slot_shortage=cycle.slot_shortage,
            wrong_cluster=plan.wrong_cluster,
            unplanned=plan.problem,
            gap=plan.gap,
            gone=self._remarks.gone(plan.absent),
            at_risk=plan.state_at_risk,
            notice=self._remarks.notice(plan, self.lease, cycle.tally, self._disks.limit.reason),
            problem="; ".join(filter(None, (cycle.problem, self._transforms.problem))),
        )

    def _has_begun(self, query: FlowQuery) -> bool:
        """Say whether an epoch was planned; there is none where every topic is transformed."""
        return query.epoch() is not None or (self._transforms.alive and not self.cycle.copies)

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
            should_copy=self.lease.desired is Desired.RUN,
            arrives=not self.lease.write_problem,
            tally=self.cycle.tally,
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

    @property
    def done(self) -> bool:
        """Return whether the flow has ended, after ``end``, and its status says so."""
        if not self._ending or self.cycle.query is not None or self._transforms.alive:
            return False
        return self.lease.status.state == flow_state(self.situation())[0]

    def _beat(self) -> None:
        now = self.situation()
        state, reason = flow_state(now)
        if state != self.lease.status.state:
            log.info("flow state changed", flow=self.flow.name, state=str(state), reason=reason)
        query, throttle = self.cycle.query, self.cycle.tally.throttle
        running = query.epoch() if query else None
        self.lease.beat(
            state=str(state),
            reason=reason,
            epoch=running[0] if running else 0,
            units=self.flow.copying.units,
            partitions=now.partitions,
            not_running=now.not_running,
            source_throttled_ms=throttle.source_ms,
            target_throttled_ms=throttle.target_ms,
            backed_off_to=throttle.backed_off_to,
            disk_limit=self._disks.limit.bytes_per_second,
            starts_again=now.restart != "" and now.query is False,
            **self._file,
        )
