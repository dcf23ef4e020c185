"""The producers of a unit: its own, and one for each way of records that it passes on (P3).

Nothing is taken from a Fetch answer before each of its producer ids is known (P1), and before
there is a producer for each way of records that are to be passed on.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.partition.broker_errors import Remedy, Trouble
from replication.copier.takeover.producer_ids import claimant, entry_of, forwarder
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.provenance.origins import BORN_HERE
from replication.records.batch import producer_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replication.client.producer_identity import Claimant
    from replication.copier.partition.intake import News
    from replication.copier.partition.partition_copy import Lane
    from replication.copier.produce.sender import Appending
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Clusters
    from replication.provenance.origins import Via


@dataclass(slots=True)
class Producers:
    """As whom one unit appends."""

    spec: UnitSpec
    ends: Clusters
    lanes: Sequence[Lane]  # all of the unit
    me: Claimant  # the producer of records that were born at the source
    sender: Appending
    _forwarders: dict[Via, Claimant] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read_new_claims(self) -> None:
        """Read the anchors to their end. Raises FlowTaken when somebody of a higher rank claims."""
        await self.ends.takeover.heed(self.lanes, self.me)

    async def renew(self) -> None:
        """Get a new epoch of our producer id, unless somebody of a higher rank is at work.

        Raises FlowTaken. Partitions without our new marker go on under the epoch they have.
        """
        await self.read_new_claims()
        self.me = await claimant(self.spec, self.ends)
        self._forwarders.clear()  # a takeover fences partitions against new epochs of these, too
        # A transactional id that nobody has used for days gets another producer id (F).
        takeover = self.ends.takeover
        await takeover.register(entry_of(self.spec, self.ends, self.me))
        await takeover.anchors.own(self.me.producer)

    async def producer(self, via: Via, lanes: Iterable[Lane]) -> Claimant:
        """Return the present producer for ``via``; ``lanes`` have it, claimed, afterwards.

        It is registered before (F). The caller has the turn of the takeover.
        """
        if via == BORN_HERE:
            return self.me
        takeover = self.ends.takeover
        if via not in self._forwarders:
            found = await forwarder(self.spec, self.ends, via)
            await takeover.register(entry_of(self.spec, self.ends, found, via))
            self._forwarders[via] = found
        producer = self._forwarders[via]
        new = [each for each in lanes if each.queue.writer.producer_for(via) != producer.producer]
        for lane in new:
            lane.name_appender(producer.transactional_id, producer.producer_id)
        now = int(time.time() * 1000)
        await takeover.anchors.append([each.anchor(now) for each in new])
        for lane in new:
            lane.queue.writer.admit(via, producer.producer)
        return producer

    def ready(self, news: Sequence[News]) -> bool:
        """Say whether all that was fetched can be taken in as it is."""
        ids = _ids(news)
        return not ids or not (
            self._unknown(ids) or any(_lacking(lane, some) for lane, some in ids.items())
        )

    async def prepare(self, news: Sequence[News]) -> None:
        """Learn what the batches are. It takes a while: lanes may have moved afterwards.

        A lane for which that cannot be done has trouble then.
        """
        ids = _ids(news)
        try:
            async with self._turn:
                await self.ends.registry.look_up(self._unknown(ids), needed=self.spec.copies_come)
                await self._admit_all(ids)
        except (ClusterUnavailable, ClusterRejected) as problem:
            for lane in ids:
                lane.suffer(Trouble(Remedy.RETRY, str(problem)))
                self.sender.settle(lane)

    def _unknown(self, ids: Mapping[Lane, set[int]]) -> set[int]:
        return self.ends.registry.origins.unknown({each for some in ids.values() for each in some})

    async def _admit_all(self, ids: Mapping[Lane, set[int]]) -> None:
        lacking: dict[Via, list[Lane]] = defaultdict(list)
        for lane, some in ids.items():
            for via in _lacking(lane, some):
                lacking[via].append(lane)
        for via, lanes in lacking.items():
            async with self.ends.takeover.turn:
                await self.producer(via, [each for each in lanes if each.fetches])


def _ids(news: Sequence[News]) -> dict[Lane, set[int]]:
    """Return whose batches were fetched for each lane that asks for that."""
    return {
        lane: producer_ids(each.records)
        for lane, each in news
        if lane.passage is not None and each.records
    }


def _lacking(lane: Lane, ids: Iterable[int]) -> set[Via]:
    """Return what is to be passed on and has no producer in the lane yet."""
    passage = lane.passage
    if passage is None:
        return set()
    found = {passage(each) for each in ids}
    return {via for via in found if via and lane.queue.writer.producer_for(via) is None}
