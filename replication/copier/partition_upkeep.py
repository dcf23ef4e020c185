"""Follow leaders, recover failed partitions, and halt one whose topic was created again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.client.network import Fenced
from replication.clock import now_ms
from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.errors import ClusterRejected, ClusterUnavailable, WrongCluster
from replication.model import PartitionState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from replication.copier.error_policy import ErrorPolicy
    from replication.copier.fetch.fetcher_manager import FetcherManager
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.partition.recovery_queue import RecoveryQueue
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Sender
    from replication.copier.takeover.connections import Connections

_PAUSE_S = 0.1  # between two rounds of recovery


@dataclass(slots=True)
class PartitionUpkeep:
    """Assigns leaders and fetchers, and runs the recoveries of one unit."""

    connections: Connections
    producers: Producers
    sender: Sender
    fetchers: FetcherManager
    error_policy: ErrorPolicy
    recoveries: RecoveryQueue
    takeovers: int = 0

    async def run(self) -> None:
        """Recover partitions until cancelled. Raises FlowTaken when another driver took over."""
        await self.arrange(self.producers.partitions)
        recoveries = self.recoveries
        while True:
            await recoveries.added.wait()
            recoveries.added.clear()
            while recoveries.partitions or recoveries.failure:
                if recoveries.failure is not None:
                    raise recoveries.failure
                with contextlib.suppress(ClusterUnavailable, Fenced):
                    await self._recover()
                await asyncio.sleep(_PAUSE_S)

    def remove(self, partitions: Iterable[PartitionCopy]) -> None:
        """Fetch and send nothing more of ``partitions``; responses are still handled."""
        for partition in partitions:
            partition.leaving = True
            self.fetchers.unassign(partition)
            self.sender.lead.pop(partition, None)
            self.recoveries.discard(partition)
        self.fetchers.start()

    async def stop(self) -> None:
        """Stop all fetching."""
        await self.fetchers.stop()

    async def _recover(self) -> None:
        """Refresh the leaders, then run the recovery of each failed partition."""
        await self._refresh(self.recoveries.partitions)
        await self.arrange(list(self.recoveries.partitions))
        # Backed-off ones first: a transaction that needs them holds the lock meanwhile.
        self._resume()
        if self._with_recovery(Recovery.DECIDE) and self.sender.lease.holds():
            async with self.connections.takeover.turn:
                await self._decide(self._with_recovery(Recovery.DECIDE))
        target = self.connections.target
        uncounted = self._with_recovery(Recovery.TAKE_OVER)
        await self._take_over([each for each in uncounted if target.leader(each.target)])
        self._resume()

    def _resume(self) -> None:
        """Send again what waited; where that might append it twice, a takeover counts first."""
        now, wall_ms = time.monotonic(), now_ms()
        for partition in [each for each in self.recoveries.partitions if _may_resume(each, now)]:
            if partition.must_count(wall_ms):
                partition.record_error(PartitionError(Recovery.TAKE_OVER, partition.status.reason))
                continue
            partition.retry_at = None
            self.recoveries.discard(partition)
            self.sender.offer(partition)
        self.sender.pump()

    async def _refresh(self, partitions: Collection[PartitionCopy]) -> None:
        try:
            await asyncio.gather(
                self.connections.source.refresh({each.source.topic for each in partitions}),
                self.connections.target.refresh({each.target.topic for each in partitions}),
            )
        except WrongCluster as problem:  # not what broke the connection before
            for each in partitions:
                each.status.reason = str(problem)
                each.anchor_changes.add(each)
            raise

    def _with_recovery(self, recovery: Recovery) -> list[PartitionCopy]:
        return [
            each
            for each in self.recoveries.partitions
            if each.error is not None and each.error.recovery is recovery
        ]

    async def _decide(self, partitions: Iterable[PartitionCopy]) -> None:
        for partition in partitions:
            if (error := partition.error) is None:
                continue
            try:
                await self.error_policy.decide(partition, error)
            except Fenced:
                raise
            except ClusterRejected as problem:
                partition.halt(error.state, f"{error.reason}; {problem}")
            if partition.error is None:
                self.recoveries.discard(partition)
                self.sender.offer(partition)
        self.sender.pump()

    async def _take_over(self, partitions: Sequence[PartitionCopy]) -> None:
        """Claim ``partitions`` again with a new epoch of our producer.

        Those whose last appends have an unknown outcome are fenced and counted, and those that
        another unit has claimed. A partition is copied as soon as its position is known, while
        others are still counted: what goes wrong with it meanwhile stays requested.
        """
        if not partitions:
            return
        async with self.connections.takeover.turn:
            partitions = [each for each in partitions if not each.leaving]
            for partition in partitions:
                partition.status.reason = partition.error.reason if partition.error else ""
                now, known = now_ms(), not partition.in_doubt
                partition.claimed = partition.anchor(now, clean=known)
            await self.producers.renew()
            self.takeovers += await self.connections.takeover.take(partitions, self.producers.me)
        for partition in partitions:
            if partition.error is None and partition.retry_at is None:
                self.recoveries.discard(partition)

    async def arrange(self, partitions: Iterable[PartitionCopy]) -> None:
        """Assign each partition its target leader and its fetcher."""
        for partition in partitions:
            current = self.connections.source.topic_id(partition.source.topic)
            if partition.topic_id and current not in {None, partition.topic_id}:
                self._on_recreated(partition)
            source = self.connections.source.leader(partition.source)
            target = self.connections.target.leader(partition.target)
            if partition.state is not PartitionState.RUNNING:
                continue
            if target is not None and self.sender.lead.get(partition) != target.node:
                self.sender.lead[partition] = target.node
                partition.queue.writer.proven = False
                self.sender.offer(partition)
            if source is not None:
                self.fetchers.assign(partition)
            if source is None or target is None:
                end = "source" if source is None else "target"
                partition.record_error(
                    PartitionError(Recovery.RETRY, f"the {end} partition has no leader")
                )
                self.sender.dispatch(partition)
        for node in set(self.sender.lead.values()):
            with contextlib.suppress(ClusterUnavailable):
                await self.connections.target.ready(node)
        self.fetchers.start()

    def _on_recreated(self, partition: PartitionCopy) -> None:
        if partition.queue.responses_due == 0 and partition.state is PartitionState.RUNNING:
            partition.halt(
                PartitionState.SOURCE_RECREATED, "the source topic was deleted and recreated"
            )
            self.recoveries.discard(partition)


def _may_resume(partition: PartitionCopy, now: float) -> bool:
    return partition.error is None and (partition.retry_at is None or partition.retry_at <= now)
