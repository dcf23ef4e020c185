"""Keep lanes on the right brokers, and help those in trouble while the others go on."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.claimants import claimant, entry_of
from replication.copier.forwarding import Forwarding
from replication.copier.network import Fenced
from replication.copier.outcomes import Remedy, Trouble
from replication.copier.readers import Readers
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import PartitionState
from replication.provenance import BORN_HERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replication.copier.appending import Appending
    from replication.copier.ends import Clusters
    from replication.copier.judging import Judge
    from replication.copier.lane import Lane
    from replication.copier.producer_identity import Claimant
    from replication.copier.spec import UnitSpec
    from replication.provenance import Via

_PAUSE_S = 0.1  # between looks at lanes that are held back


@dataclass(slots=True)
class Tending:
    """Leaders, fetchers and remedies of one unit."""

    spec: UnitSpec
    ends: Clusters
    lanes: Sequence[Lane]
    me: Claimant
    appending: Appending
    judge: Judge
    takeovers: int = 0
    _readers: Readers = field(init=False)
    _forwarding: Forwarding = field(init=False)
    _alarm: asyncio.Event = field(default_factory=asyncio.Event)
    _troubled: set[Lane] = field(default_factory=set)
    _broken: BaseException | None = None  # what ended a fetcher

    def __post_init__(self) -> None:
        settle = self.appending.settle
        self._forwarding = Forwarding(self.spec, self.ends, settle)
        self._readers = Readers(
            self.spec, self.ends, self._on_queued, settle, self._on_fetcher_ended, self._forwarding
        )

    def on_trouble(self, lane: Lane) -> None:
        """Remember a lane that needs help."""
        if not lane.leaves:
            self._troubled.add(lane)
            self._alarm.set()

    async def run(self) -> None:
        """Help lanes until cancelled. Raises FlowTaken when another driver is at work."""
        await self.arrange(self.lanes)
        while True:
            await self._alarm.wait()
            self._alarm.clear()
            while self._troubled or self._broken:
                if self._broken is not None:
                    raise self._broken
                with contextlib.suppress(ClusterUnavailable, Fenced):
                    await self._help()
                await asyncio.sleep(_PAUSE_S)

    def let_go(self, lanes: Iterable[Lane]) -> None:
        """Fetch and send nothing more of ``lanes``; what is on the wire is answered."""
        for lane in lanes:
            lane.leaves = True
            self._readers.leave(lane)
            self.appending.lead.pop(lane, None)
            self._troubled.discard(lane)
        self._readers.start()

    async def stop(self) -> None:
        """Stop all fetching."""
        await self._readers.stop()

    async def _help(self) -> None:
        """Ask for leaders, then apply each troubled lane's remedy."""
        await self._refresh(self._troubled)
        await self.arrange(list(self._troubled))
        # First those that only had to wait: a transaction that needs them holds the turn meanwhile.
        self._go_on()
        if self._asking_for(Remedy.JUDGE):
            async with self.ends.takeover.turn:
                await self._judge(self._asking_for(Remedy.JUDGE))
        target = self.ends.target
        uncounted = self._asking_for(Remedy.TAKE_OVER)
        await self._take_over([each for each in uncounted if target.leader(each.target)])
        self._go_on()

    def _go_on(self) -> None:
        now = time.monotonic()
        for lane in [each for each in self._troubled if _may_go_on(each, now)]:
            lane.retry_at = None
            self._troubled.discard(lane)
            self.appending.offer(lane)
        self.appending.pump()

    async def _refresh(self, lanes: Iterable[Lane]) -> None:
        await asyncio.gather(
            self.ends.source.refresh({each.source.topic for each in lanes}),
            self.ends.target.refresh({each.target.topic for each in lanes}),
        )

    def _asking_for(self, remedy: Remedy) -> list[Lane]:
        return [
            each
            for each in self._troubled
            if each.trouble is not None and each.trouble.remedy is remedy
        ]

    async def _judge(self, lanes: Iterable[Lane]) -> None:
        for lane in lanes:
            if (trouble := lane.trouble) is None:
                continue
            try:
                await self.judge.judge(lane, trouble)
            except Fenced:
                raise
            except ClusterRejected as problem:
                lane.park(trouble.state, f"{trouble.reason}; {problem}")
            if lane.trouble is None:
                self._troubled.discard(lane)
                self.appending.offer(lane)
        self.appending.pump()

    async def _take_over(self, lanes: Sequence[Lane]) -> None:
        """Fence and count: what happened to the last appends is not known."""
        if not lanes:
            return
        async with self.ends.takeover.turn:
            lanes = [each for each in lanes if not each.leaves]
            for lane in lanes:
                lane.reason = lane.trouble.reason if lane.trouble else ""
                lane.claimed = lane.anchor(int(time.time() * 1000))
            await self.renew()
            self.takeovers += await self.ends.takeover.take(lanes, self.me)
        for lane in lanes:
            self._troubled.discard(lane)

    async def renew(self) -> None:
        """Get a new epoch of our producer id, unless somebody of a higher rank is at work.

        Raises FlowTaken. Partitions without our new marker go on under the epoch they have.
        """
        await self.ends.takeover.heed(self.lanes, self.me)
        self.me = await claimant(self.spec, self.ends)
        self._forwarding.forget()
        # A transactional id that nobody has used for days gets another producer id (F).
        await self.ends.takeover.register(entry_of(self.spec, self.ends, self.me))
        await self.ends.takeover.anchors.own(self.me.producer)

    async def producer(self, via: Via, lanes: Iterable[Lane]) -> Claimant:
        """Return who appends what came by ``via``, as Forwarding.producer does."""
        return self.me if via == BORN_HERE else await self._forwarding.producer(via, lanes)

    async def arrange(self, lanes: Iterable[Lane]) -> None:
        """Give each lane its leaders, and the fetcher of the broker to read from."""
        for lane in lanes:
            current = self.ends.source.topic_id(lane.source.topic)
            if lane.topic_id and current not in {None, lane.topic_id}:
                self._recreated(lane)
            source = self.ends.source.leader(lane.source)
            target = self.ends.target.leader(lane.target)
            if lane.state is not PartitionState.RUNNING:
                continue
            if target is not None and self.appending.lead.get(lane) != target.node:
                self.appending.lead[lane] = target.node
                self.appending.offer(lane)
            if source is not None:
                self._readers.read(lane)
            if source is None or target is None:
                end = "source" if source is None else "target"
                lane.suffer(Trouble(Remedy.RETRY, f"the {end} partition has no leader"))
                self.appending.settle(lane)
        for node in set(self.appending.lead.values()):
            with contextlib.suppress(ClusterUnavailable):
                await self.ends.target.ready(node)
        self._readers.start()

    def _recreated(self, lane: Lane) -> None:
        if lane.answers_due == 0 and lane.state is PartitionState.RUNNING:
            lane.park(PartitionState.SOURCE_RECREATED, "the source topic was deleted and made anew")
            self._troubled.discard(lane)

    def _on_fetcher_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._broken = task.exception()
            self._alarm.set()

    def _on_queued(self, lanes: Iterable[Lane]) -> None:
        for lane in lanes:
            self.appending.offer(lane)
        self.appending.pump()


def _may_go_on(lane: Lane, now: float) -> bool:
    return lane.trouble is None and (lane.retry_at is None or lane.retry_at <= now)
