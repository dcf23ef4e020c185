"""One unit: take partitions over, copy epoch after epoch, keep anchors, end cleanly."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.copier.engine import Engine
from replication.copier.epoch import Term
from replication.copier.replan import Change, change_of
from replication.copier.start import start
from replication.errors import ClusterUnavailable, ReplicationError
from replication.model import Mode, PartitionState
from replication.state import status_topic

if TYPE_CHECKING:
    from replication.client.producer_identity import Claimant
    from replication.copier.partition.partition_copy import Lane
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Clusters

_START_GRACE_S = 2.0  # for a start that is under way when the epoch's end is heard
_START_PAUSES_S = (0.2, 1.0)


class Figures(NamedTuple):
    """What a unit has done: records and bytes acked, partitions that were fenced and counted."""

    records: int = 0
    bytes: int = 0
    takeovers: int = 0

    def plus(self, more: Figures) -> Figures:
        return Figures(*(one + other for one, other in zip(self, more, strict=True)))


@dataclass(slots=True)
class Unit:
    """The copier of one unit. ``run`` copies until its term has ended."""

    given: UnitSpec
    ends: Clusters
    term: Term = field(init=False)
    lanes: list[Lane] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    _spec: UnitSpec = field(init=False)  # as it can be done
    _taken_over: int = 0  # at the start
    _engine: Engine | None = None  # while it copies, and afterwards for its figures
    _told: Figures = field(default_factory=Figures)
    _unheard: Figures = field(default_factory=Figures)  # of lanes that were replaced
    _change: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.term, self._spec = Term(self.given), self.given

    async def run(self) -> None:
        """Copy until the epoch is over and no other one of the same unit comes in time.

        Raises FlowTaken when another driver is at work, ClusterUnavailable and ClusterRejected
        when the unit as a whole could not begin. Single partitions only change their state.
        """
        self.term.begin(self.given)
        watching = asyncio.create_task(self.term.watch(self.ends.target))
        try:
            me = await self._begin_before(watching)
            await self._copy(me, watching)
        finally:
            self.term.close()
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            self.ends.target.drop(status_topic(self.given.source_alias))

    async def epoch_over(self) -> None:
        """Return when the epoch of a unit that could begin is over."""
        await self.begun.wait()
        await self.term.over.wait()

    async def follow(self, spec: UnitSpec) -> bool:
        """Begin the epoch of ``spec`` with what is open; False: it needs a new start.

        So it does when anything else is asked for than other partitions, and when something could
        not be had that is to be tried again: an isolation, the right to fence.
        """
        if not self._is_like(spec):
            return False
        self.term.begin(spec)
        change = change_of(self.lanes, spec.partitions)
        if change.leave or change.come:
            self._change = asyncio.create_task(self._follow(change))
            (problem,) = await asyncio.gather(self._change, return_exceptions=True)
            if isinstance(problem, ReplicationError | asyncio.CancelledError):
                return False
            if problem is not None:
                raise problem
        for lane in self.lanes:
            if not lane.queue.on_wire:  # a broker forgets a producer that was idle for long
                lane.queue.writer.proven = False
        self.given = spec
        return True

    def _is_like(self, spec: UnitSpec) -> bool:
        other = replace(spec, epoch=self.given.epoch, partitions=self.given.partitions)
        mine, theirs = self._spec.copying, spec.copying
        return (
            self._engine is not None
            and not self.term.ended.is_set()
            and other == self.given
            and bool(self.lanes and spec.partitions)
            and self.given.is_transactional is spec.is_transactional
            and (mine.isolation, mine.delivery) == (theirs.isolation, theirs.delivery)
        )

    async def _follow(self, change: Change) -> None:
        """Let lanes go and others come. Where that fails the unit is as a new start may find it."""
        if self._engine is None:
            return
        changing = self._engine.changing
        async with self.ends.takeover.turn:
            await changing.let_go(change.leave)
            self._replace_lanes([each for each in self.lanes if not each.leaves])
            come = await changing.take(self._spec, change.come) if change.come else []
            self._replace_lanes([*self.lanes, *come])
            await changing.begin(come)

    def _replace_lanes(self, lanes: list[Lane]) -> None:
        """Look after other lanes; those that come bring figures of a former life with them."""
        self._unheard = self.news()
        self.lanes[:] = lanes
        self._told = self._figures()

    async def _begin_before(self, watching: asyncio.Task[None]) -> Claimant:
        """Start, unless the epoch ends first: clusters that do not answer must not outlast it."""
        begin = asyncio.create_task(self._begin())
        over = asyncio.create_task(self.term.over.wait())
        try:
            await asyncio.wait({begin, watching, over}, return_when=asyncio.FIRST_COMPLETED)
            if not begin.done():
                if watching.done():
                    watching.result()  # another driver is at work
                await asyncio.wait({begin}, timeout=_START_GRACE_S)
        finally:
            over.cancel()
            if not begin.done():
                begin.cancel()
            await asyncio.gather(begin, over, return_exceptions=True)
        if not begin.cancelled():
            me, self.lanes, self._taken_over = begin.result()
            return me
        raise ClusterUnavailable(
            f"{self.given.flow}: the clusters did not answer before the epoch ended"
        )

    async def _copy(self, me: Claimant, watching: asyncio.Task[None]) -> None:
        self._told = self._figures()._replace(takeovers=0)
        self._spec = self._as_taken(me)
        engine = self._engine = Engine.of(self._spec, self.ends, self.lanes, me)
        work = [*engine.work(), self.term.ended.wait()]
        tasks: list[asyncio.Task[object]] = [asyncio.create_task(each) for each in work]
        self.begun.set()
        try:
            done, _ = await asyncio.wait({*tasks, watching}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            if self._change is not None:
                self._change.cancel()
                await asyncio.gather(self._change, return_exceptions=True)
            await engine.stop(tasks)
        await engine.end_cleanly()

    def _as_taken(self, me: Claimant) -> UnitSpec:
        """Return the spec as it can be done now; a crash may have left another isolation (E)."""
        spec = self.given.for_claimant(me)
        taken = [each.claimed.isolation for each in self.lanes if each.topic_id]
        if not taken:
            return spec
        return replace(spec, copying=replace(spec.copying, isolation=taken[0]))

    async def _begin(self) -> tuple[Claimant, list[Lane], int]:
        """Start; what is out of reach for a moment shall not cost the epoch."""
        for pause in _START_PAUSES_S:
            try:
                return await start(self.given, self.ends)
            except ClusterUnavailable:
                await asyncio.sleep(pause)
        return await start(self.given, self.ends)

    def news(self) -> Figures:
        """Return what was done since this was last asked, and what was counted, once."""
        done, told, unheard = self._figures(), self._told, self._unheard
        self._told, self._unheard = done, Figures()
        new = (now - before for now, before in zip(done, told, strict=True))
        return unheard.plus(Figures(*new))

    @property
    def not_running(self) -> int:
        if not self.lanes:  # the unit as a whole could not begin
            return len(self.given.partitions)
        return sum(each.shown[0] is not PartitionState.RUNNING for each in self.lanes)

    @property
    def at_least_once(self) -> int:
        return sum(each.mode == Mode.AT_LEAST_ONCE for each in self.lanes)

    def _figures(self) -> Figures:
        return Figures(
            sum(each.counters.records for each in self.lanes),
            sum(each.counters.bytes for each in self.lanes),
            self._taken_over + (self._engine.tending.takeovers if self._engine else 0),
        )
