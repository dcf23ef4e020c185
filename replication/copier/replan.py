"""Apply a new partition plan to a running unit: remove and add the partitions that differ.

Removed partitions end cleanly (G), added ones get a start position and are taken over as at a
start. Between both the unit gets a new epoch of its producer id, because a partition that is added
again would reuse sequences that its broker knows; the others keep their present epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.copier.start import learn, take_partitions
from replication.copier.takeover.placement.isolation import is_bound
from replication.errors import ClusterUnavailable
from replication.model import Mode, PartitionState
from replication.provenance.origins import carried_over

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
    """The difference between a new plan and the partitions that are copied."""

    removed: tuple[PartitionCopy, ...]
    added: tuple[PartitionPlan, ...]


def change_of(partitions: Sequence[PartitionCopy], plans: Sequence[PartitionPlan]) -> PlanChange:
    """Return the change after which exactly ``plans`` are copied. Pure.

    A planned partition that is not running as planned is removed and added: it is tried again.
    """
    planned = set(plans)
    unchanged = {each.plan for each in partitions if each.plan in planned and _is_as_planned(each)}
    return PlanChange(
        tuple(each for each in partitions if each.plan not in unchanged),
        tuple(each for each in plans if each not in unchanged),
    )


def _is_as_planned(partition: PartitionCopy) -> bool:
    """Say whether it runs under the planned loop rule; a crash may bind it to an earlier one."""
    running = partition.state is PartitionState.RUNNING
    known = partition.claimed.origins
    return running and known == carried_over(partition.plan.origins, known)


@dataclass(slots=True)
class Replan:
    """Applies plan changes to one unit."""

    connections: Connections
    producers: Producers
    upkeep: PartitionUpkeep
    anchor_writer: AnchorWriter

    async def remove(self, partitions: Sequence[PartitionCopy]) -> None:
        """Stop copying ``partitions`` and write their clean anchors."""
        self.upkeep.remove(partitions)
        # Only then drop what waits: it may be in flight.
        await self.anchor_writer.drain(partitions)
        if any(each.queue.responses_due for each in partitions):
            # In-flight batches use buffers that other fetches would overwrite: the unit restarts.
            raise ClusterUnavailable("the target does not answer requests in flight")
        for partition in partitions:
            partition.forget()
        await self.anchor_writer.end_cleanly(partitions)
        self.anchor_writer.remove(partitions)

    async def take(self, spec: UnitSpec, plans: Sequence[PartitionPlan]) -> list[PartitionCopy]:
        """Take ``plans`` over and return their partitions, which are not copied yet.

        Raises ClusterUnavailable when they need another isolation level or delivery mode.
        """
        connections, spec = self.connections, replace(spec, partitions=tuple(plans))
        await learn(spec, connections)
        await self.producers.read_new_claims()
        for plan in plans:
            known = connections.takeover.seen.get(plan.source)
            if known is not None and is_bound(known) and known.isolation != spec.copying.isolation:
                raise ClusterUnavailable(
                    f"{plan.source} was copied with {known.isolation}: the unit restarts to count "
                    "its copies with that"
                )
        await self.producers.renew()
        if self.producers.me.fences is (spec.copying.delivery == Mode.AT_LEAST_ONCE):
            raise ClusterUnavailable(
                f"{spec.flow}: the ACLs for transactional ids on {spec.target_alias} have changed: "
                "the unit restarts with the delivery mode that they allow"
            )
        partitions, counted = await take_partitions(spec, connections, self.producers.me)
        self.upkeep.takeovers += counted
        return partitions

    async def begin(self, partitions: Sequence[PartitionCopy]) -> None:
        """Begin to copy ``partitions``."""
        self.anchor_writer.add(partitions)
        await self.upkeep.arrange(partitions)
