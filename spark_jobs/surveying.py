"""Looks at a flow's two clusters for whoever asks for metrics, and only then.

A scrape must not wait for a silent cluster: what is not answered in time goes on in its thread,
the next scrape waits for the same answer, and meanwhile what is known is told.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import structlog

from replication.adapters.anchor_reader import AnchorReader
from replication.errors import ReplicationError
from replication.lag import FlowLag, caught_up, flow_lag
from replication.metrics.figures import Copied

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from concurrent.futures import Executor, Future

    from replication.config.model import Flow
    from replication.metrics.figures import FlowFigures
    from replication.model import TopicPartition
    from replication.state import Anchor, Loss
    from spark_jobs.flow import FlowDriver

    Offsets = Mapping[TopicPartition, int]
    Told = tuple[Mapping[TopicPartition, Anchor], tuple[Loss, ...]]

PATIENCE_S = 3.0  # for each cluster; Prometheus waits ten seconds
FRESH_S = 1.0  # anchors come about once a second: whoever asks sooner gets the same answer

Found = TypeVar("Found")
log = structlog.get_logger()


class Anchors(Protocol):
    """What the target says; see adapters.anchor_reader."""

    def look(self) -> Told: ...


class Source(Protocol):
    """What the source says; see adapters.kafka_admin."""

    def cluster_id(self) -> str: ...

    def end_offsets(self, partitions: Collection[TopicPartition]) -> Offsets: ...


class _Question(Generic[Found]):
    """Asked again when the answer before has come."""

    def __init__(self, pool: Executor, about: str) -> None:
        self._pool = pool
        self._about = about
        self._asked: Future[Found] | None = None
        self._said = ""

    def ask(self, work: Callable[[], Found]) -> Found | None:
        """Return the answer; None: none in time, or a problem, which is logged once."""
        if self._asked is None:
            self._asked = self._pool.submit(work)
        try:
            found = self._asked.result(PATIENCE_S)
        except TimeoutError:
            return None
        except ReplicationError as problem:
            self._asked = None
            self._say(str(problem))
            return None
        except Exception:
            self._asked = None
            raise
        self._asked, self._said = None, ""
        return found

    def _say(self, problem: str) -> None:
        if problem != self._said:
            log.warning("metrics lack a part", about=self._about, reason=problem)
        self._said = problem


class Survey:
    """What both clusters of one flow say. Threads take turns.

    ``source`` makes the source's client, which is not needed before somebody asks.
    """

    def __init__(
        self, flow: str, target: Anchors, source: Callable[[], Source], pool: Executor
    ) -> None:
        self._target = target
        self._source = source
        self._told: _Question[Told] = _Question(pool, f"{flow}: what the target says")
        self._ends: _Question[Offsets] = _Question(pool, f"{flow}: where the source ends")
        self._caught_up: dict[TopicPartition, int] = {}
        self._turn = threading.Lock()
        self._last = Copied(0, is_known=False)

    def look(self, plan: Collection[TopicPartition] | None) -> Copied:
        """Look at the partitions of ``plan``; None: at all that were copied before."""
        with self._turn:
            if _now_ms() - self._last.now_ms > FRESH_S * 1000:
                self._last = self._look(plan)
            return self._last

    def _look(self, plan: Collection[TopicPartition] | None) -> Copied:
        told = self._told.ask(self._target.look)
        anchors, losses = told or (self._last.anchors, self._last.losses)
        wanted = anchors.keys() if plan is None else plan
        # After the anchors, so that lag is not negative.
        ends = self._ends.ask(lambda: self._ask_ends(wanted))
        now_ms, lag = _now_ms(), FlowLag()
        if ends is not None:
            there = [each for where, each in anchors.items() if where in ends]
            lag = flow_lag(there, ends, now_ms, self._caught_up)
            self._caught_up = caught_up(self._caught_up, lag, now_ms)
        return Copied(
            now_ms,
            told is not None or self._last.is_known,
            anchors,
            losses,
            lag,
            source_answers=ends is not None,
            target_answers=told is not None,
        )

    def _ask_ends(self, wanted: Collection[TopicPartition]) -> Offsets:
        if not wanted:
            self._source().cluster_id()  # it is to be seen whether it answers
            return {}
        return self._source().end_offsets(wanted)


class Surveys:
    """Looks at all flows of a driver at once. ``source_of`` makes the client of a flow's source."""

    def __init__(self, flows: Sequence[FlowDriver], source_of: Callable[[Flow], Source]) -> None:
        # Who waits and who is waited for have pools of their own; threads come when needed.
        self._waiting = ThreadPoolExecutor(len(flows), "metrics")
        asking = ThreadPoolExecutor(2 * len(flows), "survey")
        self._surveys = [(each, _survey(each.flow, source_of, asking)) for each in flows]

    def gather(self) -> Iterable[FlowFigures]:
        """Return the figures of all flows."""
        return self._waiting.map(lambda each: each[0].figures(each[1]), self._surveys)


def _survey(flow: Flow, source_of: Callable[[Flow], Source], pool: Executor) -> Survey:
    return Survey(flow.name, AnchorReader(flow), partial(source_of, flow), pool)


def _now_ms() -> int:
    return int(time.time() * 1000)
