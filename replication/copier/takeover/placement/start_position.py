"""Where copying of a partition begins, also where either topic was deleted and created again.

It begins at its anchor, at ``copy.start``, or not yet. Here a unit detects what happened to a topic
while nobody copied it: a recreated topic has another id. The flow's policy, or an operator's
decision, says whether such a partition continues.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.clock import now_ms
from replication.copier.partition.broker_errors import target_reset
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.transactional_copy import TransactionalCopy
from replication.copier.takeover.at_least_once import AtLeastOnceCopy
from replication.copier.takeover.placement.renamed_topic import renamed
from replication.copier.takeover.placement.start_offsets import StartOffsets, first_offset_time
from replication.copier.takeover.placement.waiting_partitions import halt, wait
from replication.errors import ReplicationError
from replication.model import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Mode,
    NameChange,
    OffsetRange,
    PartitionState,
)
from replication.provenance.record_rules import UNDECIDED
from replication.settings.state_policies import RESEED, STOP, choose
from replication.state import Anchor, Loss

if TYPE_CHECKING:
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections
    from replication.copier.takeover.placement.lost_anchor import LostAnchors
    from replication.model import PartitionPlan

FOREIGN, RESET = PartitionState.TARGET_FOREIGN, PartitionState.TARGET_RESET
_EXAMINATION_S = 60.0
_RECREATED = "the source topic was deleted and recreated"
_RESET = "the target topic was deleted and recreated"


@dataclass(slots=True)
class StartPositions:
    """Finds the start position of each partition of a unit when an epoch begins."""

    spec: UnitSpec
    connections: Connections
    lost_anchors: LostAnchors  # says which partitions without an anchor were copied before
    losses: list[Loss] = field(default_factory=list)  # to be written before anything is copied
    restarts: dict[PartitionCopy, int] = field(default_factory=dict)  # the source was recreated
    _offsets: StartOffsets = field(init=False)

    def __post_init__(self) -> None:
        self._offsets = StartOffsets(self.connections)

    async def place(self, plan: PartitionPlan) -> PartitionCopy:
        """Return a partition ready to be taken over, or a halted one without ``topic_id``."""
        partition = self._partition(plan)
        known = partition.claimed
        if not partition.topic_id:
            partition.halt(PartitionState.WAITING, "the source does not know the topic")
        elif plan.name_change is not None and not plan.name_change.choice:
            halt(partition, PartitionState.NAME_CHANGED, plan.name_change.reason)
        elif known.source is None:
            await self._without_anchor(partition)
        elif await self._has_its_name(partition):
            await self._continue(partition)
        if partition.topic_id:
            # Of both topics, so that the anchors to come are of the same kind as this one: else
            # what is copied before the first of them would not count as one run.
            partition.claimed = replace(
                partition.claimed,
                source_topic_id=partition.topic_id.hex(),
                target_topic_id=self._target_id(plan),
            )
        return partition

    async def _continue(self, partition: PartitionCopy) -> None:
        """Continue at the anchor, unless something happened to one of the two topics."""
        known = partition.claimed
        if known.source_topic_id not in {"", partition.topic_id.hex()}:
            await self._source_recreated(partition)
        elif self.connections.target.leader(partition.target) is None:
            wait(partition, "the target has no such partition, or it has no leader")
        elif known.target_topic_id not in {"", self._target_id(partition.plan)}:
            await self._target_reset(partition, _RESET, 0)
        elif known.state == FOREIGN and self._choice(partition, FOREIGN) == STOP:
            halt(partition, FOREIGN, known.reason)
        elif known.state == RESET and self._choice(partition, RESET) != STOP:
            await self._go_on(partition)
        else:
            await self._check_target_end(partition)

    async def _has_its_name(self, partition: PartitionCopy) -> bool:
        """Say whether the target is the anchor's topic; begin in another one if somebody chose to.

        A position in one topic says nothing about another: without a choice all would be copied
        again.
        """
        known, plan = partition.claimed, partition.plan
        change = plan.name_change or NameChange(known.target_topic, plan.target.topic)
        if known.target_topic == plan.target.topic:
            return True
        if not change.choice:
            halt(partition, PartitionState.NAME_CHANGED, change.reason)
        elif not known.clean:
            wait(partition, f"its copy in {known.target_topic} has not ended yet")
        elif change.choice == RESEED:
            await self._start_over(partition, EARLIEST_TIMESTAMP)
        else:
            await self._begin_here(partition)
        return bool(partition.topic_id)

    async def _begin_here(self, partition: PartitionCopy) -> None:
        """Go on from the anchor's source offset at the end of another target topic."""
        end = await self._offsets.at(partition, LATEST_TIMESTAMP, of_target=True)
        if end is None:
            return
        moved = renamed(partition.claimed, partition.target.topic, end, now_ms())
        partition.claimed = replace(moved, generation=self.spec.generation)

    def _partition(self, plan: PartitionPlan) -> PartitionCopy:
        topic_id = self.connections.source.topic_id(plan.source.topic) or b""
        known = self.connections.takeover.seen.get(plan.source, unknown(self.spec.flow, plan))
        if not known.target_topic:  # only a claim is left, which names none
            known = replace(known, target_topic=plan.target.topic)
        kind = TransactionalCopy if self.spec.is_transactional else PartitionCopy
        if self.spec.copying.delivery == Mode.AT_LEAST_ONCE:
            kind = AtLeastOnceCopy
        return kind(self.spec.flow, plan, topic_id, known, UNDECIDED)

    def _target_id(self, plan: PartitionPlan) -> str:
        return (self.connections.target.topic_id(plan.target.topic) or b"").hex()

    async def _without_anchor(self, partition: PartitionCopy) -> None:
        """Begin a partition that was never copied; of another one the position is lost (L)."""
        known = partition.claimed
        is_lost = known.state == PartitionState.POSITION_LOST
        end = await self._offsets.at(partition, LATEST_TIMESTAMP, of_target=True)
        if end == 0 and (is_lost or self.lost_anchors.are_all_gone()):
            end = await self._offsets.target_end(partition, 1)
        if end is None:
            return
        choice = self._choice(partition, PartitionState.POSITION_LOST) if is_lost else STOP
        if end == 0:
            await self._start_over(partition)  # nothing was copied yet: no duplicates
        elif choice != STOP:
            await self._start_over(
                partition, EARLIEST_TIMESTAMP if choice == RESEED else LATEST_TIMESTAMP
            )
        else:
            await self._examine(partition, end, known.reason if is_lost else "")

    async def _examine(self, partition: PartitionCopy, end: int, halted: str) -> None:
        """Look for copies on the target; ``halted``: why the partition waits for an operator."""
        try:
            async with asyncio.timeout(_EXAMINATION_S):
                lost = await self.lost_anchors.examine(partition, end)
        except (TimeoutError, ReplicationError) as problem:
            reason = str(problem) or "the target is still being searched for copies"
            wait(partition, f"its anchor is missing: {reason}")
            return
        if reason := "" if partition.sought else lost or halted:
            halt(partition, PartitionState.POSITION_LOST, reason)
        elif not partition.sought:
            await self._start_over(partition)

    async def _source_recreated(self, partition: PartitionCopy) -> None:
        """Copy all of the new topic; what the old one still held is lost."""
        if self._choice(partition, PartitionState.SOURCE_RECREATED) == STOP:
            halt(partition, PartitionState.SOURCE_RECREATED, _RECREATED)
        elif (begin := await self._offsets.at(partition, EARLIEST_TIMESTAMP)) is not None:
            at = partition.claimed.source or 0
            self._note(partition, OffsetRange(at, at), PartitionState.SOURCE_RECREATED, _RECREATED)
            self.restarts[partition] = begin

    async def _target_reset(self, partition: PartitionCopy, why: str, end: int) -> None:
        """Continue from the anchor's source offset behind the target's ``end``, or copy all."""
        choice = self._choice(partition, RESET)
        if choice == STOP:
            halt(partition, RESET, why)
        elif choice == RESEED:
            await self._start_over(partition, EARLIEST_TIMESTAMP)
        else:
            at = partition.claimed.source or 0
            self._note(partition, OffsetRange(0, at), RESET, why)
            # As of a new partition: else a takeover would carry it out again instead of counting.
            known = replace(partition.claimed, state=PartitionState.WAITING, reason="")
            partition.claimed = replace(known, target=end)

    async def _go_on(self, partition: PartitionCopy) -> None:
        """Carry out the choice for a partition that a takeover halted: it would halt it again."""
        end = await self._offsets.at(partition, LATEST_TIMESTAMP, of_target=True)
        if end is not None:
            await self._target_reset(partition, partition.claimed.reason, end)

    async def _check_target_end(self, partition: PartitionCopy) -> None:
        """Check once per process that the target still holds what the anchor says.

        After an unclean end counting detects a difference.
        """
        known = partition.claimed
        if partition.source in self.connections.checked or not known.clean:
            return
        end = await self._offsets.target_end(partition, known.target or 0)
        if end is not None and known.target is not None and end < known.target:
            await self._target_reset(partition, target_reset(end, known.target).reason, end)
        elif end is not None:
            self.connections.checked.add(partition.source)

    async def _start_over(self, partition: PartitionCopy, begin: int | None = None) -> None:
        """Start a partition at ``begin``, or where the flow's setting says that new ones start."""
        at = first_offset_time(self.spec.copying.start, partition.plan) if begin is None else begin
        source = await self._offsets.at(partition, at)
        if source is None:
            return
        target = await self._offsets.at(partition, LATEST_TIMESTAMP, of_target=True)
        if target is None:
            return
        if partition.plan.start is not None and begin is None:
            source = max(source, partition.plan.start)
        known, same = partition.claimed, partition.claimed.target_topic == partition.target.topic
        partition.claimed = replace(
            unknown(self.spec.flow, partition.plan),
            source=source,
            target=target,
            generation=self.spec.generation,
            at_ms=now_ms(),
            clean=known.clean or not same,
            appenders=known.appenders if same else (),  # who may still append must be fenced
            former=known.former if same else known.target_topic,
        )

    def _choice(self, partition: PartitionCopy, state: PartitionState) -> str:
        decision = partition.plan.decision
        return choose(state, partition.claimed.source, self.spec.policies, decision)

    def _note(
        self, partition: PartitionCopy, lost: OffsetRange, state: PartitionState, why: str
    ) -> None:
        first, after = lost
        now = now_ms()
        topic_id = partition.claimed.source_topic_id
        self.losses.append(
            Loss(partition.flow, *partition.source, topic_id, first, state, after, why, now)
        )
        partition.claimed = replace(partition.claimed, lost=partition.claimed.lost + after - first)


def unknown(flow: str, plan: PartitionPlan) -> Anchor:
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
