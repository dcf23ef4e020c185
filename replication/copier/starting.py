"""Begin an epoch: who we are for the brokers, and where each partition goes on."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.copier.lane import Lane
from replication.copier.logs import StateLog
from replication.copier.network import Fenced
from replication.copier.replicas import Replicas
from replication.copier.takeover import Takeover
from replication.errors import ReplicationError
from replication.model import PartitionState
from replication.progress import Claimant
from replication.state import PRODUCERS_TOPIC, Anchor, anchors_topic, status_topic

if TYPE_CHECKING:
    from replication.copier.network import Network
    from replication.copier.session import FetchSession
    from replication.copier.spec import UnitSpec
    from replication.model import PartitionPlan

_EARLIEST, _LATEST = -2, -1
_TRIES = 10
_PARTITION_PATIENCE_S = 3.0  # for the leader of a partition that has just been made


@dataclass(frozen=True, slots=True)
class Clusters:
    """Both ends of a flow, and what this process has read of the flow's anchors so far."""

    source: Network
    target: Network
    takeover: Takeover
    sessions: dict[tuple[int, bool], FetchSession] = field(default_factory=dict)  # by place
    replicas: Replicas = field(default_factory=Replicas)


def clusters(flow: str, source: Network, target: Network, source_alias: str) -> Clusters:
    """Return both ends with nothing read yet."""
    anchors = StateLog(target, anchors_topic(source_alias))
    registry = StateLog(target, PRODUCERS_TOPIC)
    return Clusters(source, target, Takeover(flow, target, anchors, registry))


async def start(spec: UnitSpec, ends: Clusters) -> tuple[Claimant, list[Lane], int]:
    """Take the unit's partitions over. Return who we are, the lanes, and how many were counted.

    Raises ClusterUnavailable, ClusterRejected, or FlowTaken when a newer driver is at work.
    """
    sources = {each.source.topic for each in spec.partitions}
    targets = {each.target.topic for each in spec.partitions}
    states = {anchors_topic(spec.source_alias), status_topic(spec.source_alias), PRODUCERS_TOPIC}
    await asyncio.gather(ends.source.refresh(sources), ends.target.refresh(targets | states))
    await _await_leaders(spec, ends.target)
    for _ in range(_TRIES):
        try:
            return await _take_all(spec, ends)
        except Fenced:
            # A sister unit took over a partition that was ours, and our transactional id with it.
            # A newer driver would have left a claim of higher rank, which ends this as FlowTaken.
            await asyncio.sleep(random.uniform(0.05, 0.5))  # noqa: S311 -- no secret, a pause
    return await _take_all(spec, ends)


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
    me = await claimant(spec, ends.target)
    await ends.takeover.anchors.own((me.producer_id, me.epoch))
    await ends.takeover.register(me, ends.source.cluster_id)
    lanes = list(await asyncio.gather(*(_lane(spec, each, ends) for each in spec.partitions)))
    ready = [each for each in lanes if each.topic_id]
    counted = await ends.takeover.take(ready, me)
    return me, lanes, counted


async def claimant(spec: UnitSpec, target: Network) -> Claimant:
    """Get a new epoch of the unit's producer id: whoever had the unit before is older now."""
    producer_id, epoch = await target.init_producer_id(spec.transactional_id)
    return Claimant(spec.transactional_id, producer_id, epoch, spec.generation)


async def _lane(spec: UnitSpec, plan: PartitionPlan, ends: Clusters) -> Lane:
    """Return a lane at its last anchor, or at the place where a new partition begins.

    A lane without ``topic_id`` cannot be taken over now; its state says why.
    """
    topic_id = ends.source.topic_id(plan.source.topic) or b""
    target_id = (ends.target.topic_id(plan.target.topic) or b"").hex()
    known = ends.takeover.seen.get(plan.source)
    lane = Lane(spec.flow, plan, topic_id, known or _unknown(spec.flow, plan))
    if not topic_id:
        lane.park(PartitionState.WAITING, "the source does not know the topic")
    elif known is None or known.source is None or known.target_topic != plan.target.topic:
        await _begin_anew(lane, spec, ends)
    elif known.source_topic_id not in {"", topic_id.hex()}:
        lane.topic_id = b""
        lane.park(PartitionState.SOURCE_RECREATED, "the source topic was deleted and made anew")
    elif ends.target.leader(plan.target) is None:
        lane.topic_id = b""
        lane.park(PartitionState.WAITING, "the target has no such partition, or it has no leader")
    elif known.target_topic_id not in {"", target_id}:
        lane.topic_id = b""
        lane.park(PartitionState.TARGET_RESET, "the target topic was deleted and made anew")
    if lane.topic_id:
        lane.claimed = replace(lane.claimed, target_topic_id=target_id)
    return lane


def _skips_history(plan: PartitionPlan, spec: UnitSpec, ends: Clusters) -> bool:
    """Say whether the flow is to begin at the end of a partition that it has not copied before.

    Only on its very first start: what is born later is copied from its first record.
    """
    copied_before = any(each.generation < spec.generation for each in ends.takeover.seen.values())
    return spec.start == "latest" and not plan.born_later and not copied_before


async def _begin_anew(lane: Lane, spec: UnitSpec, ends: Clusters) -> None:
    """Find the place where a partition that was never copied begins, if its ends answer."""
    plan, at = lane.plan, _LATEST if _skips_history(lane.plan, spec, ends) else _EARLIEST
    try:
        async with asyncio.timeout(_PARTITION_PATIENCE_S):
            begin, end = await asyncio.gather(
                ends.source.offset_at(plan.source, at), ends.target.offset_at(plan.target, _LATEST)
            )
    except (TimeoutError, ReplicationError) as problem:
        lane.topic_id = b""
        reason = str(problem) or "the source or target partition has no leader"
        lane.park(PartitionState.WAITING, reason)
        return
    lane.claimed = replace(
        _unknown(spec.flow, plan), source=begin, target=end, generation=spec.generation
    )


def _unknown(flow: str, plan: PartitionPlan) -> Anchor:
    """Return the anchor of a partition to which nobody has appended yet."""
    return Anchor(
        flow=flow,
        topic=plan.source.topic,
        partition=plan.source.partition,
        target_topic=plan.target.topic,
        source=None,
        target=None,
        clean=True,
    )
