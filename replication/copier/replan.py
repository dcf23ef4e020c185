"""Another plan for a unit that copies on: what is the same in both is left alone.

Lanes that leave end cleanly (G), lanes that come are placed and taken over as at a start. In
between the unit gets a new epoch of its producer id, because a partition that comes back would go
on with sequences that its broker knows already; lanes that stay go on under the epoch they have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.copier.start import learn, take_lanes
from replication.copier.takeover.start_position import is_bound
from replication.errors import ClusterUnavailable
from replication.model import Mode, PartitionState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.copier.anchor_writer import Keeping
    from replication.copier.partition.partition_copy import Lane
    from replication.copier.partition_upkeep import Tending
    from replication.copier.produce.producers import Producers
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Clusters
    from replication.model import PartitionPlan


@dataclass(frozen=True, slots=True)
class Change:
    """What another plan means for lanes that are copied."""

    leave: tuple[Lane, ...]
    come: tuple[PartitionPlan, ...]


def change_of(lanes: Sequence[Lane], plans: Sequence[PartitionPlan]) -> Change:
    """Return what is to be done so that ``plans`` are copied. Pure.

    A lane that is not copied as it is planned is begun anew: that is its next try.
    """
    wanted = set(plans)
    stay = {each.plan for each in lanes if each.plan in wanted and _is_as_planned(each)}
    return Change(
        tuple(each for each in lanes if each.plan not in stay),
        tuple(each for each in plans if each not in stay),
    )


def _is_as_planned(lane: Lane) -> bool:
    """Say whether a lane is copied, and under the rule that is asked for; a crash may bind it."""
    running = lane.state is PartitionState.RUNNING
    return running and lane.claimed.origins == lane.plan.origins


@dataclass(slots=True)
class Changing:
    """Carries changes out for one unit."""

    ends: Clusters
    producers: Producers
    tending: Tending
    keeping: Keeping

    async def let_go(self, lanes: Sequence[Lane]) -> None:
        """Copy ``lanes`` no more, and say so in their anchors."""
        self.tending.let_go(lanes)
        await self.keeping.drain(lanes)  # before what waits is dropped, for it may be on the wire
        if any(each.queue.answers_due for each in lanes):
            # What is on the wire lies in buffers that others would fill: all begin anew instead.
            raise ClusterUnavailable("the target does not answer requests in flight")
        for lane in lanes:
            lane.forget()
        await self.keeping.end_cleanly(lanes)
        self.keeping.forget(lanes)

    async def take(self, spec: UnitSpec, plans: Sequence[PartitionPlan]) -> list[Lane]:
        """Place ``plans`` and take them over; return their lanes, of which nobody knows yet.

        Raises ClusterUnavailable when they would have to be copied in another way than the others.
        """
        ends, spec = self.ends, replace(spec, partitions=tuple(plans))
        await learn(spec, ends)
        await self.producers.read_new_claims()
        for each in plans:
            known = ends.takeover.seen.get(each.source)
            if known is not None and is_bound(known) and known.isolation != spec.copying.isolation:
                raise ClusterUnavailable(f"{each.source}: must be counted as {known.isolation}")
        await self.producers.renew()
        if self.producers.me.fences is (spec.copying.delivery == Mode.AT_LEAST_ONCE):
            raise ClusterUnavailable(f"{spec.flow}: {spec.target_alias} now grants different ACLs")
        lanes, counted = await take_lanes(spec, ends, self.producers.me)
        self.tending.takeovers += counted
        return lanes

    async def begin(self, lanes: Sequence[Lane]) -> None:
        """Copy ``lanes`` like all others."""
        self.keeping.keep(lanes)
        await self.tending.arrange(lanes)
