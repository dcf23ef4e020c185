"""Begin an epoch: who we are for the brokers, and where each partition goes on."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING

from replication.copier.network import Fenced, NotGranted
from replication.copier.placing import Placing, settle_isolation
from replication.copier.registry import give_passages
from replication.copier.repeating import plain_claimant
from replication.errors import ClusterRejected
from replication.model import Mode
from replication.progress import Claimant, Position
from replication.provenance import onward
from replication.state import PRODUCERS_TOPIC, ProducerEntry, flow_topics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.copier.ends import Clusters
    from replication.copier.lane import Lane
    from replication.copier.network import Network
    from replication.copier.spec import UnitSpec

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
    await ends.takeover.anchors.own((me.producer_id, me.epoch))
    lanes, counted = await take_lanes(spec.for_claimant(me), ends, me)
    return me, lanes, counted


async def take_lanes(spec: UnitSpec, ends: Clusters, me: Claimant) -> tuple[list[Lane], int]:
    """Place all partitions of ``spec`` and take them over for ``me``, as ``start`` does."""
    placing = Placing(spec, ends, _copied_before(spec, ends))
    await ends.takeover.register(entry_of(spec, me, ends.source.cluster_id))
    lanes = list(await asyncio.gather(*map(placing.place, spec.partitions)))
    settle_isolation(lanes, spec.isolation)
    give_passages(lanes, ends, spec)
    await ends.takeover.anchors.append(placing.losses)
    counted = await ends.takeover.take([each for each in lanes if each.topic_id], me)
    await _begin_again(placing.restarts, ends)
    return lanes, counted


def entry_of(spec: UnitSpec, me: Claimant, source_id: str) -> ProducerEntry:
    """Return what the registry has to hold before ``me`` appends (F)."""
    return ProducerEntry(
        me.producer_id,
        spec.flow,
        source_id,
        me.transactional_id,
        int(time.time() * 1000),
        me.generation,
        (source_id,),
        spec.source_alias,
    )


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


async def claimant(spec: UnitSpec, ends: Clusters) -> Claimant:
    """Get a new epoch of the unit's producer id: whoever had the unit before is older now.

    One that cannot fence where the flow asks for no more, or the target refuses and it may.
    """
    if spec.delivery != Mode.AT_LEAST_ONCE:
        try:
            return await _named_claimant(spec, ends)
        except NotGranted as problem:
            if spec.delivery != "auto":
                raise ClusterRejected(
                    f"{spec.flow}: {spec.target_alias} does not grant a producer id ({problem}): "
                    "allow our user WRITE and DESCRIBE on the TransactionalId "
                    f"isthmus.{spec.flow} (prefixed)"
                ) from problem
    me = await plain_claimant(ends.target, ends.takeover.plain, spec.generation)
    ends.takeover.plain = me.producer_id, me.epoch
    if me.producer_id < 0 and spec.origins_matter:
        raise ClusterRejected(
            f"{spec.flow}: {spec.target_alias} gives our user no producer id, so the flows that "
            "read it could not tell our copies from its own records, and they would come home: "
            f"allow it WRITE on the TransactionalId isthmus.{spec.flow} (prefixed), or "
            "IDEMPOTENT_WRITE on the cluster"
        )
    return me


async def _named_claimant(spec: UnitSpec, ends: Clusters) -> Claimant:
    """Get the producer id of the unit's transactional id.

    The alias may name another cluster than it did: what the former one's records were copied by
    stays theirs (P3), and ours get a name that says whose they are.
    """
    here = (ends.source.cluster_id,)
    name = spec.transactional_id
    producer_id, epoch = await ends.target.init_producer_id(name)
    known = ends.takeover.producers.entries.get(producer_id)
    if known is not None and known.came_by != here:
        name = onward(name, here)
        producer_id, epoch = await ends.target.init_producer_id(name)
    return Claimant(name, producer_id, epoch, spec.generation)
