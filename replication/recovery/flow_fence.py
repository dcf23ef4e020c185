"""Fences the producers of a flow from outside its units: after it no record of theirs is appended.

Invariant B without a copy that follows: a claim of a higher generation tells each unit that it has
been outranked, so it does not get itself a new epoch; a new epoch and an aborted transaction on the
target partitions make the brokers reject what is still on its way. A producer without a
transactional id (an at-least-once copy) cannot be fenced: its unit reads the claim before it renews
its lease (W), so it appends nothing after the wait. The next driver takes over as after a crash:
the anchors and the appenders that they list stay as they are.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.model import TopicPartition
from replication.state import Anchor, Claim

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.client.network import Network
    from replication.client.state_topic.state_log import StateLog
    from replication.model import ProducerIdAndEpoch

# How long what a former producer id sent may be on its way; as in ``copier.takeover.takeover`` (W).
_REQUEST_TIMEOUT_S = 40.0


@dataclass(slots=True)
class Appenders:
    """Who may append to each partition of a flow, from its anchors and claims in log order."""

    flow: str
    anchors: dict[TopicPartition, Anchor] = field(default_factory=dict)

    def learn(self, records: Iterable[object]) -> None:
        """Add records of the anchors topic, oldest first."""
        for each in records:
            match each:
                case Anchor(flow=self.flow):
                    self.anchors[TopicPartition(each.topic, each.partition)] = each
                case Claim(flow=self.flow):
                    where = TopicPartition(each.topic, each.partition)
                    none = Anchor(self.flow, *where, "", None, None)
                    self.anchors[where] = replace(
                        self.anchors.get(where, none),
                        appenders=each.appenders,
                        generation=each.generation,
                        epoch=each.epoch,
                        clean=False,
                    )
                case _:
                    pass

    @property
    def unclean(self) -> dict[TopicPartition, Anchor]:
        """The partitions to which a producer may append."""
        return {where: each for where, each in self.anchors.items() if not each.clean}

    def above(self, generation: int) -> int:
        """Return one above ``generation`` of the flow's status, which may be lost, and of these."""
        return 1 + max(generation, *(each.generation for each in self.anchors.values()), 0)


@dataclass(frozen=True, slots=True)
class FenceResult:
    """The producers of our markers, by transactional id, and the anchors afterwards.

    ``unclean`` are the partitions to which a producer could append before.
    """

    markers: Mapping[str, ProducerIdAndEpoch] = field(default_factory=dict)
    anchors: Mapping[TopicPartition, Anchor] = field(default_factory=dict)
    unclean: frozenset[TopicPartition] = frozenset()


async def fence_flow(flow: str, target: Network, log: StateLog, generation: int) -> FenceResult:
    """Fence all producers that may append to a partition of ``flow``; return which they were.

    ``log`` is the anchors topic, ``generation`` higher than that of the flow's driver. Raises
    ClusterUnavailable, ClusterRejected.
    """
    seen = Appenders(flow)
    seen.learn(await log.read_on())
    unclean = frozenset(seen.unclean)
    fenced: dict[str, ProducerIdAndEpoch] = {}
    waited = False
    while True:
        outranked = [each for each in seen.unclean.values() if each.generation < generation]
        await log.append([_claim(each, generation) for each in outranked])
        if not waited and any(map(has_plain_producer, seen.unclean.values())):
            await _outwait()
            waited = True
        seen.learn(await log.read_on())
        names = {name for each in seen.unclean.values() for name, _ in each.appenders if name}
        if not names - fenced.keys():
            return FenceResult(fenced, seen.anchors, unclean)
        fenced |= await _fence(names - fenced.keys(), seen.unclean, target, log)
        seen.learn(await log.read_on())


def has_plain_producer(anchor: Anchor) -> bool:
    """Say whether a producer without a transactional id may append to the partition."""
    return not all(name for name, _ in anchor.appenders)


def _claim(anchor: Anchor, generation: int) -> Claim:
    """Return a claim that outranks the appenders and adds none."""
    return Claim(
        anchor.flow, anchor.topic, anchor.partition, anchor.appenders, generation, anchor.epoch
    )


async def _outwait() -> None:
    await asyncio.sleep(_REQUEST_TIMEOUT_S)


async def _fence(
    names: Collection[str],
    unclean: Mapping[TopicPartition, Anchor],
    target: Network,
    log: StateLog,
) -> dict[str, ProducerIdAndEpoch]:
    new = {name: await target.init_producer_id(name) for name in sorted(names)}
    listed = {pair for each in unclean.values() for pair in each.appenders}
    if any(name in new and new[name].producer_id != number for name, number in listed):
        # Its transactional id has expired: the marker has another producer id and stops nobody.
        await _outwait()
    await target.refresh({each.target_topic for each in unclean.values() if each.target_topic})
    for name, producer in new.items():
        theirs = sorted(
            TopicPartition(each.target_topic, each.partition)
            for each in unclean.values()
            if name in dict(each.appenders) and target.topic_id(each.target_topic) is not None
        )
        await target.fence(name, producer, [*theirs, log.partition])
    await log.wait_for_markers(dict(new.values()))
    return new
