"""One unit: take partitions over, copy epoch after epoch, end cleanly."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.copier.epoch import EpochTimer
from replication.copier.replan import PlanChange, change_of
from replication.copier.start import start
from replication.copier.unit_parts import Engine
from replication.errors import ClusterUnavailable, ReplicationError
from replication.model import Mode, PartitionState
from replication.state import status_topic

if TYPE_CHECKING:
    from replication.client.producer_identity import ProducerIdentity
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections

_START_GRACE_S = 2.0  # for a start that is in progress when the epoch ends
_START_PAUSES_S = (0.2, 1.0)


class UnitCounters(NamedTuple):
    """Counts of a unit: records and bytes acknowledged, partitions fenced and counted.

    And for how long in ms brokers throttled it, summed over its connections.
    """

    records: int = 0
    bytes: int = 0
    takeovers: int = 0
    source_throttled_ms: int = 0
    target_throttled_ms: int = 0

    def plus(self, more: UnitCounters) -> UnitCounters:
        return UnitCounters(*(one + other for one, other in zip(self, more, strict=True)))


@dataclass(slots=True)
class Unit:
    """Copies one unit's partitions; ``run`` returns after its last epoch."""

    given: UnitSpec
    connections: Connections
    epoch_timer: EpochTimer = field(init=False)
    partitions: list[PartitionCopy] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    _spec: UnitSpec = field(init=False)  # with the delivery and isolation that are possible
    _taken_over: int = 0  # at the start
    _engine: Engine | None = None  # while it copies, and afterwards for its counters
    _reported: UnitCounters = field(init=False)
    _unreported: UnitCounters = field(default_factory=UnitCounters)  # of replaced partitions
    _change: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.epoch_timer, self._spec = EpochTimer(self.given), self.given
        self._reported = self._counts()  # other units used the connections before

    async def run(self) -> None:
        """Copy until an epoch is over and no other one begins within the grace period.

        Raises FlowTaken when another driver took over, ClusterUnavailable and ClusterRejected
        when the whole unit could not start. Errors of partitions only change their state.
        """
        self.epoch_timer.begin(self.given)
        watching = asyncio.create_task(self.epoch_timer.watch(self.connections.target))
        try:
            me = await self._begin_before(watching)
            await self._copy(me, watching)
        finally:
            self.epoch_timer.close()
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            self.connections.target.drop(status_topic(self.given.source_alias))

    async def epoch_over(self) -> None:
        """Wait until the unit has started and its epoch is over."""
        await self.started.wait()
        await self.epoch_timer.over.wait()

    async def follow(self, spec: UnitSpec) -> bool:
        """Begin the epoch of ``spec`` in this unit; False: the unit has to be started again.

        That is so when ``spec`` differs in more than partitions and byte rate, and when an
        isolation level or the ACL to fence was not available and is to be tried again.
        """
        if not self._is_like(spec):
            return False
        self.epoch_timer.begin(spec)
        change = change_of(self.partitions, spec.partitions)
        if change.removed or change.added:
            self._change = asyncio.create_task(self._follow(change))
            (problem,) = await asyncio.gather(self._change, return_exceptions=True)
            if isinstance(problem, ReplicationError | asyncio.CancelledError):
                return False
            if problem is not None:
                raise problem
        for partition in self.partitions:
            if (
                not partition.queue.in_flight
            ):  # a broker forgets a producer that was inactive for long
                partition.queue.writer.proven = False
        if self._engine is not None:
            self._engine.rate_control.follow(spec.copying.bytes_per_second)
        self.given = spec
        return True

    def _is_like(self, spec: UnitSpec) -> bool:
        given = self.given
        copying = replace(spec.copying, bytes_per_second=given.copying.bytes_per_second)
        other = replace(spec, epoch=given.epoch, partitions=given.partitions, copying=copying)
        mine, theirs = self._spec.copying, spec.copying
        return (
            self._engine is not None
            and not self.epoch_timer.ended.is_set()
            and other == given
            and bool(self.partitions and spec.partitions)
            and given.is_transactional is spec.is_transactional
            and (mine.isolation, mine.delivery) == (theirs.isolation, theirs.delivery)
        )

    async def _follow(self, change: PlanChange) -> None:
        """Remove and add partitions. After a failure the unit can be started again."""
        if self._engine is None:
            return
        replan = self._engine.replan
        async with self.connections.takeover.turn:
            await replan.remove(change.removed)
            self._replace_partitions([each for each in self.partitions if not each.leaving])
            added = await replan.take(self._spec, change.added) if change.added else []
            self._replace_partitions([*self.partitions, *added])
            await replan.begin(added)

    def _replace_partitions(self, partitions: list[PartitionCopy]) -> None:
        """Copy other partitions; added ones have counts of earlier copies, reported already."""
        self._unreported = self.new_counts()
        self.partitions[:] = partitions
        self._reported = self._counts()

    async def _begin_before(self, watching: asyncio.Task[None]) -> ProducerIdentity:
        """Start, unless the epoch ends first: an unavailable cluster must not delay its end."""
        begin = asyncio.create_task(self._begin())
        over = asyncio.create_task(self.epoch_timer.over.wait())
        try:
            await asyncio.wait({begin, watching, over}, return_when=asyncio.FIRST_COMPLETED)
            if not begin.done():
                if watching.done():
                    watching.result()  # raises FlowTaken
                await asyncio.wait({begin}, timeout=_START_GRACE_S)
        finally:
            over.cancel()
            if not begin.done():
                begin.cancel()
            await asyncio.gather(begin, over, return_exceptions=True)
        if not begin.cancelled():
            me, self.partitions, self._taken_over = begin.result()
            return me
        given = self.given
        silent = (
            f"{given.source_alias} or {given.target_alias} did not answer before the epoch ended: "
            "isthmus doctor FILE"
        )
        raise ClusterUnavailable(f"{given.flow}: {self.connections.takeover.waits or silent}")

    async def _copy(self, me: ProducerIdentity, watching: asyncio.Task[None]) -> None:
        before = self._reported  # throttles are counted from the unit's start on
        self._reported = self._counts()._replace(
            takeovers=0,
            source_throttled_ms=before.source_throttled_ms,
            target_throttled_ms=before.target_throttled_ms,
        )
        self._spec = self._as_taken(me)
        engine = self._engine = Engine.of(self._spec, self.connections, self.partitions, me)
        work = [*engine.work(), self.epoch_timer.ended.wait()]
        tasks: list[asyncio.Task[object]] = [asyncio.create_task(each) for each in work]
        self.started.set()
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

    def _as_taken(self, me: ProducerIdentity) -> UnitSpec:
        """Return the spec with possible delivery and isolation; a crash binds the isolation (E)."""
        spec = self.given.for_identity(me)
        taken = [each.claimed.isolation for each in self.partitions if each.topic_id]
        if not taken:
            return spec
        return replace(spec, copying=replace(spec.copying, isolation=taken[0]))

    async def _begin(self) -> tuple[ProducerIdentity, list[PartitionCopy], int]:
        """Start, with two retries: a short outage of a cluster must not end the unit."""
        for pause in _START_PAUSES_S:
            try:
                return await start(self.given, self.connections)
            except ClusterUnavailable:
                await asyncio.sleep(pause)
        return await start(self.given, self.connections)

    def new_counts(self) -> UnitCounters:
        """Return the counts since the last call."""
        done, reported, unreported = self._counts(), self._reported, self._unreported
        self._reported, self._unreported = done, UnitCounters()
        new = (now - before for now, before in zip(done, reported, strict=True))
        return unreported.plus(UnitCounters(*new))

    @property
    def not_running(self) -> int:
        if not self.partitions:  # the whole unit could not start
            return len(self.given.partitions)
        return sum(
            each.state_and_reason[0] is not PartitionState.RUNNING for each in self.partitions
        )

    @property
    def backed_off_to(self) -> int:
        """The bytes a second that the target's throttle has led to; 0: it has not."""
        return self._engine.rate_control.backed_off_to if self._engine else 0

    @property
    def at_least_once(self) -> int:
        return sum(each.mode == Mode.AT_LEAST_ONCE for each in self.partitions)

    def _counts(self) -> UnitCounters:
        return UnitCounters(
            sum(each.counters.records for each in self.partitions),
            sum(each.counters.bytes for each in self.partitions),
            self._taken_over + (self._engine.upkeep.takeovers if self._engine else 0),
            self.connections.source.throttled_ms,
            self.connections.target.throttled_ms,
        )
