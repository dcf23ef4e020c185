"""Begin an epoch: who we are for the brokers, and where each partition goes on."""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial
from typing import TYPE_CHECKING

from replication.client.network import Fenced
from replication.copier.partition.position import Position
from replication.copier.takeover.producer_ids import claimant, entry_of
from replication.copier.takeover.start_position import Placing, settle_isolation
from replication.model import BY_ID
from replication.provenance.origins import rule_of
from replication.provenance.record_headers import Birthplace, Recast
from replication.state import PRODUCERS_TOPIC, flow_topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.client.network import Network
    from replication.client.producer_identity import Claimant
    from replication.copier.partition.partition_copy import Lane
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Clusters

_TRIES = 10
_PARTITION_PATIENCE_S = 3.0  # for the leader of a partition that has just been made


async def start(spec: UnitSpec, ends: Clusters) -> tuple[Claimant, list[Lane], int]:
    """Take the unit's partitions over. Return who we are, the lanes, and how many were counted.

    Raises ClusterUnavailable, ClusterRejected, or FlowTaken when a newer driver is at work.
    """
    await learn(spec, ends)
    for _ in range(_TRIES):
        try:
            return await _take_all(spec, ends)
        except Fenced:
            # A sister unit took over a partition that was ours, and our transactional id with it.
            # A newer driver would have left a claim of higher rank, which ends this as FlowTaken.
            await asyncio.sleep(random.uniform(0.05, 0.5))  # noqa: S311 -- no secret, a pause
    return await _take_all(spec, ends)


async def learn(spec: UnitSpec, ends: Clusters) -> None:
    """Ask both clusters for the topics of the unit, and the target for those of its state."""
    sources = {each.source.topic for each in spec.partitions}
    targets = {each.target.topic for each in spec.partitions}
    states = {*flow_topics(spec.source_alias), PRODUCERS_TOPIC}
    await asyncio.gather(ends.source.refresh(sources), ends.target.refresh(targets | states))
    await _await_leaders(spec, ends.target)


async def _await_leaders(spec: UnitSpec, target: Network) -> None:
    """Give partitions whose leader has just gone, or not yet come, a moment."""
    deadline = time.monotonic() + _PARTITION_PATIENCE_S
    while time.monotonic() < deadline:
        topics = {e.target.topic for e in spec.partitions if target.leader(e.target) is None}
        if not topics:
            return
        await asyncio.sleep(0.1)
        await target.refresh(topics)


async def _take_all(spec: UnitSpec, ends: Clusters) -> tuple[Claimant, list[Lane], int]:
    await ends.takeover.read_anchors()
    await ends.takeover.read_registry()
    me = await claimant(spec, ends)
    await ends.takeover.anchors.own(me.producer)
    lanes, counted = await take_lanes(spec.for_claimant(me), ends, me)
    return me, lanes, counted


async def take_lanes(spec: UnitSpec, ends: Clusters, me: Claimant) -> tuple[list[Lane], int]:
    """Place all partitions of ``spec`` and take them over for ``me``, as ``start`` does."""
    placing = Placing(spec, ends, _copied_before(spec, ends))
    await ends.takeover.register(entry_of(spec, ends, me))
    lanes = list(await asyncio.gather(*map(placing.place, spec.partitions)))
    settle_isolation(lanes, spec.copying.isolation)
    _give_passages(lanes, ends, spec)
    await ends.takeover.anchors.append(placing.losses)
    counted = await ends.takeover.take([each for each in lanes if each.topic_id], me)
    await _begin_again(placing.restarts, ends)
    return lanes, counted


def _give_passages(lanes: Iterable[Lane], ends: Clusters, spec: UnitSpec) -> None:
    """Let each lane copy by the rule in its claim."""
    passage, source_id = ends.registry.origins.passage, ends.source.cluster_id
    stamp = Birthplace(source_id, spec.source_alias) if spec.stamps else None
    for lane in lanes:
        rule = rule_of(lane.claimed.origins, ends.target.cluster_id)
        by_id = rule is not None and rule.by == BY_ID
        lane.passage = partial(passage, rule=rule) if rule is not None and by_id else None
        lane.look_up = partial(ends.registry.look_up, needed=spec.copies_come)
        shown = None if by_id else rule
        lane.recast = Recast(lane.source, shown, stamp) if shown or stamp else None


def _copied_before(spec: UnitSpec, ends: Clusters) -> bool:
    """Say whether the registry knows an earlier appender of a flow that has no anchor at all."""
    if ends.takeover.seen:
        return False
    return any(
        each.flow == spec.flow and each.generation != spec.generation
        for each in ends.takeover.producers.entries.values()
    )


async def _begin_again(restarts: Mapping[Lane, int], ends: Clusters) -> None:
    """Set lanes whose source topic is another one to its start, and say so in their anchors.

    Not sooner: what was counted on the target is of the old topic. Not later: what is appended
    from now on must be counted from here.
    """
    for lane, begin in restarts.items():
        target = max(lane.counted, lane.acked.target if lane.acked else 0)
        lane.moved_to(Position(begin, target))
        lane.position, lane.skip = begin, 0
    now = int(time.time() * 1000)
    anchors = [each.course.note(each.anchor(now)) for each in restarts]
    await ends.takeover.anchors.append(anchors)
