"""The producers of a transform's tasks: registered and fenced, with the positions to go on at.

A driver gets a new epoch of every producer that the transform may have had before it reads an
anchor: from then on no former task commits anything, and no former driver, so the anchors are exact
(decision 0015).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.client.error_codes import named_error
from replication.client.producer_identity import ProducerIdentity
from replication.client.state_topic.state_log import StateLog
from replication.clock import now_ms
from replication.copier.takeover.target_registry import TargetRegistry
from replication.copier.unit_assignment import unit_of
from replication.errors import ClusterRejected
from replication.model import LATEST_TIMESTAMP, Mode, PartitionState, TopicPartition
from replication.state import (
    PRODUCERS_TOPIC,
    Anchor,
    Claim,
    ProducerEntry,
    TransformPoint,
    TransformStart,
    anchors_topic,
    offsets_topic,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from replication.state import Stored
    from spark_jobs.transform.task.task_process import Connected
    from spark_jobs.transform.task.work import TaskClusters

_NAMED = ".transform."


@dataclass(slots=True)
class SlotProducers:
    """Fences, gets and registers the producers of one transform's slots."""

    clusters: TaskClusters
    connected: Connected
    generation: int
    number: int  # of the transform in the flow
    slots: int
    identities: dict[int, ProducerIdentity] = field(default_factory=dict)  # of the slots' tasks
    anchors: dict[TopicPartition, Anchor] = field(default_factory=dict)  # of the whole flow
    start: TransformStart | None = None  # since when the transform works as it works now
    point: TransformPoint | None = None  # the last one that was stored
    _own: ProducerIdentity = field(init=False)  # of the driver itself
    _log: StateLog = field(init=False)
    _points: StateLog = field(init=False)
    _registry: TargetRegistry = field(init=False)

    def __post_init__(self) -> None:
        target = self.connected.target
        self._log = StateLog(target, anchors_topic(self.clusters.source_alias))
        self._points = StateLog(target, offsets_topic(self.clusters.source_alias))
        self._registry = TargetRegistry(StateLog(target, PRODUCERS_TOPIC), self._log)

    async def take(self) -> None:
        """Fence former tasks, get new epochs, and read the anchors to the end.

        Raises ClusterUnavailable, ClusterRejected.
        """
        target = self.connected.target
        await target.refresh([self._log.topic, PRODUCERS_TOPIC])
        await self.connected.source.refresh([])
        await self._find_passes()
        await self._read()
        await self._registry.read()
        names = [self._name(number) for number in range(self.slots + 1)]
        for name in sorted(self._former() - {*names}):
            await target.init_producer_id(name)
        found = [
            ProducerIdentity(name, *await target.init_producer_id(name), self.generation)
            for name in names
        ]
        self.identities, self._own = dict(enumerate(found[:-1])), found[-1]
        await self._registry.register(*map(self._entry, found))
        me = self._own
        await target.fence(me.transactional_id, me.producer, [self._log.partition])
        await self._log.wait_for_markers({me.producer_id: me.epoch})
        await self._read()

    async def _find_passes(self) -> None:
        """Find the clusters that records of the source may have been on before, by its registry.

        A transform's results count as records that were on all of them: so no flow brings them back
        to where any of their sources came from (P2).
        """
        if not self.clusters.source_has_copies:
            return
        registry = self.connected.registry
        nobody = -time.time_ns()  # no producer has this id, and it was never looked up
        await registry.look_up({nobody}, needed=True)
        ways = (each.came_by for each in registry.origins.entries.values())
        target = self.clusters.target_id or self.connected.target.cluster_id
        passes = frozenset(e for way in ways if target not in way for e in way)
        self.clusters = replace(self.clusters, passes=passes)

    def appender(self, partition: TopicPartition) -> tuple[str, int]:
        """Return the task's producer of a partition, as anchors list it."""
        me = self.identities[unit_of(*partition, self.slots)]
        return me.transactional_id, me.producer_id

    async def fence_appenders(self, partitions: Collection[TopicPartition]) -> None:
        """Fence those that may still append to these partitions, and read their last anchors.

        They are the units that copied the topics before they were transformed.
        """
        named = {
            name
            for where in partitions
            if (anchor := self.anchors.get(where)) is not None and not anchor.clean
            for name, _ in anchor.appenders
            if name and _NAMED not in name
        }
        for name in sorted(named):
            await self.connected.target.init_producer_id(name)
        if named:
            me = self._own
            await self.connected.target.fence(
                me.transactional_id, me.producer, [self._log.partition]
            )
            await self._read()

    async def end(self, partitions: Collection[TopicPartition]) -> None:
        """Fence the tasks; the anchors of these partitions say then that nobody may append.

        So a unit ends, too: a switchover requires it. Asks the target alone, and leaves alone what
        somebody with a higher generation has claimed. Raises as ``take``.
        """
        target, me = self.connected.target, self._own
        # Another driver may have the transform by now: its tasks are not to be fenced.
        await target.fence(me.transactional_id, me.producer, [self._log.partition])
        for each in self.identities.values():
            await target.init_producer_id(each.transactional_id)
        await self._read()
        known = [self.anchors[each] for each in partitions if each in self.anchors]
        unclean = [each for each in known if not each.clean and is_exact(each)]
        mine = [each for each in unclean if each.generation <= self.generation]
        if mine:
            await self.write(*(replace(each, clean=True, at_ms=now_ms()) for each in mine))

    async def begin(self, start: TransformStart, counts: Mapping[str, int]) -> None:
        """Store a start, with the ends of those target topics that it does not name yet."""
        new = {topic: counts[topic] for topic in sorted(counts.keys() - start.targets.keys())}
        targets = {**start.targets, **await self._ends(new)}
        wall_ms = now_ms()
        began_ms = start.began_ms or wall_ms
        self.start = replace(start, targets=targets, at_ms=wall_ms, began_ms=began_ms)
        await self.write(self.start)

    async def note(self, point: TransformPoint) -> None:
        """Store a point, with the ends of all target topics: nothing is open now.

        Another driver may have written on, when this one asked for the ends. Raises as ``take``.
        """
        topics = {} if self.start is None else self.start.targets
        counts = {topic: len(each) for topic, each in topics.items()}
        point = replace(point, targets=await self._ends(counts))
        await self._commit(self._points, [point])
        self.point = point

    async def _ends(self, counts: Mapping[str, int]) -> dict[str, list[int]]:
        """Return the ends of topics, by their numbers of partitions."""
        target = self.connected.target
        await target.refresh(counts)
        partitions = [
            TopicPartition(name, n) for name, count in counts.items() for n in range(count)
        ]
        found = await asyncio.gather(*(target.offset_at(e, LATEST_TIMESTAMP) for e in partitions))
        ends = dict(zip(partitions, found, strict=True))
        return {
            name: [ends[TopicPartition(name, n)] for n in range(count)]
            for name, count in counts.items()
        }

    async def write(self, *stored: Stored) -> None:
        """Write anchors and losses of partitions that no task has now. Raises as ``take``."""
        await self._commit(self._log, stored)

    async def _commit(self, log: StateLog, stored: Sequence[Stored]) -> None:
        """Append in a transaction, which a driver that was fenced cannot commit.

        It may have been frozen while another one went on: then its positions are of before.
        """
        target, me = self.connected.target, self._own
        await target.refresh([log.topic])
        name, where = me.transactional_id, [log.partition]
        for refused, error in (await target.add_to_transaction(name, me.producer, where)).items():
            raise ClusterRejected(f"writing {refused}: {named_error(error)}")
        await log.append(stored, me)
        await target.end_transaction(name, me.producer, commit=True)

    async def _read(self) -> None:
        for each in await self._log.read_on():
            if isinstance(each, ProducerEntry):
                self._registry.note(each)
            elif isinstance(each, Anchor) and each.flow == self.clusters.flow:
                self.anchors[TopicPartition(each.topic, each.partition)] = each
            elif isinstance(each, TransformStart) and each.flow == self.clusters.flow:
                self.start = each if each.number == self.number else self.start
            elif isinstance(each, Claim) and each.flow == self.clusters.flow:
                self._claimed(each)

    def _claimed(self, claim: Claim) -> None:
        where = TopicPartition(claim.topic, claim.partition)
        known = self.anchors.get(where) or Anchor(claim.flow, *where, "", None, None)
        self.anchors[where] = replace(
            known, appenders=claim.appenders, generation=claim.generation, clean=False
        )

    def _name(self, slot: int) -> str:
        """Return a slot's transactional id, another one for records that came other ways (P3).

        The number behind the last slot's is the driver's.
        """
        way = "".join(f"~{each}" for each in sorted(self.clusters.passes))
        return f"isthmus.{self.clusters.flow}{_NAMED}{self.number}.{slot}{way and '~'}{way}"

    def _former(self) -> set[str]:
        """Return the transactional ids that this transform ever had, by the registry."""
        begin = f"isthmus.{self.clusters.flow}{_NAMED}{self.number}."
        known = self._registry.ids(self.clusters.flow, self.anchors.values()).values()
        return {each for each in known if each.startswith(begin)}

    def _entry(self, me: ProducerIdentity) -> ProducerEntry:
        source_id = self.connected.source.cluster_id
        return ProducerEntry(
            me.producer_id,
            self.clusters.flow,
            source_id,
            me.transactional_id,
            now_ms(),
            me.generation,
            (source_id, *sorted(self.clusters.passes - {source_id})),
            self.clusters.source_alias,
        )


def is_exact(anchor: Anchor) -> bool:
    """Say whether an anchor is where copying ended: clean, or committed with its records."""
    return anchor.clean or anchor.mode == Mode.TRANSACTIONAL


def halted(anchor: Anchor, state: PartitionState, reason: str) -> Anchor:
    """Return the anchor of a partition that waits, at its position."""
    return replace(anchor, state=state, reason=reason, at_ms=now_ms())
