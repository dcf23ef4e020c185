"""Keep lanes on the right brokers, and help those in trouble while the others go on."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.client.network import Fenced
from replication.copier.partition.broker_errors import Remedy, Trouble
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import PartitionState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replication.copier.error_policy import Judge
    from replication.copier.fetch.fetcher_manager import Readers
    from replication.copier.partition.partition_copy import Lane
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Appending
    from replication.copier.recovery_queue import RecoveryQueue
    from replication.copier.takeover.connections import Clusters

_PAUSE_S = 0.1  # between looks at lanes that are held back


@dataclass(slots=True)
class Tending:
    """Leaders, fetchers and remedies of one unit."""

    ends: Clusters
    producers: Producers
    sender: Appending
    readers: Readers
    judge: Judge
    recoveries: RecoveryQueue
    takeovers: int = 0

    async def run(self) -> None:
        """Help lanes until cancelled. Raises FlowTaken when another driver is at work."""
        await self.arrange(self.producers.lanes)
        recoveries = self.recoveries
        while True:
            await recoveries.added.wait()
            recoveries.added.clear()
            while recoveries.partitions or recoveries.failure:
                if recoveries.failure is not None:
                    raise recoveries.failure
                with contextlib.suppress(ClusterUnavailable, Fenced):
                    await self._help()
                await asyncio.sleep(_PAUSE_S)

    def let_go(self, lanes: Iterable[Lane]) -> None:
        """Fetch and send nothing more of ``lanes``; what is on the wire is answered."""
        for lane in lanes:
            lane.leaves = True
            self.readers.leave(lane)
            self.sender.lead.pop(lane, None)
            self.recoveries.discard(lane)
        self.readers.start()

    async def stop(self) -> None:
        """Stop all fetching."""
        await self.readers.stop()

    async def _help(self) -> None:
        """Ask for leaders, then apply each troubled lane's remedy."""
        await self._refresh(self.recoveries.partitions)
        await self.arrange(list(self.recoveries.partitions))
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
        for lane in [each for each in self.recoveries.partitions if _may_go_on(each, now)]:
            lane.retry_at = None
            self.recoveries.discard(lane)
            self.sender.offer(lane)
        self.sender.pump()

    async def _refresh(self, lanes: Iterable[Lane]) -> None:
        await asyncio.gather(
            self.ends.source.refresh({each.source.topic for each in lanes}),
            self.ends.target.refresh({each.target.topic for each in lanes}),
        )

    def _asking_for(self, remedy: Remedy) -> list[Lane]:
        return [
            each
            for each in self.recoveries.partitions
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
                self.recoveries.discard(lane)
                self.sender.offer(lane)
        self.sender.pump()

    async def _take_over(self, lanes: Sequence[Lane]) -> None:
        """Fence and count: what happened to the last appends is not known."""
        if not lanes:
            return
        async with self.ends.takeover.turn:
            lanes = [each for each in lanes if not each.leaves]
            for lane in lanes:
                lane.reason = lane.trouble.reason if lane.trouble else ""
                lane.claimed = lane.anchor(int(time.time() * 1000))
            await self.producers.renew()
            self.takeovers += await self.ends.takeover.take(lanes, self.producers.me)
        for lane in lanes:
            self.recoveries.discard(lane)

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
            if target is not None and self.sender.lead.get(lane) != target.node:
                self.sender.lead[lane] = target.node
                self.sender.offer(lane)
            if source is not None:
                self.readers.read(lane)
            if source is None or target is None:
                end = "source" if source is None else "target"
                lane.suffer(Trouble(Remedy.RETRY, f"the {end} partition has no leader"))
                self.sender.settle(lane)
        for node in set(self.sender.lead.values()):
            with contextlib.suppress(ClusterUnavailable):
                await self.ends.target.ready(node)
        self.readers.start()

    def _recreated(self, lane: Lane) -> None:
        if lane.queue.answers_due == 0 and lane.state is PartitionState.RUNNING:
            lane.park(PartitionState.SOURCE_RECREATED, "the source topic was deleted and recreated")
            self.recoveries.discard(lane)


def _may_go_on(lane: Lane, now: float) -> bool:
    return lane.trouble is None and (lane.retry_at is None or lane.retry_at <= now)
