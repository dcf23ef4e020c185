"""Starts, watches and ends the queries of a flow, one after the other; never blocks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import structlog
from pyspark.errors import PySparkException

from replication.supervision.flow_figures import FlowCounters
from spark_jobs.budget.unit_count import EpochLoad
from spark_jobs.driver.flow.epoch_stall import EpochStall
from spark_jobs.driver.flow.flow_query import first_line
from spark_jobs.driver.flow.query_pauses import QueryPauses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from replication.settings.flow_settings import Flow
    from spark_jobs.driver.flow.flow_query import FlowQuery
    from spark_jobs.driver.flow_lease import FlowLease
    from spark_jobs.planning.topic_watcher import TopicWatcher

    Starter = Callable[[int, int, int], FlowQuery]

_DRAIN_S = 4.0  # Ctrl-C has ten seconds for everything
_LOST_SLOTS = (
    "its units wait: Spark has fewer task slots than they need; check the Spark cluster for "
    "executors that were lost, or lower tasks.max"
)

log = structlog.get_logger()


class QueryCycle:
    """The present query of a flow, if there is one, and what was seen of those before it.

    ``starter`` starts one, given the generation, the number of the attempt and the last epoch
    of the query before it.
    """

    def __init__(
        self, flow: Flow, lease: FlowLease, topic_watcher: TopicWatcher, starter: Starter
    ) -> None:
        self.query: FlowQuery | None = None
        self.slot_shortage = ""  # why it cannot start, or its units wait: too few slots
        self.tally = FlowCounters()
        self.problem = ""
        self.not_running = 0
        self.hands_over = False  # the next query is to have another number of units
        self.pauses = QueryPauses()
        self._flow = flow
        self._lease = lease
        self._topic_watcher = topic_watcher
        self._starter = starter
        self._drained_at: float | None = None
        self._load: EpochLoad | None = None
        self._stall = EpochStall()
        self._begun_at: float | None = None  # when the query was first seen to copy

    def follow(self, flow: Flow) -> None:
        """Copy by edited settings; another number of units needs another query."""
        if self.query is not None and flow.copying.units != self._flow.copying.units:
            self.hands_over = True
        self._flow = flow

    def take_load(self) -> EpochLoad | None:
        """Return what the units used in an epoch that has ended, once."""
        load, self._load = self._load, None
        return load

    @property
    def copies(self) -> bool:
        """Whether there is something that units copy."""
        return bool(self._topic_watcher.copied)

    def copies_since(self, seconds: float) -> bool:
        """Return whether the present query has been copying for that long."""
        return self._begun_at is not None and time.monotonic() - self._begun_at >= seconds

    @property
    def draining(self) -> bool:
        return self._drained_at is not None

    @property
    def overdue(self) -> bool:
        """Whether it has been draining for too long."""
        return self._drained_at is not None and time.monotonic() - self._drained_at > _DRAIN_S

    def stalls(self, *, has_slots: Callable[[], bool]) -> bool:
        """Return whether a process that copies hangs: its epoch does not end.

        Without slots the epoch only waits. ``has_slots`` is called only when the time is over.
        """
        if self.query is None or not self._stall.is_over(self._flow.copying.epoch):
            return False
        if has_slots():
            return True
        self.slot_shortage = _LOST_SLOTS
        self._stall.begin()
        return False

    def lack_slots(self, reason: str) -> None:
        """Start no query, for ``reason``; empty: Spark has slots for all of its units."""
        self.slot_shortage = reason

    def start(self) -> None:
        """Start a query by the newest plan; pause where that fails."""
        attempt = self.tally.query_starts + 1
        self.tally = self.tally._replace(query_starts=attempt)
        self._topic_watcher.write(run=True)
        if problem := self._topic_watcher.space_problem():
            self._wait_for_space(problem)
            return
        try:
            generation = self._lease.status.generation
            self.query = self._starter(generation, attempt, self._lease.ended)
        except PySparkException as error:
            self._fail(f"starting the query: {first_line(error)}", 0.0)
        except OSError as error:
            self._fail(f"starting the query: {error}", 0.0)
        else:
            self._stall.begin()
            log.info("query started", flow=self._flow.name, attempt=attempt)

    def watch(self) -> None:
        """Read the newest figures; end an epoch that follows an old plan."""
        if self.query is None:
            return
        if figures := self.query.figures():
            self.slot_shortage = ""
            self.not_running = figures["not_running"]
            self.problem = figures["outcome"] or ""
            self.tally = self.tally.plus(figures)
            self._load = self._load_of(figures)
            log.info("epoch ended", flow=self._flow.name, **figures)
        running = self.query.epoch()
        if self.copies:
            self._stall.see(running)
        else:
            self._stall.begin()
        if running is None:
            return
        if self._begun_at is None:
            self._begun_at = time.monotonic()
        if running[1] != self._topic_watcher.number:
            self._lease.end_epoch(running[0])

    def drain(self) -> None:
        """Let the running epoch end early, and no other begin."""
        if self._drained_at is None:
            self._drained_at = time.monotonic()
            self._topic_watcher.write(run=False)
        if self.query is not None and (running := self.query.epoch()) is not None:
            self._lease.end_epoch(running[0], last=True)

    def stop(self, *, alive: bool, idle: bool) -> None:
        """Stop the query. One that was not ``alive`` has failed; ``idle``: its units had ended."""
        query, self.query, self._drained_at, self._begun_at = self.query, None, None, None
        self.hands_over = False
        if query is None:
            return
        if alive:
            self.problem = ""
            log.info("query ended", flow=self._flow.name, clean=idle)
        else:
            self._fail(f"the query ended: {query.problem()}", time.monotonic() - query.started)
        self.not_running = 0
        query.stop()

    def _load_of(self, figures: Mapping[str, Any]) -> EpochLoad:
        waits = ("takeovers", "not_running", "source_throttled_ms", "target_throttled_ms",
                 "backed_off_to", "outcome")  # fmt: skip
        return EpochLoad(
            figures["busiest_core"],
            figures["cores"],
            len(self._topic_watcher.copied),
            is_typical=not any(figures[each] for each in waits) and not self.hands_over,
        )

    def _wait_for_space(self, problem: str) -> None:
        """Keep the reason and look again soon."""
        if problem != self.problem:
            log.error("query not started", flow=self._flow.name, reason=problem)
        self.problem = problem
        self.pauses.begin_without_space()

    def _fail(self, reason: str, lived_s: float) -> None:
        """Keep the reason and pause."""
        self.problem = self._topic_watcher.space_problem() or reason
        log.error("query failed", flow=self._flow.name, reason=self.problem)
        self.pauses.begin(lived_s)
