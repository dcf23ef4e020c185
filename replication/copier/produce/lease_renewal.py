"""Renew a unit's lease while its producer is the target's current one; else end the unit.

Part of invariant W.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.client.moment import Moment
from replication.client.network import Fenced, NotGranted
from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.errors import ClusterRejected, ClusterUnavailable, FlowTaken
from replication.model import PartitionState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.client.producer_identity import ProducerIdentity
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Sender
    from replication.model import ProducerIdAndEpoch

_EVERY_S = 3.0
_RETRY_S = 0.2
_KEEP_ALIVE_S = 3600.0  # brokers forget an unused transactional id after 7 days by default
_UNKNOWN = "nothing is sent until the target confirms that our producer is the current one"
_NOT_CURRENT = (
    "our producer is no longer the current one of its transactional id (the id expired, or another "
    "unit took over); the partition is taken over again"
)


@dataclass(slots=True)
class LeaseRenewal:
    """Asks every few seconds, and at once where the lease has lapsed; idle units ask too."""

    producers: Producers
    sender: Sender
    _kept_alive: float = 0.0  # monotonic

    async def run(self) -> None:
        """Renew until cancelled. Raises FlowTaken when another unit took over."""
        self._kept_alive = time.monotonic()
        while True:
            try:
                await self.renew()
                await self._keep_alive()
            except (ClusterUnavailable, Fenced) as problem:
                self._note(problem)
                await asyncio.sleep(_RETRY_S)  # nothing is sent until the target answers
                continue
            if self.sender.lease.lapsed.is_set():  # until partitions are taken over
                await asyncio.sleep(_RETRY_S)
                continue
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.sender.lease.lapsed.wait(), _EVERY_S)

    def _note(self, problem: Exception) -> None:
        """Let partitions with something to send report why they do not, while the lease lapsed."""
        if self.sender.lease.holds():
            return
        for partition in self.producers.partitions:
            if partition.queue.waiting and partition.fetches:
                partition.status.reason = f"{_UNKNOWN}: {problem}"
                partition.status.retries.note(time.monotonic())

    async def renew(self) -> None:
        """Renew the lease; partitions that may have another appender are taken over."""
        asked, me = Moment.now(), self.producers.me
        current = await self._current(me)
        if current == me.producer:
            if not self.sender.lease.holds():
                self._on_lapsed()
            self.sender.lease.renew(asked)
            self.sender.pump()
        else:
            async with self.producers.connections.takeover.turn:
                if self.producers.me is me:  # else the unit itself has got a new epoch meanwhile
                    await self._on_another(current, me)
        self._take_over(self._of_former_id())

    def _on_lapsed(self) -> None:
        """Let each partition begin with one batch: a broker may have forgotten our producer."""
        for partition in self.producers.partitions:
            partition.queue.writer.proven = False

    async def _current(self, me: ProducerIdentity) -> ProducerIdAndEpoch | None:
        if me.fences:
            return await self._holder(me)
        await self._read_claims()  # at least once: a newer driver is all that ends it
        return me.producer

    async def _read_claims(self) -> None:
        """Read them, but not while a takeover does that and the lease holds."""
        turn = self.producers.connections.takeover.turn
        if not self.sender.lease.holds():
            await self.producers.read_new_claims()
        elif not turn.locked():
            async with turn:
                await self.producers.read_new_claims()

    async def _holder(self, me: ProducerIdentity) -> ProducerIdAndEpoch | None:
        spec, target = self.producers.spec, self.producers.connections.target
        try:
            return await target.current_producer(me.transactional_id)
        except NotGranted as problem:
            raise ClusterRejected(
                f"{spec.flow}: {spec.target_alias} does not say which producer holds "
                f"{me.transactional_id} ({problem}): grant Isthmus' user DESCRIBE on the "
                f"TransactionalId isthmus.{spec.flow} (prefixed)"
            ) from problem

    async def _on_another(self, current: ProducerIdAndEpoch | None, me: ProducerIdentity) -> None:
        """Go on under a new epoch, or under a new producer id, unless this unit was started again.

        Raises FlowTaken. A newer epoch means that another unit claimed some of our partitions; with
        another producer id ours has expired, and no marker stops what is on its way: the takeovers
        get a new one, or we do where there are none. An anchor without appenders is of a partition
        that halted before it was taken over; where it came after our claim, we claim again.
        """
        takeover = self.producers.connections.takeover
        contested = await takeover.read_new_claims(self.producers.partitions, me)
        claims = {each: takeover.seen[each.source].appenders[-1:] for each in contested}
        if current is not None and current.producer_id == me.producer_id:
            await self.producers.renew()
            mine = {me.transactional_id}
            self._take_over([each for each in claims if {name for name, _ in claims[each]} != mine])
            self.sender.pump()
            return
        for partition, last in claims.items():
            if any(n == me.transactional_id and at != me.producer_id for n, at in last):
                raise FlowTaken(
                    f"{me.transactional_id}: another process has started this unit, "
                    f"and claimed {partition.source}"
                )
        if not self._take_over(self.producers.partitions):
            await self.producers.renew()

    def _of_former_id(self) -> list[PartitionCopy]:
        """Return partitions that append with another producer id than the unit's present one."""
        me = self.producers.me
        mine = (me.transactional_id, me.producer_id)
        return [e for e in self.producers.partitions if e.claimed.appenders[-1:] != (mine,)]

    def _take_over(self, partitions: Sequence[PartitionCopy]) -> bool:
        """Let running partitions be taken over; return whether there was any without an error."""
        running = [each for each in partitions if each.state is PartitionState.RUNNING]
        well = [each for each in running if each.error is None]
        for partition in well:
            partition.record_error(PartitionError(Recovery.TAKE_OVER, _NOT_CURRENT))
            self.sender.dispatch(partition)
        return bool(well)

    async def _keep_alive(self) -> None:
        """Let the target remember our transactional ids: an empty transaction each hour."""
        if time.monotonic() - self._kept_alive < _KEEP_ALIVE_S:
            return
        takeover = self.producers.connections.takeover
        async with takeover.turn:
            for each in self.producers.identities:
                await takeover.target.fence(
                    each.transactional_id, each.producer, [takeover.anchors.partition]
                )
        self._kept_alive = time.monotonic()
