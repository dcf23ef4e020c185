"""Begin an epoch: who we are for the brokers, and where each partition goes on."""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial
from typing import TYPE_CHECKING

from replication.client.network import Fenced
from replication.copier.partition.position import Position
from replication.copier.takeover.producer_ids import entry_of, producer_identity
from replication.copier.takeover.start_position import StartPositions, choose_isolation
from replication.model import BY_ID
from replication.provenance.origins import rule_of
from replication.provenance.record_headers import OriginHeaders, RecordOrigin
from replication.state import PRODUCERS_TOPIC, flow_topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.client.network import Network
    from replication.client.producer_identity import ProducerIdentity
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections

_TRIES = 10
_PARTITION_PATIENCE_S = 3.0  # for the leader of a partition that has just been made


async def start(
    spec: UnitSpec, connections: Connections
) -> tuple[ProducerIdentity, list[PartitionCopy], int]:
    """Take the unit's partitions over. Return who we are, the lanes, and how many were counted.

    Raises ClusterUnavailable, ClusterRejected, or FlowTaken when a newer driver is at work.
    """
    await learn(spec, connections)
    for _ in range(_TRIES):
        try:
            return await _take_all(spec, connections)
        except Fenced:
            # A sister unit took over a partition that was ours, and our transactional id with it.
            # A newer driver would have left a claim of higher rank, which ends this as FlowTaken.
            await asyncio.sleep(random.uniform(0.05, 0.5))  # noqa: S311 -- no secret, a pause
    return await _take_all(spec, connections)


async def learn(spec: UnitSpec, connections: Connections) -> None:
    """Ask both clusters for the topics of the unit, and the target for those of its state."""
    sources = {each.source.topic for each in spec.partitions}
    targets = {each.target.topic for each in spec.partitions}
    states = {*flow_topics(spec.source_alias), PRODUCERS_TOPIC}
    await asyncio.gather(
        connections.source.refresh(sources), connections.target.refresh(targets | states)
    )
    await _await_leaders(spec, connections.target)


async def _await_leaders(spec: UnitSpec, target: Network) -> None:
    """Give partitions whose leader has just gone, or not yet come, a moment."""
    deadline = time.monotonic() + _PARTITION_PATIENCE_S
    while time.monotonic() < deadline:
        topics = {e.target.topic for e in spec.partitions if target.leader(e.target) is None}
        if not topics:
            return
        await asyncio.sleep(0.1)
        await target.refresh(topics)


async def _take_all(
    spec: UnitSpec, connections: Connections
) -> tuple[ProducerIdentity, list[PartitionCopy], int]:
    await connections.takeover.read_anchors()
    await connections.takeover.read_registry()
    me = await producer_identity(spec, connections)
    await connections.takeover.anchors.own(me.producer)
    partitions, counted = await take_partitions(spec.for_identity(me), connections, me)
    return me, partitions, counted


async def take_partitions(
    spec: UnitSpec, connections: Connections, me: ProducerIdentity
) -> tuple[list[PartitionCopy], int]:
    """Place all partitions of ``spec`` and take them over for ``me``, as ``start`` does."""
    placing = StartPositions(spec, connections, _copied_before(spec, connections))
    await connections.takeover.register(entry_of(spec, connections, me))
    partitions = list(await asyncio.gather(*map(placing.place, spec.partitions)))
    choose_isolation(partitions, spec.copying.isolation)
    _give_passages(partitions, connections, spec)
    await connections.takeover.anchors.append(placing.losses)
    counted = await connections.takeover.take([each for each in partitions if each.topic_id], me)
    await _begin_again(placing.restarts, connections)
    return partitions, counted


def _give_passages(
    partitions: Iterable[PartitionCopy], connections: Connections, spec: UnitSpec
) -> None:
    """Let each lane copy by the rule in its claim."""
    path_of, source_id = connections.registry.origins.path_of, connections.source.cluster_id
    stamp = RecordOrigin(source_id, spec.source_alias) if spec.stamps else None
    for partition in partitions:
        rule = rule_of(partition.claimed.origins, connections.target.cluster_id)
        by_id = rule is not None and rule.by == BY_ID
        partition.path_of = partial(path_of, rule=rule) if rule is not None and by_id else None
        partition.look_up = partial(connections.registry.look_up, needed=spec.source_has_copies)
        shown = None if by_id else rule
        partition.recast = OriginHeaders(partition.source, shown, stamp) if shown or stamp else None


def _copied_before(spec: UnitSpec, connections: Connections) -> bool:
    """Say whether the registry knows an earlier appender of a flow that has no anchor at all."""
    if connections.takeover.seen:
        return False
    return any(
        each.flow == spec.flow and each.generation != spec.generation
        for each in connections.takeover.producers.entries.values()
    )


async def _begin_again(restarts: Mapping[PartitionCopy, int], connections: Connections) -> None:
    """Set lanes whose source topic is another one to its start, and say so in their anchors.

    Not sooner: what was counted on the target is of the old topic. Not later: what is appended
    from now on must be counted from here.
    """
    for partition, begin in restarts.items():
        target = max(partition.counted, partition.acked.target if partition.acked else 0)
        partition.moved_to(Position(begin, target))
        partition.position, partition.skip = begin, 0
    now = int(time.time() * 1000)
    anchors = [each.offset_points.note(each.anchor(now)) for each in restarts]
    await connections.takeover.anchors.append(anchors)
