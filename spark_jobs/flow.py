"""One flow of a driver: its lease, its plan, its query and its beat, a tick at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from pyspark.errors import PySparkException

from replication.copier.spec import UnitSpec
from replication.errors import ReplicationError
from replication.lease import Take, check_lease, decide_lease, keep_lease
from replication.model import Desired, FlowState
from replication.state import Control, FlowStatus, Intent, status_topic
from spark_jobs.identity import holder_of, new_status
from spark_jobs.query import first_line
from spark_jobs.source import write_plan
from spark_jobs.states import Situation, Step, decide_step, flow_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from replication.adapters.state_store import StateStore, Tail
    from replication.config.model import Flow
    from spark_jobs.appdir import FlowDir
    from spark_jobs.planning import FlowPlan
    from spark_jobs.query import FlowQuery

    Planner = Callable[[], Future[FlowPlan]]
    Starter = Callable[[int, int], FlowQuery]

_BEAT_S = 1.0
_DRAIN_S = 8.0
_FIRST_REST_S = 1.0
_LONGEST_REST_S = 30.0
_HEALED_S = 60.0  # a query that ran for so long starts again at once

log = structlog.get_logger()


@dataclass(slots=True)
class FlowDriver:
    """What the driver knows and does about one flow. Nothing here waits, but ``take``."""

    flow: Flow
    store: StateStore
    directory: FlowDir
    planner: Planner  # begins to look at both clusters, elsewhere
    starter: Starter  # starts a query, given the generation and the number of the attempt
    status: FlowStatus = field(init=False)
    plan: FlowPlan | None = None
    query: FlowQuery | None = None
    attempts: int = 0  # queries started
    lacking: str = ""
    ending: bool = False
    _tail: Tail = field(init=False)
    _desired: Desired = Desired.RUN
    _number: int = 0  # of the plan
    _looking: Future[FlowPlan] | None = None
    _look_at: float = 0.0
    _unplanned: str = ""
    _trouble: str = ""
    _not_running: int = 0
    _rest_s: float = 0.0
    _rested_at: float = 0.0
    _drained_at: float | None = None
    _beat_at: float = 0.0
    _begun_at: float | None = None  # when the query was first seen to copy
    _ended: tuple[int, float] = (-1, 0.0)  # the epoch that we ended, and when we said so

    def __post_init__(self) -> None:
        self.status = new_status(self.flow.name)

    def prepare(self) -> None:
        """Make the state topics and read what is there. Raises ClusterUnavailable."""
        self.store.ensure_topics(self.flow.source)
        self._tail = self.store.tail(status_topic(self.flow.source))

    def take(self) -> None:
        """Take the lease. Raises FlowTaken; waits for some seconds if another may be alive."""
        first = newest = self._newest(None)
        begin = time.monotonic()
        while True:
            watched_ms = int((time.monotonic() - begin) * 1000)
            decision = decide_lease(first, newest, watched_ms, holder_of(newest))
            if isinstance(decision, Take):
                break
            time.sleep(min(decision.for_ms, 200) / 1000)
            newest = self._newest(newest)
        self._claim(decision.generation)

    def _claim(self, generation: int) -> None:
        self.status = replace(self.status, generation=generation, beat_ms=_now_ms())
        self.store.write(status_topic(self.flow.source), self.status)
        mine = [each for each in self._tail.catch_up() if each.flow == self.flow.name]
        check_lease(self.status, [each for each in mine if isinstance(each, FlowStatus)])

    def _newest(self, known: FlowStatus | None) -> FlowStatus | None:
        for each in self._tail.catch_up():
            if isinstance(each, FlowStatus) and each.flow == self.flow.name:
                known = each
            self._heed(each)
        return known

    def tick(self) -> None:
        """Do what is due. Raises FlowTaken when another driver has the flow."""
        self._hear()
        self._look()
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
        self._beat()

    def situation(self) -> Situation:
        """Return what is the case now."""
        query, moment = self.query, time.monotonic()
        alive = query is not None and query.alive()
        draining = self._drained_at is not None
        return Situation(
            desired=self._desired,
            ending=self.ending,
            query=query is not None,
            alive=alive,
            begun=query is not None and query.epoch() is not None,
            idle=query is not None and draining and query.idle(),
            draining=draining,
            overdue=self._drained_at is not None and moment - self._drained_at > _DRAIN_S,
            planned=self.plan is not None,
            partitions=len(self.plan.partitions) if self.plan else 0,
            not_running=self._not_running,
            rested=moment >= self._rested_at,
            lacking=self.lacking,
            unplanned=self._unplanned,
            trouble=self._trouble,
        )

    def _hear(self) -> None:
        try:
            news = self._tail.poll()
        except ReplicationError:
            return  # the store's trouble tells it; units and query go on
        for each in news:
            if isinstance(each, FlowStatus) and each.flow == self.flow.name:
                keep_lease(self.status, each)
            self._heed(each)

    def _heed(self, each: object) -> None:
        if isinstance(each, Intent) and each.flow == self.flow.name:
            self._desired = Desired(each.desired)

    def _look(self) -> None:
        if self._looking is None:
            if time.monotonic() >= self._look_at and not self.ending:
                self._looking = self.planner()
        elif self._looking.done():
            looking, self._looking = self._looking, None
            self._look_at = (
                time.monotonic() + self.flow.copying.refresh_topics_every.total_seconds()
            )
            self._learn(looking)

    def _learn(self, looking: Future[FlowPlan]) -> None:
        try:
            plan = looking.result()
        except ReplicationError as error:
            self._say_once(str(error))
            return
        self._unplanned = ""
        for note in plan.notes:
            log.info("topics", flow=self.flow.name, did=note)
        if self.plan is None or plan.partitions != self.plan.partitions:
            self._adopt(plan)

    def _say_once(self, reason: str) -> None:
        if reason != self._unplanned:
            log.warning("cannot look at the clusters", flow=self.flow.name, reason=reason)
        self._unplanned = reason

    def _adopt(self, plan: FlowPlan) -> None:
        self.plan = plan
        self._number += 1
        write_plan(self.directory, self._number, plan.partitions, run=True)
        count = len(plan.partitions)
        log.info("plan", flow=self.flow.name, number=self._number, partitions=count)

    def _start(self) -> None:
        if self.plan is None:
            return
        self.attempts += 1
        write_plan(self.directory, self._number, self.plan.partitions, run=True)
        try:
            self.query = self.starter(self.status.generation, self.attempts)
        except PySparkException as error:
            self._fail(f"starting the query: {first_line(error)}", 0.0)
        else:
            log.info("copying starts", flow=self.flow.name, generation=self.status.generation)

    def _watch(self) -> None:
        """Read the newest figures; end an epoch that follows an old plan."""
        if self.query is None:
            return
        if figures := self.query.figures():
            self._not_running = figures["not_running"]
            self._trouble = figures["outcome"] or ""
            log.info("epoch", flow=self.flow.name, **figures)
        running = self.query.epoch()
        if running is None:
            return
        if self._begun_at is None:
            self._begun_at = time.monotonic()
        if running[1] != self._number:
            self._end_epoch(running[0])

    def _drain(self) -> None:
        if self._drained_at is None:
            self._drained_at = time.monotonic()
            partitions = self.plan.partitions if self.plan else ()
            write_plan(self.directory, self._number, partitions, run=False)
        if self.query is not None and (running := self.query.epoch()) is not None:
            self._end_epoch(running[0])

    def _end_epoch(self, epoch: int) -> None:
        """Tell the units that the epoch is over; say it again every second in case it was lost."""
        moment = time.monotonic()
        if epoch == self._ended[0] and moment - self._ended[1] < _BEAT_S:
            return
        self._ended = (epoch, moment)
        control = Control(self.flow.name, self.status.generation, epoch)
        self.store.post(status_topic(self.flow.source), control)

    def _stop(self, now: Situation) -> None:
        query, self.query, self._drained_at, self._begun_at = self.query, None, None, None
        if query is None:
            return
        if not now.alive:
            self._fail(f"the query ended: {query.problem()}", time.monotonic() - query.started)
        else:
            self._trouble = ""
            log.info("copying ends", flow=self.flow.name, clean=now.idle)
        self._not_running = 0
        query.stop()

    def _fail(self, reason: str, lived_s: float) -> None:
        """Remember why there is no query, and rest: longer each time, unless it lived long."""
        self._trouble = reason
        log.error("copying ended", flow=self.flow.name, reason=reason)
        if lived_s >= _HEALED_S:
            self._rest_s = 0.0
        self._rested_at = time.monotonic() + self._rest_s
        self._rest_s = min(max(self._rest_s * 2, _FIRST_REST_S), _LONGEST_REST_S)

    def _beat(self) -> None:
        """Write the status every second, and at once when the state changes."""
        now = self.situation()
        state, reason = flow_state(now)
        moment = time.monotonic()
        if state == self.status.state and moment - self._beat_at < _BEAT_S:
            return
        self._beat_at = moment
        if state != self.status.state:
            log.info("state", flow=self.flow.name, state=str(state), reason=reason)
        running = self.query.epoch() if self.query else None
        self.status = replace(
            self.status,
            state=str(state),
            reason=reason,
            beat_ms=_now_ms(),
            epoch=running[0] if running else 0,
            units=self.flow.copying.units,
            partitions=now.partitions,
            not_running=now.not_running,
        )
        self.store.post(status_topic(self.flow.source), self.status)

    def copies_since(self, seconds: float) -> bool:
        """Say whether the present query has been copying for so long."""
        return self._begun_at is not None and time.monotonic() - self._begun_at >= seconds

    @property
    def done(self) -> bool:
        """Say whether it has ended, after ``ending`` was set."""
        return self.query is None and self.status.state == FlowState.STOPPED

    def close(self) -> None:
        """Send what is waiting."""
        self._tail.close()
        self.store.close()


def template(flow: Flow, generation: int) -> UnitSpec:
    """Return what all units of a flow have in common."""
    copying = flow.copying
    return UnitSpec(
        flow=flow.name,
        source_alias=flow.source,
        target_alias=flow.target,
        unit=0,
        generation=generation,
        epoch=0,
        epoch_s=copying.epoch / timedelta(seconds=1),
        partitions=(),
        source=dict(flow.clients.source_consumer),
        target=dict(flow.clients.target_producer),
        isolation=copying.isolation,
        buffer_bytes=copying.buffer_bytes,
        anchor_every_s=copying.anchor_every / timedelta(seconds=1),
        start=copying.start,
        client_rack=copying.client_rack,
    )


def _now_ms() -> int:
    return int(time.time() * 1000)
