"""A driver's hold on a flow: the lease, the beat that keeps it, and what people ask for."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from replication.errors import ReplicationError
from replication.model import Choice, Desired, TopicPartition
from replication.state import Control, Decision, Fencing, FlowStatus, Intent, status_topic
from replication.supervision.driver_lease import Take, check_lease, decide_lease, keep_lease
from spark_jobs.driver.fencing_probe import ask_target
from spark_jobs.process.identity import holder_of, new_status

if TYPE_CHECKING:
    from typing import Any

    from replication.adapters.topics.state_store import StateStore
    from replication.adapters.topics.state_tail import StateTail
    from replication.settings.sections import Flow
    from replication.state import Stored, TaskReport

BEAT_S = 1.0
_LOOK_MS = 200  # between looks while another driver may be alive

log = structlog.get_logger()


class FlowLease:
    """One flow's records in the status topic of its target."""

    def __init__(self, flow: Flow, store: StateStore) -> None:
        self.status = new_status(flow.name)
        self.desired = Desired.RUN
        self.lacks = ""  # what the target does not do of what appends rely on
        self.untried = ""  # why that is not known
        self._tried: dict[str, Fencing] = {}  # by cluster
        self.decisions: dict[TopicPartition, Choice] = {}
        self._flow = flow
        self._topic = status_topic(flow.source)
        self._store = store
        self._tail: StateTail | None = None
        self._beat_at = 0.0
        self._ended = (-1, False, 0.0)  # the epoch that we ended, how, and when we said so

    def prepare(self) -> None:
        """Make the state topics. Raises ClusterUnavailable."""
        self._store.ensure_topics(self._flow.source)
        if self._flow.policies.dead_letters:
            self._store.ensure_dead_letters(self._flow.source)

    def take(self) -> None:
        """Take the lease. Raises FlowTaken; waits for some seconds if another may be alive."""
        if self._tail is not None:
            self._tail.close()
        self._tail = self._store.tail(self._topic)
        first = newest = self._newest(self._tail, None)
        begin = time.monotonic()
        while True:
            watched_ms = int((time.monotonic() - begin) * 1000)
            decision = decide_lease(first, newest, watched_ms, holder_of(newest))
            if isinstance(decision, Take):
                break
            time.sleep(min(decision.for_ms, _LOOK_MS) / 1000)
            newest = self._newest(self._tail, newest)
        self._claim(self._tail, decision.generation)

    def try_fencing(self) -> None:
        """Learn whether the target fences: from its record, or by trying, once a cluster.

        Where it cannot be tried, the target is taken for Apache Kafka until the next start.
        """
        if self._flow.copying.delivery not in {"auto", "append"}:
            return  # what is promised then relies on nothing of it
        try:
            cluster = self._store.cluster_id()
            if cluster not in self._tried:
                self._try_on(cluster)
            self.lacks = self._tried[cluster].lacks
        except ReplicationError as problem:
            self.untried = f"fencing probe on {self._flow.target} failed: {problem}"
            log.warning(self.untried, flow=self._flow.name)

    def _try_on(self, cluster: str) -> None:
        self._store.ensure_probe()
        tried = Fencing(cluster, ask_target(self._flow), self._flow.name, _now_ms())
        self._store.write(self._topic, tried)
        self._tried[cluster] = tried
        log.info("fencing probe finished", flow=self._flow.name, missing_guarantees=tried.lacks)

    def hear(self) -> None:
        """Take in what is new. Raises FlowTaken when another driver has the flow."""
        try:
            news = self._tail.poll() if self._tail is not None else []
        except ReplicationError:
            return  # a target that does not answer takes no lease away; the store tells of it
        for each in self._mine(news):
            keep_lease(self.status, each)

    def beat(self, **news: Any) -> None:
        """Write the status if a second has passed, or at once when the state is another."""
        moment = time.monotonic()
        if news["state"] == self.status.state and moment - self._beat_at < BEAT_S:
            return
        self._beat_at = moment
        self.status = replace(self.status, beat_ms=_now_ms(), **news)
        self._store.post(self._topic, self.status)

    def report(self, report: TaskReport) -> None:
        """Write down how a duty went."""
        self._store.post(self._topic, report)

    def end_epoch(self, epoch: int, *, last: bool = False) -> None:
        """Tell the units that the epoch is over; again every second, in case it was lost.

        When it is the ``last`` one no unit copies on after it.
        """
        moment = time.monotonic()
        if (epoch, last) == self._ended[:2] and moment - self._ended[2] < BEAT_S:
            return
        self._ended = (epoch, last, moment)
        control = Control(self._flow.name, self.status.generation, epoch, last)
        self._store.post(self._topic, control)

    @property
    def ended(self) -> int:
        """Return the newest epoch that we ended; the next one has a higher number."""
        return max(0, self._ended[0])

    @property
    def trouble(self) -> str:
        """Say why the last beat did not arrive."""
        return self._store.last_error or ""

    def close(self) -> None:
        """Send what is waiting."""
        if self._tail is not None:
            self._tail.close()
        self._store.close()

    def _claim(self, tail: StateTail, generation: int) -> None:
        self.status = replace(self.status, generation=generation, beat_ms=_now_ms())
        self._store.write(self._topic, self.status)
        check_lease(self.status, self._mine(tail.catch_up()))

    def _newest(self, tail: StateTail, known: FlowStatus | None) -> FlowStatus | None:
        return next(reversed(self._mine(tail.catch_up())), known)

    def _mine(self, news: list[Stored]) -> list[FlowStatus]:
        """Return the flow's statuses; keep its newest intent."""
        statuses = []
        for each in news:
            if isinstance(each, FlowStatus) and each.flow == self._flow.name:
                statuses.append(each)
            elif isinstance(each, Fencing):
                self._tried[each.cluster] = each
            elif isinstance(each, Intent) and each.flow == self._flow.name:
                self.desired = Desired(each.desired)
            elif isinstance(each, Decision) and each.flow == self._flow.name:
                where = TopicPartition(each.topic, each.partition)
                self.decisions[where] = Choice(each.state, each.position, each.choice)
        return statuses


def _now_ms() -> int:
    return int(time.time() * 1000)
