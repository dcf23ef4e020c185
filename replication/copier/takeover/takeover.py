"""Takeover: claims partitions, fences their former appenders and finds the copy position.

B  After an unclean end nothing about the target is trusted before our own fence marker is in the
   partition. A takeover is: a new producer epoch, an empty transaction on the target partitions,
   its abort. From the marker on the broker rejects the former appender.
T  A transactional unit's position is its committed anchor: after the marker in the anchors topic
   no transaction of a former appender can be committed, so nothing is counted.
F  A producer id is in the registry on the target, acked, before its first append, and a second
   time among the anchors: what one of the two has lost is restored from the other.
L  A partition whose anchor is missing was not copied only if nothing of ours says so: see
   lost_anchor.
R  A producer without a transactional id fences and counts nothing, and is not counted: see
   at_least_once.
G  A clean end needs no marker: the next owner only takes a new epoch.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.clock import now_ms
from replication.copier.partition.position import missing_appenders, outranks
from replication.copier.takeover.at_least_once import back_to_anchors, cannot_count, ends_of
from replication.copier.takeover.claims import begin_at, claim_of, is_committed, is_mine
from replication.copier.takeover.content_position import set_position, without_anchor_range
from replication.copier.takeover.own_record_count import (
    appenders_of,
    count_own,
    unfenced_ids,
)
from replication.copier.takeover.target_registry import TargetRegistry
from replication.errors import ClusterRejected, FlowTaken
from replication.model import PartitionState, ProducerIdAndEpoch, TopicPartition
from replication.state import Anchor, Claim, ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from replication.client.network import Network
    from replication.client.producer_identity import ProducerIdentity
    from replication.client.state_topic.state_log import StateLog
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.provenance.origins import ReplicationPath

_MAX_CLAIMS = 20  # rounds; late records of a fenced appender take two
# A lease of 10 s (W), then 15 s each until process and kernel have sent a request or lost it.
_REQUEST_TIMEOUT_S = 40.0
_KEEP_ALIVE_S = 5.0


@dataclass(slots=True)
class Takeover:
    """Claims partitions for one unit; remembers the anchors that it has read."""

    flow: str
    target: Network
    anchors: StateLog
    registry: StateLog
    source: Network  # to look for a position by content
    # Since when a former producer id is known to be replaced, in monotonic seconds. Kept for the
    # next takeover: an epoch may be shorter than the wait.
    replaced: dict[int, float] = field(default_factory=dict)
    seen: dict[TopicPartition, Anchor] = field(default_factory=dict)  # with the claims on them
    entries: TargetRegistry = field(init=False)
    # The last producers without a transactional id.
    plain: dict[ReplicationPath, ProducerIdAndEpoch] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # of a transaction, or of its fence
    waits: str = ""  # what the last takeover waited for, or waits for

    def __post_init__(self) -> None:
        self.entries = TargetRegistry(self.registry, self.anchors)

    async def read_anchors(self) -> list[Anchor]:
        """Read on to the end of the anchors topic; return the flow's new anchors."""
        new = []
        for each in await self.anchors.read_on():
            if isinstance(each, Anchor | Claim) and each.flow == self.flow:
                new.append(self._see(each))
            elif isinstance(each, ProducerEntry):
                self.entries.note(each)
        return new

    def _see(self, record: Anchor | Claim) -> Anchor:
        """Remember a partition's anchor; a claim changes who may append, not the position."""
        key = TopicPartition(record.topic, record.partition)
        if isinstance(record, Claim):
            known = self.seen.get(key) or Anchor(
                record.flow, record.topic, record.partition, "", None, None
            )
            record = replace(
                known,
                appenders=record.appenders,
                generation=record.generation,
                epoch=record.epoch,
                clean=False,
            )
        self.seen[key] = record
        return record

    async def restore_registry(self) -> None:
        """Write what the registry lacks of this flow's producer ids, after the anchors were read.

        Anchors of another cluster that had the source's alias prove nothing about their appenders.
        """
        same = [each for each in self.seen.values() if self._is_of_source(each)]
        await self.entries.restore(self.flow, self.source.cluster_id, same)

    def _is_of_source(self, anchor: Anchor) -> bool:
        topic_id = self.source.topic_id(anchor.topic)
        return topic_id is not None and anchor.source_topic_id == topic_id.hex()

    def flow_ids(self) -> dict[int, str]:
        """Return the transactional ids of the flow's producer ids, as far as any state has them."""
        return self.entries.ids(self.flow, self.seen.values())

    async def take(self, partitions: Sequence[PartitionCopy], me: ProducerIdentity) -> int:
        """Claim ``partitions``, fence their other appenders, and find their positions.

        ``claimed`` of a partition is the last anchor known, or one of a clean start. Returns how
        many partitions had to be fenced and counted. Raises FlowTaken when a unit of a higher rank
        claims one of them, ClusterUnavailable when the target does not answer in time.
        """
        self.waits = ""
        unclean = {partition for partition in partitions if not partition.claimed.clean}
        for partition in partitions:
            partition.claim_for(me)
        unclean |= await self._claim(partitions, me)
        for partition in partitions:
            partition.begin(me, exact=partition not in unclean)
        if unclean and me.fences:
            await self._fence_and_count(sorted(unclean, key=lambda each: each.target), me)
            await self._claim(partitions, me, again=False)  # in case a late anchor covered a claim
        elif unclean:
            await back_to_anchors(await ends_of(self.target, list(unclean)), self.anchors)
        now = now_ms()
        await self.anchors.append(
            [each.anchor(now) for each in partitions if self._lacks_anchor(each)]
        )
        return len(unclean)

    def _lacks_anchor(self, partition: PartitionCopy) -> bool:
        """Say whether an exact position must be written to the log before the first append.

        Otherwise the next owner would not know the mode of the copied records, or where they start.
        """
        seen = self.seen.get(partition.source)
        return partition.exact and (
            seen is None
            or seen.source is None
            or (seen.mode, seen.target_topic) != (partition.mode, partition.target.topic)
        )

    async def _claim(
        self, partitions: Sequence[PartitionCopy], me: ProducerIdentity, *, again: bool = True
    ) -> set[PartitionCopy]:
        """Write the claims until no claim of another unit is between them and the log end.

        Returns the partitions that another unit claimed too. Without ``again`` claims are written
        only where another unit's record came after ours. Raises ClusterRejected when a unit of the
        same rank keeps claiming: no plan gives a partition to two units.
        """
        contested: set[PartitionCopy] = set()
        to_write = set(partitions) if again else set()
        for _ in range(_MAX_CLAIMS):
            await self.anchors.append([claim_of(each) for each in to_write])
            to_write = await self.read_new_claims(partitions, me)
            contested |= to_write
            if not to_write:
                return contested
        first = min(each.source for each in to_write)
        raise ClusterRejected(
            f"{self.flow}: another unit of this driver claims {first} repeatedly; "
            "each partition must belong to one unit"
        )

    async def read_new_claims(
        self, partitions: Sequence[PartitionCopy], me: ProducerIdentity
    ) -> set[PartitionCopy]:
        """Read on; return the partitions that another unit claimed, and add it to their appenders.

        Raises FlowTaken when the other unit outranks us.
        """
        by_key = {each.source: each for each in partitions}
        contested: set[PartitionCopy] = set()
        for theirs in await self.read_anchors():
            partition = by_key.get(TopicPartition(theirs.topic, theirs.partition))
            if partition is None or is_mine(theirs, me):
                continue
            if outranks(theirs, me):
                raise FlowTaken(
                    f"{self.flow}: another driver (generation {theirs.generation}) "
                    f"took over {theirs.topic}-{theirs.partition}"
                )
            contested.add(partition)
            if more := missing_appenders(theirs, partition.appenders):
                partition.contest((*more, *partition.appenders))
        return contested

    async def _fence_and_count(
        self, partitions: Sequence[PartitionCopy], me: ProducerIdentity
    ) -> None:
        """Write our marker into each partition, then count our records before it (B, C)."""
        producers: dict[str, ProducerIdAndEpoch] = {}
        fenced: set[tuple[str, PartitionCopy]] = set()
        while missing := appenders_of(partitions) - fenced:
            await self._fence(missing, producers, me)
            fenced |= missing
            # Reads what was committed before our marker, and other appenders: a former owner may
            # have added a producer of its own, to forward copies, before it was fenced.
            await self._claim(partitions, me, again=False)
        for partition in partitions:
            partition.contested = False
        committed = [each for each in partitions if is_committed(each, self.seen.get(each.source))]
        for partition in committed:
            begin_at(partition, self.seen[partition.source], me)
        counted = [each for each in partitions if each not in committed]
        # Counting survives retention, truncation and compaction of either log: they are noticed.
        gone = await without_anchor_range(self.source, counted)
        gone |= {each for each in counted if each.sought}
        tails = await count_own(self.target, counted, producers, gone)
        sure = [each for each in counted if not cannot_count(each)]
        for partition in sure:
            if partition.state is PartitionState.RUNNING:
                if partition in tails:  # not fetched until its position is known: no duplicates
                    await set_position(self.source, partition, tails[partition])
                partition.error = None
        again = {each: each.counted.end for each in counted if cannot_count(each)}
        await back_to_anchors(again, self.anchors)

    async def _outwait(
        self, former: AbstractSet[tuple[str, int]], producers: Mapping[str, ProducerIdAndEpoch]
    ) -> None:
        """Wait for what former producer ids sent; meanwhile the target must not forget ours."""
        now = time.monotonic()
        until = _REQUEST_TIMEOUT_S + max(self.replaced.setdefault(each, now) for _, each in former)
        self.waits = (
            f"copying begins in {until - now:.0f} s: until then requests of former producers of "
            f"{', '.join(sorted({name for name, _ in former}))} may still reach the target"
        )
        while (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, _KEEP_ALIVE_S))
            for name, producer in producers.items():
                await self.target.fence(name, producer, [self.anchors.partition])
        self.waits = ""

    async def _fence(
        self,
        missing: AbstractSet[tuple[str, PartitionCopy]],
        producers: dict[str, ProducerIdAndEpoch],
        me: ProducerIdentity,
    ) -> None:
        """Fence the producers with these transactional ids in these partitions.

        ``producers`` holds the ids and epochs of our markers; the new ones are added to it.
        """
        names = sorted({name for name, _ in missing})
        new = {
            each: me.producer
            if each == me.transactional_id
            else await self.target.init_producer_id(each)
            for each in names
            if each not in producers
        }
        producers |= new
        if former := unfenced_ids([partition for _, partition in missing], new):
            # The transactional id has expired or used up its epochs: our marker does not stop the
            # former producer id, but after this wait its lease has lapsed (W), and none of its
            # requests can be in flight.
            # It comes before the fence, so that records appended meanwhile are counted too.
            await self._outwait(former, {each: producers[each] for each in names})
        for name in names:
            theirs = sorted(partition.target for other, partition in missing if other == name)
            await self.target.fence(name, producers[name], [*theirs, self.anchors.partition])
        await self.anchors.wait_for_markers(dict(producers[each] for each in names))
