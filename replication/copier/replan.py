"""Another plan for a unit that copies on: what is the same in both is left alone.

Lanes that leave end cleanly (G), lanes that come are placed and taken over as at a start. In
between the unit gets a new epoch of its producer id, because a partition that comes back would go
on with sequences that its broker knows already; lanes that stay go on under the epoch they have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.copier.start import learn, take_partitions
from replication.copier.takeover.start_position import is_bound
from replication.errors import ClusterUnavailable
from replication.model import Mode, PartitionState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.copier.anchor_writer import AnchorWriter
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.partition_upkeep import PartitionUpkeep
    from replication.copier.produce.producers import Producers
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections
    from replication.model import PartitionPlan


@dataclass(frozen=True, slots=True)
class PlanChange:
    """What another plan means for lanes that are copied."""

    removed: tuple[PartitionCopy, ...]
    added: tuple[PartitionPlan, ...]


def change_of(partitions: Sequence[PartitionCopy], plans: Sequence[PartitionPlan]) -> PlanChange:
    """Return what is to be done so that ``plans`` are copied. Pure.

    A lane that is not copied as it is planned is begun anew: that is its next try.
    """
    wanted = set(plans)
    unit_groups = {each.plan for each in partitions if each.plan in wanted and _is_as_planned(each)}
    return PlanChange(
        tuple(each for each in partitions if each.plan not in unit_groups),
        tuple(each for each in plans if each not in unit_groups),
    )


def _is_as_planned(partition: PartitionCopy) -> bool:
    """Say whether a lane is copied, and under the rule that is asked for; a crash may bind it."""
    running = partition.state is PartitionState.RUNNING
    return running and partition.claimed.origins == partition.plan.origins


@dataclass(slots=True)
class Replan:
    """Carries changes out for one unit."""

    connections: Connections
    producers: Producers
    upkeep: PartitionUpkeep
    anchor_writer: AnchorWriter

    async def remove(self, partitions: Sequence[PartitionCopy]) -> None:
        """Copy ``partitions`` no more, and say so in their anchors."""
        self.upkeep.remove(partitions)
        await self.anchor_writer.drain(
            partitions
        )  # before what waits is dropped, for it may be on the wire
        if any(each.queue.responses_due for each in partitions):
            # What is on the wire lies in buffers that others would fill: all begin anew instead.
            raise ClusterUnavailable("the target does not answer requests in flight")
        for partition in partitions:
            partition.forget()
        await self.anchor_writer.end_cleanly(partitions)
        self.anchor_writer.forget(partitions)

    async def take(self, spec: UnitSpec, plans: Sequence[PartitionPlan]) -> list[PartitionCopy]:
        """Place ``plans`` and take them over; return their lanes, of which nobody knows yet.

        Raises ClusterUnavailable when they would have to be copied in another way than the others.
        """
        connections, spec = self.connections, replace(spec, partitions=tuple(plans))
        await learn(spec, connections)
        await self.producers.read_new_claims()
        for each in plans:
            known = connections.takeover.seen.get(each.source)
            if known is not None and is_bound(known) and known.isolation != spec.copying.isolation:
                raise ClusterUnavailable(f"{each.source}: must be counted as {known.isolation}")
        await self.producers.renew()
        if self.producers.me.fences is (spec.copying.delivery == Mode.AT_LEAST_ONCE):
            raise ClusterUnavailable(f"{spec.flow}: {spec.target_alias} now grants different ACLs")
        partitions, counted = await take_partitions(spec, connections, self.producers.me)
        self.upkeep.takeovers += counted
        return partitions

    async def begin(self, partitions: Sequence[PartitionCopy]) -> None:
        """Copy ``partitions`` like all others."""
        self.anchor_writer.keep(partitions)
        await self.upkeep.arrange(partitions)
