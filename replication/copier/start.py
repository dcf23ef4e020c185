"""Start a unit: obtain its producer id, find start positions and take its partitions over."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from replication.client.network import Fenced
from replication.client.state_topic.state_log import StateLog
from replication.clock import now_ms
from replication.copier.takeover.placement.isolation import choose_isolation
from replication.copier.takeover.placement.lost_anchor import LostAnchors
from replication.copier.takeover.placement.renamed_topic import (
    find_ends,
    halt_under_old_name,
    under_old_name,
)
from replication.copier.takeover.placement.start_position import StartPositions
from replication.copier.takeover.point_log import store_points
from replication.copier.takeover.producer_ids import entry_of, producer_identity
from replication.model import PartitionState
from replication.provenance.origins import rule_of
from replication.provenance.record_headers import RecordOrigin
from replication.provenance.record_rules import RecordRules
from replication.state import PRODUCERS_TOPIC, flow_topics, offsets_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.client.network import Network
    from replication.client.producer_identity import ProducerIdentity
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections

_TRIES = 10
_LEADER_TIMEOUT_S = 3.0  # for the leader of a new partition


async def start(
    spec: UnitSpec, connections: Connections
) -> tuple[ProducerIdentity, list[PartitionCopy], int]:
    """Take the unit's partitions over. Return its producer, them, and how many were counted.

    Raises ClusterUnavailable, ClusterRejected, or FlowTaken when a newer driver took over.
    """
    await learn(spec, connections)
    for _ in range(_TRIES):
        try:
            return await _take_all(spec, connections)
        except Fenced:
            # Another unit took over a partition of ours, and fenced our transactional id.
            # A newer driver would have left a claim that outranks ours: FlowTaken.
            await asyncio.sleep(random.uniform(0.05, 0.5))  # noqa: S311 -- no secret, a pause
    return await _take_all(spec, connections)


async def learn(spec: UnitSpec, connections: Connections) -> None:
    """Refresh metadata: the unit's topics on both clusters, its state topics on the target."""
    sources = {each.source.topic for each in spec.partitions}
    targets = {each.target.topic for each in spec.partitions}
    states = {*flow_topics(spec.source_alias), PRODUCERS_TOPIC}
    await asyncio.gather(
        connections.source.refresh(sources), connections.target.refresh(targets | states)
    )
    await _await_leaders(spec, connections.target)


async def _await_leaders(spec: UnitSpec, target: Network) -> None:
    """Wait a moment for partitions without a leader."""
    deadline = time.monotonic() + _LEADER_TIMEOUT_S
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
    await connections.takeover.entries.read()
    me = await producer_identity(spec, connections)
    await connections.takeover.anchors.own(me.producer)
    await connections.takeover.restore_registry()
    partitions, counted = await take_partitions(spec.for_identity(me), connections, me)
    return me, partitions, counted


async def take_partitions(
    spec: UnitSpec, connections: Connections, me: ProducerIdentity
) -> tuple[list[PartitionCopy], int]:
    """Find the start positions of ``spec`` and take its partitions over for ``me``."""
    halted, ended = await _end_old_names(spec, connections, me)
    kept = {each.source for each in halted}
    rest = tuple(each for each in spec.partitions if each.source not in kept)
    partitions, counted = await _take_placed(replace(spec, partitions=rest), connections, me)
    return [*partitions, *halted], ended + counted


async def _end_old_names(
    spec: UnitSpec, connections: Connections, me: ProducerIdentity
) -> tuple[list[PartitionCopy], int]:
    """Fence and count partitions under their old names, and write clean anchors.

    A copy that ended uncleanly has a position that lags: under the new name, records between it and
    the last append would be copied a second time (D). Returns those that could not be ended, halted
    under the old name, and how many were counted.
    """
    seen = connections.takeover.seen
    plans = (under_old_name(each, seen.get(each.source)) for each in spec.partitions)
    old = tuple(each for each in plans if each is not None)
    if not old:
        return [], 0
    await connections.target.refresh({each.target.topic for each in old})
    partitions, counted = await _take_placed(replace(spec, partitions=old), connections, me)
    running = [each for each in partitions if each.state is PartitionState.RUNNING]
    await find_ends(connections.source, [each for each in running if each.counted.skip])
    now = now_ms()
    ended = [each for each in running if each.exact]
    await connections.takeover.anchors.append([each.anchor(now, clean=True) for each in ended])
    await connections.takeover.read_anchors()
    halted = [each for each in partitions if each not in ended]
    for each in halted:
        halt_under_old_name(each)
    return halted, counted


async def _take_placed(
    spec: UnitSpec, connections: Connections, me: ProducerIdentity
) -> tuple[list[PartitionCopy], int]:
    # Before this start is registered: a flow that has never copied has lost nothing.
    ids = connections.takeover.flow_ids()
    start_positions = StartPositions(spec, connections, LostAnchors(spec, connections, ids))
    await connections.takeover.entries.register(entry_of(spec, connections, me))
    partitions = list(await asyncio.gather(*map(start_positions.place, spec.partitions)))
    choose_isolation(partitions, spec.copying.isolation)
    _decide_rules(partitions, connections, spec)
    await connections.takeover.anchors.append(start_positions.losses)
    counted = await connections.takeover.take([each for each in partitions if each.topic_id], me)
    points = StateLog(connections.target, offsets_topic(spec.source_alias))
    await _restart(start_positions.restarts, connections, points)
    return partitions, counted


def _decide_rules(
    partitions: Iterable[PartitionCopy], connections: Connections, spec: UnitSpec
) -> None:
    """Decide from each partition's claim which of its records are copied."""
    source, target = connections.source.cluster_id, connections.target.cluster_id
    stamp = RecordOrigin(source, spec.source_alias) if spec.stamps else None
    for partition in partitions:
        partition.rules = RecordRules.of(
            partition.source,
            rule_of(partition.claimed.origins, target),
            connections.registry,
            stamp=stamp,
            needed=spec.source_has_copies,
        )


async def _restart(
    restarts: Mapping[PartitionCopy, int], connections: Connections, points: StateLog
) -> None:
    """Restart partitions of a recreated source topic at its beginning, and write their anchors.

    Not sooner: the records counted on the target are of the old topic. Not later: records that are
    appended from now on must be counted from here.
    """
    for partition, begin in restarts.items():
        partition.go_on_at(begin)
    now = now_ms()
    anchors = [each.offset_points.note(each.anchor(now)) for each in restarts]
    await store_points(points, restarts)
    await connections.takeover.anchors.append(anchors)
