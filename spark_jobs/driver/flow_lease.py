"""Hold a flow for this driver: take and renew its lease, read what operators want."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from replication.client.moment import Moment
from replication.clock import now_ms
from replication.errors import ReplicationError
from replication.model import Choice, Desired, FlowState, TopicPartition
from replication.state import (
    PRODUCERS_TOPIC,
    Anchor,
    BatchRun,
    Claim,
    Control,
    Decision,
    Fencing,
    FlowStatus,
    Intent,
    NameDecision,
    ProducerEntry,
    TaskReport,
    anchors_topic,
    status_topic,
)
from replication.supervision.driver_lease import (
    WATCH_MS,
    Take,
    check_lease,
    decide_lease,
    keep_lease,
)
from spark_jobs.driver.fencing_probe import probe_target
from spark_jobs.process.identity import holder_of, new_status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from replication.adapters.topics.state_store import StateStore
    from replication.adapters.topics.state_tail import StateTail
    from replication.settings.flow_settings import Flow
    from replication.state import Stored
    from spark_jobs.driver.cluster_watch import ClusterWatch

BEAT_S = 1.0
_POLL_MS = 200  # between polls while another driver may be alive

log = structlog.get_logger()


class FlowLease:
    """One flow's records in the status topic of its target.

    Nothing is written while ``clusters`` sees that the target's address leads to another cluster.
    """

    def __init__(self, flow: Flow, store: StateStore, clusters: ClusterWatch) -> None:
        self.status = new_status(flow.name)
        self.desired = Desired.RUN
        self.missing_guarantees = ""  # guarantees that appends need and the target lacks
        self.probe_problem = ""  # why that is not known
        self.is_desired_lost = False  # it was stored, as other records show
        self._has_intent = False
        self.last_good_ms = 0  # when the last run ended that copied all, of a batch flow
        self._good_ms: dict[str, int] = {}  # when a run of each background task last ended well
        self._probed: dict[str, Fencing] = {}  # by cluster id
        self.decisions: dict[TopicPartition, Choice] = {}
        # By topic of the source. Never changed in place: the thread that plans iterates over it.
        self.name_decisions: Mapping[str, NameDecision] = {}
        self.clusters = clusters
        self._flow = flow
        self._topic = status_topic(flow.source)
        self._store = store
        self._tail: StateTail | None = None
        self._beat_at = 0.0
        self._written: Moment | None = None  # when the last beat was
        self._ended = (-1, False, 0.0)  # the epoch that we ended, whether the last, and when

    def prepare(self) -> None:
        """Create the state topics. Raises ClusterUnavailable, WrongCluster."""
        self.clusters.require_target()
        self._store.ensure_topics(self._flow.source)
        if self._flow.writes_dead_letters:
            self._store.ensure_dead_letters(self._flow.source)

    def take(self) -> None:
        """Take the lease. Raises FlowTaken; waits for some seconds if another may be alive."""
        if self._tail is not None:
            self._tail.close()
        self._tail = self._store.tail(self._topic)
        first = newest = self._newest(self._tail, None)
        generation = self._known_generation() if newest is None else 0
        begin = time.monotonic()
        while True:
            watched_ms = int((time.monotonic() - begin) * 1000)
            holder = holder_of(newest)
            decision = decide_lease(first, newest, watched_ms, holder, generation)
            if isinstance(decision, Take):
                break
            time.sleep(min(decision.for_ms, _POLL_MS) / 1000)
            newest = self._newest(self._tail, newest)
        was_paused = newest is not None and newest.state == FlowState.PAUSED
        if not self._has_intent and (generation > 0 or was_paused):
            # To copy although somebody paused the flow is worse than to wait for an answer.
            self.desired, self.is_desired_lost = Desired.PAUSE, True
            log.warning("desired state lost; the flow stays paused", flow=self._flow.name)
        self._claim(self._tail, decision.generation)

    def _known_generation(self) -> int:
        """Return the highest generation of the flow that its anchors and the registry name."""
        records = self._store.read_all((anchors_topic(self._flow.source), PRODUCERS_TOPIC))
        known = (each for each in records if isinstance(each, Anchor | Claim | ProducerEntry))
        return max((e.generation for e in known if e.flow == self._flow.name), default=0)

    def probe_fencing(self) -> None:
        """Find out whether the target fences: from the stored result, or by one probe a cluster.

        Where the probe fails, the target is treated as Apache Kafka until the next start.
        """
        if self._flow.copying.delivery not in {"auto", "append"}:
            return  # these modes do not rely on fencing
        try:
            cluster = self._store.cluster_id()
            if cluster not in self._probed:
                self._probe(cluster)
            self.missing_guarantees = self._probed[cluster].lacks
        except ReplicationError as problem:
            self.probe_problem = f"fencing probe on {self._flow.target} failed: {problem}"
            log.warning(self.probe_problem, flow=self._flow.name)

    def _probe(self, cluster: str) -> None:
        self._store.ensure_probe()
        result = Fencing(cluster, probe_target(self._flow), self._flow.name, now_ms())
        self._store.write(self._topic, result)
        self._probed[cluster] = result
        log.info("fencing probe finished", flow=self._flow.name, missing_guarantees=result.lacks)

    def poll(self) -> None:
        """Read new records of the status topic. Raises FlowTaken: another driver has the flow."""
        try:
            records = self._tail.poll() if self._tail is not None else []
        except ReplicationError:
            return  # a target that does not answer ends no lease; the store logs it
        for status in self._mine(records):
            keep_lease(self.status, status)

    def beat(self, **changes: Any) -> None:
        """Write the status once a second, or at once when the state changes.

        After a pause, in which another driver may have taken the lease, it reads to the end before.
        Raises FlowTaken.
        """
        moment = time.monotonic()
        if changes["state"] == self.status.state and moment - self._beat_at < BEAT_S:
            return
        if not self._may_write():
            return
        self._beat_at, self._written = moment, Moment.now()
        self.status = replace(self.status, beat_ms=now_ms(), **changes)
        self._post(self.status)

    def _may_write(self) -> bool:
        paused = self._written is not None and self._written.elapsed_s() * 1000 > WATCH_MS
        if not paused or self._tail is None:
            return True
        try:
            records = self._tail.catch_up()
        except ReplicationError:
            return False  # the next beat tries again
        for status in self._mine(records):
            keep_lease(self.status, status)
        return True

    def report(self, report: TaskReport) -> None:
        """Write the report of a background task; a good run of an earlier driver stays in it."""
        self._good_ms[report.name] = report.good_ms or self._good_ms.get(report.name, 0)
        self._post(replace(report, good_ms=self._good_ms[report.name]))

    def write_run(self, run: BatchRun) -> None:
        """Write how the run of a batch flow ended. Raises ClusterUnavailable."""
        good_ms = self.last_good_ms if run.problem else run.ended_ms
        self._store.write(self._topic, replace(run, good_ms=good_ms))

    def end_epoch(self, epoch: int, *, last: bool = False) -> None:
        """Write the control record that ends the epoch; again every second, in case one is lost.

        After the ``last`` epoch no unit keeps copying.
        """
        moment = time.monotonic()
        if (epoch, last) == self._ended[:2] and moment - self._ended[2] < BEAT_S:
            return
        self._ended = (epoch, last, moment)
        control = Control(self._flow.name, self.status.generation, epoch, last)
        self._post(control)

    def _post(self, record: Stored) -> None:
        if not self.clusters.target_problem:
            self._store.post(self._topic, record)

    @property
    def ended(self) -> int:
        """Return the newest epoch that we ended; the next one has a higher number."""
        return max(0, self._ended[0])

    @property
    def write_problem(self) -> str:
        """Return why the last status was not written; empty: it was."""
        return self.clusters.target_problem or self._store.last_error or ""

    def close(self) -> None:
        """Send what is queued, and close the connections."""
        if self._tail is not None:
            self._tail.close()
        self._store.close()

    def _claim(self, tail: StateTail, generation: int) -> None:
        self.status = replace(self.status, generation=generation, beat_ms=now_ms())
        self._store.write(self._topic, self.status)
        check_lease(self.status, self._mine(tail.catch_up()))

    def _newest(self, tail: StateTail, known: FlowStatus | None) -> FlowStatus | None:
        return next(reversed(self._mine(tail.catch_up())), known)

    def _mine(self, records: list[Stored]) -> list[FlowStatus]:
        """Return the flow's statuses; keep its newest intent and its decisions."""
        statuses = []
        for each in records:
            if isinstance(each, FlowStatus) and each.flow == self._flow.name:
                statuses.append(each)
            elif isinstance(each, Fencing):
                self._probed[each.cluster] = each
            elif isinstance(each, Intent) and each.flow == self._flow.name:
                self.desired, self._has_intent = Desired(each.desired), True
                self.is_desired_lost = False
            elif isinstance(each, BatchRun) and each.flow == self._flow.name:
                self.last_good_ms = each.good_ms
            elif isinstance(each, TaskReport) and each.flow == self._flow.name:
                self._good_ms[each.name] = max(self._good_ms.get(each.name, 0), each.last_good_ms)
            elif isinstance(each, Decision) and each.flow == self._flow.name:
                where = TopicPartition(each.topic, each.partition)
                self.decisions[where] = Choice(each.state, each.position, each.choice)
            elif isinstance(each, NameDecision) and each.flow == self._flow.name:
                self.name_decisions = {**self.name_decisions, each.topic: each}
        return statuses
