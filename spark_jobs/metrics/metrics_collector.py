"""Looks at a flow's two clusters for whoever asks for metrics, and only then.

A scrape must not wait for a silent cluster: what is not answered in time goes on in its thread,
meanwhile what is known is told. Later scrapes tell a late answer, as of when it was asked for:

    scrape 1   anchors 5    "where does the source end?"   no response in time: no lag
               (it answers: 9)
    scrape 2   anchors 9    "where does the source end?"   no response in time: lag 4, of scrape 1

So ends meet no anchors that are newer than they, which would make a lag of 0 out of any, and a
source that is always late has its lag told one scrape late, but by each of them.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import structlog

from replication.adapters.topics.anchor_reader import AnchorReader
from replication.errors import ReplicationError
from replication.supervision.flow_figures import Copied
from replication.supervision.lag import FlowLag, caught_up, flow_lag

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from concurrent.futures import Executor, Future

    from replication.model import TopicPartition
    from replication.settings.sections import Flow
    from replication.state import Anchor, Loss
    from replication.supervision.flow_figures import FlowFigures

    Offsets = Mapping[TopicPartition, int]
    Anchored = Mapping[TopicPartition, Anchor]
    Told = tuple[Anchored, tuple[Loss, ...]]

PATIENCE_S = 3.0  # for each cluster; Prometheus waits ten seconds
FRESH_S = 1.0  # anchors come about once a second: whoever asks sooner gets the same answer
VALID_S = 90.0  # an answer, from its question on: a scrape a minute, and what both clusters take

Found = TypeVar("Found")
log = structlog.get_logger()


class Anchors(Protocol):
    """What the target says; see adapters.anchor_reader."""

    def look(self) -> Told: ...


class Source(Protocol):
    """What the source says; see adapters.kafka_admin."""

    def cluster_id(self) -> str: ...

    def end_offsets(self, partitions: Collection[TopicPartition]) -> Offsets: ...


@dataclass(frozen=True, slots=True)
class _ScrapeAnswer(Generic[Found]):
    """``found`` is from ``asked_ms``, when the question was put, or later."""

    asked_ms: int
    found: Found


class _ScrapeRequest(Generic[Found]):
    """Put again when the answer before has come; never twice at once."""

    def __init__(self, pool: Executor, about: str) -> None:
        self._pool = pool
        self._about = about
        self._open: tuple[int, Future[Found]] | None = None  # and when it was put
        self._newest: _ScrapeAnswer[Found] | None = None
        self._said = ""

    def ask(self, work: Callable[[], Found]) -> _ScrapeAnswer[Found] | None:
        """Return the newest answer; None: none of late, or a problem, which is logged once.

        What came while nobody waited is an answer to the question of then, so it is put anew.
        """
        self._hear(0)
        if self._open is None:
            self._open = _now_ms(), self._pool.submit(work)
        self._hear(PATIENCE_S)
        if self._newest is None or not _is_since(self._newest.asked_ms, VALID_S):
            return None
        return self._newest

    def _hear(self, patience_s: float) -> None:
        """Take in the answer to the open question, if there is one in time."""
        if self._open is None:
            return
        asked_ms, answer = self._open
        if not wait([answer], patience_s).done:
            return
        self._open = self._newest = None
        try:
            self._newest = _ScrapeAnswer(asked_ms, answer.result())
        except ReplicationError as problem:
            self._say(str(problem))
        else:
            self._said = ""

    def _say(self, problem: str) -> None:
        if problem != self._said:
            log.warning(
                "metrics incomplete: cluster did not answer", subject=self._about, reason=problem
            )
        self._said = problem


class FlowMetrics:
    """What both clusters of one flow say. Threads take turns.

    ``source`` makes the source's client, which is not needed before somebody asks.
    """

    def __init__(
        self, flow: str, target: Anchors, source: Callable[[], Source], pool: Executor
    ) -> None:
        self._target = target
        self._source = source
        self._told: _ScrapeRequest[Told] = _ScrapeRequest(pool, f"{flow}: state on the target")
        self._ends: _ScrapeRequest[tuple[Anchored, Offsets]] = _ScrapeRequest(
            pool, f"{flow}: end offsets of the source"
        )
        self._caught_up: dict[TopicPartition, int] = {}
        self._turn = threading.Lock()
        self._last = Copied(0, is_known=False)

    def look(self, plan: Collection[TopicPartition] | None) -> Copied:
        """Look at the partitions of ``plan``; None: at all that were copied before."""
        with self._turn:
            if not _is_since(self._last.now_ms, FRESH_S):
                self._last = self._look(plan)
            return self._last

    def _look(self, plan: Collection[TopicPartition] | None) -> Copied:
        told = self._told.ask(self._target.look)
        anchors, losses = told.found if told else (self._last.anchors, self._last.losses)
        wanted = anchors.keys() if plan is None else plan
        # After the anchors, and with them, so that lag is not negative.
        ends = self._ends.ask(lambda: (anchors, self._ask_ends(wanted)))
        return Copied(
            _now_ms(),
            told is not None or self._last.is_known,
            anchors,
            losses,
            self._lag(ends) if ends else FlowLag(),
            source_answers=ends is not None,
            target_answers=told is not None,
        )

    def _lag(self, answer: _ScrapeAnswer[tuple[Anchored, Offsets]]) -> FlowLag:
        """Return the lag as it was when the source was asked; of one answer always the same."""
        anchors, ends = answer.found
        there = [each for where, each in anchors.items() if where in ends]
        lag = flow_lag(there, ends, answer.asked_ms, self._caught_up)
        self._caught_up = caught_up(self._caught_up, lag, answer.asked_ms)
        return lag

    def _ask_ends(self, wanted: Collection[TopicPartition]) -> Offsets:
        if not wanted:
            self._source().cluster_id()  # it is to be seen whether it answers
            return {}
        return self._source().end_offsets(wanted)


class MeasuredFlow(Protocol):
    """A flow that a driver copies; see ``spark_jobs.driver.flow_driver``."""

    flow: Flow

    def figures(self, flow_metrics: FlowMetrics) -> FlowFigures: ...


class MetricsCollector:
    """Looks at all flows of a driver at once. ``source_of`` makes the client of a flow's source."""

    def __init__(self, flows: Sequence[MeasuredFlow], source_of: Callable[[Flow], Source]) -> None:
        # Who waits and who is waited for have pools of their own; threads come when needed.
        self._waiting = ThreadPoolExecutor(len(flows), "metrics")
        asking = ThreadPoolExecutor(2 * len(flows), "survey")
        self._metrics_collector = [(each, _survey(each.flow, source_of, asking)) for each in flows]

    def gather(self) -> Iterable[FlowFigures]:
        """Return the figures of all flows."""
        return self._waiting.map(lambda each: each[0].figures(each[1]), self._metrics_collector)


def _survey(flow: Flow, source_of: Callable[[Flow], Source], pool: Executor) -> FlowMetrics:
    return FlowMetrics(flow.name, AnchorReader(flow), partial(source_of, flow), pool)


def _is_since(moment_ms: int, limit_s: float) -> bool:
    """Say whether ``moment_ms`` is at most ``limit_s`` ago; not so where the clock was set back."""
    return 0 <= _now_ms() - moment_ms <= limit_s * 1000


def _now_ms() -> int:
    return int(time.time() * 1000)
