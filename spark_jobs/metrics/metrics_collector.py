"""Reads anchors and end offsets of a flow's two clusters on a scrape, to compute its lag.

A scrape must not wait for a silent cluster: a request that is not answered in time continues in its
thread, and the scrape returns what is known. A later scrape returns the late answer, as of the time
of its request:

    scrape 1   anchors 5    "where does the source end?"   no response in time: no lag
               (it answers: 9)
    scrape 2   anchors 9    "where does the source end?"   no response in time: lag 4, of scrape 1

So end offsets are never compared with anchors that are newer, which would turn any lag into 0; and
of a source that always answers late, every scrape returns the lag, one scrape late.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import structlog

from replication.adapters.topics.anchor_reader import AnchorReader, CopyState
from replication.clock import now_ms
from replication.errors import ReplicationError
from replication.supervision.flow_figures import FlowReading
from replication.supervision.lag import FlowLag, caught_up, flow_lag, with_absent
from replication.supervision.recovery_point import anchored, recovery_point

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from concurrent.futures import Executor, Future

    from replication.model import TopicPartition
    from replication.settings.flow_settings import Flow
    from replication.state import AbsentTopic, Anchor
    from replication.supervision.flow_figures import FlowFigures

    Offsets = Mapping[TopicPartition, int]
    Anchored = Mapping[TopicPartition, Anchor]

PATIENCE_S = 3.0  # for each cluster; Prometheus waits ten seconds
FRESH_S = 1.0  # anchors come about once a second: an earlier scrape gets the same figures
VALID_S = 90.0  # an answer, from its request on: a scrape a minute, and what both clusters take

Answer = TypeVar("Answer")
log = structlog.get_logger()


class Anchors(Protocol):
    """Reads the target; see ``adapters.topics.anchor_reader``."""

    def look(self) -> CopyState: ...


class ScrapedSource(Protocol):
    """Reads the source; see ``adapters.admin.kafka_admin``."""

    def cluster_id(self) -> str: ...

    def end_offsets(self, partitions: Collection[TopicPartition]) -> Offsets: ...


@dataclass(frozen=True, slots=True)
class _ScrapeAnswer(Generic[Answer]):
    """``answer`` is from ``asked_ms``, the time of the request, or later."""

    asked_ms: int
    answer: Answer


class _ScrapeRequest(Generic[Answer]):
    """A request that is repeated after its answer has come; never two at a time."""

    def __init__(self, pool: Executor, subject: str) -> None:
        self._pool = pool
        self._subject = subject
        self._open: tuple[int, Future[Answer]] | None = None  # and when it was sent
        self._newest: _ScrapeAnswer[Answer] | None = None
        self._logged = ""

    def ask(self, work: Callable[[], Answer]) -> _ScrapeAnswer[Answer] | None:
        """Return the newest answer; None: no recent one, or a problem, which is logged once.

        An answer that came between two calls is as old as its request, so a new one is sent.
        """
        self._collect(0)
        if self._open is None:
            self._open = now_ms(), self._pool.submit(work)
        self._collect(PATIENCE_S)
        if self._newest is None or not _is_since(self._newest.asked_ms, VALID_S):
            return None
        return self._newest

    def _collect(self, patience_s: float) -> None:
        """Take the answer to the open request, if it comes in time."""
        if self._open is None:
            return
        asked_ms, pending = self._open
        if not wait([pending], patience_s).done:
            return
        self._open = self._newest = None
        try:
            self._newest = _ScrapeAnswer(asked_ms, pending.result())
        except ReplicationError as problem:
            self._log_once(str(problem))
        else:
            self._logged = ""

    def _log_once(self, problem: str) -> None:
        if problem != self._logged:
            log.warning(
                "metrics incomplete: cluster did not answer", subject=self._subject, reason=problem
            )
        self._logged = problem


class FlowMetrics:
    """What both clusters of one flow report. One thread reads at a time.

    ``source`` creates the source's client, on the first scrape.
    """

    def __init__(
        self, flow: str, target: Anchors, source: Callable[[], ScrapedSource], pool: Executor
    ) -> None:
        self._target = target
        self._source = source
        self._state: _ScrapeRequest[CopyState] = _ScrapeRequest(
            pool, f"{flow}: state on the target"
        )
        self._ends: _ScrapeRequest[tuple[Anchored, Offsets]] = _ScrapeRequest(
            pool, f"{flow}: end offsets of the source"
        )
        self._caught_up: dict[TopicPartition, int] = {}
        self._turn = threading.Lock()
        self._last = FlowReading(0, is_known=False)
        self._copied = CopyState({})

    def look(
        self, plan: Collection[TopicPartition] | None, absent: Iterable[AbsentTopic] = ()
    ) -> FlowReading:
        """Read the partitions of ``plan``; None: all that were copied before.

        ``absent`` are the topics that are not copied any more.
        """
        with self._turn:
            if not _is_since(self._last.now_ms, FRESH_S):
                self._last = self._look(plan, absent)
            return self._last

    def _look(
        self, plan: Collection[TopicPartition] | None, absent: Iterable[AbsentTopic]
    ) -> FlowReading:
        state = self._state.ask(self._target.look)
        if state:
            self._copied = state.answer
        anchors, losses, groups, verification = self._copied
        partitions = anchors.keys() if plan is None else plan
        # After the anchors, and with them, so that lag is not negative.
        ends = self._ends.ask(lambda: (anchors, self._ask_ends(partitions)))
        is_known = ends is not None and state is not None
        lag = self._lag(ends) if ends and is_known else FlowLag()
        # A lag belongs to the anchors that it was computed with, which may be older.
        base = with_absent((ends.answer[0] if ends and is_known else anchors).values(), absent)
        return FlowReading(
            now_ms(),
            state is not None or self._last.is_known,
            anchors,
            losses,
            lag,
            source_answers=ends is not None,
            target_answers=state is not None,
            lag_ms=ends.asked_ms if ends and is_known else self._last.lag_ms,
            point=recovery_point(anchored(base), groups, lag, ends.asked_ms if ends else 0),
            verification=verification,
        )

    def _lag(self, ends_answer: _ScrapeAnswer[tuple[Anchored, Offsets]]) -> FlowLag:
        """Return the lag at the time of the request to the source; the same for the same answer."""
        anchors, ends = ends_answer.answer
        known = [anchor for partition, anchor in anchors.items() if partition in ends]
        lag = flow_lag(known, ends, ends_answer.asked_ms, self._caught_up)
        self._caught_up = caught_up(self._caught_up, lag, ends_answer.asked_ms)
        return lag

    def _ask_ends(self, partitions: Collection[TopicPartition]) -> Offsets:
        if not partitions:
            self._source().cluster_id()  # only to see whether it answers
            return {}
        return self._source().end_offsets(partitions)


class MeasuredFlow(Protocol):
    """A flow whose figures are read; see ``spark_jobs.driver.flow.flow_driver``."""

    flow: Flow

    def figures(self, flow_metrics: FlowMetrics) -> FlowFigures: ...


class MetricsCollector:
    """Reads all flows of a driver at once.

    ``source_of`` creates the client of a flow's source, ``reader_of`` what reads its anchors.
    """

    def __init__(
        self,
        flows: Sequence[MeasuredFlow],
        source_of: Callable[[Flow], ScrapedSource],
        reader_of: Callable[[Flow], AnchorReader],
    ) -> None:
        # Scrapes wait in one pool for requests in another; threads are created when needed.
        self._waiting = ThreadPoolExecutor(len(flows), "metrics")
        requests = ThreadPoolExecutor(2 * len(flows), "cluster")
        self._flows = [
            (each, _flow_metrics(each.flow, source_of, reader_of, requests)) for each in flows
        ]

    def gather(self) -> Iterable[FlowFigures]:
        """Return the figures of all flows."""
        return self._waiting.map(lambda pair: pair[0].figures(pair[1]), self._flows)


def _flow_metrics(
    flow: Flow,
    source_of: Callable[[Flow], ScrapedSource],
    reader_of: Callable[[Flow], AnchorReader],
    pool: Executor,
) -> FlowMetrics:
    return FlowMetrics(flow.name, reader_of(flow), partial(source_of, flow), pool)


def _is_since(moment_ms: int, limit_s: float) -> bool:
    """Return whether ``moment_ms`` is at most ``limit_s`` ago; False if the clock was set back."""
    return 0 <= now_ms() - moment_ms <= limit_s * 1000
