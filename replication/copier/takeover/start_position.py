"""Where each partition of a unit goes on: at its anchor, at a start, or nowhere before an answer.

What happened to a topic while nobody copied it is seen here: another topic of the same name has
another id. The flow's policy, or a person, says whether such a partition goes on.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.client.log_end import believed_end
from replication.copier.partition.broker_errors import target_reset
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.transactional_copy import TransactionalCopy
from replication.copier.takeover.at_least_once import AtLeastOnceCopy
from replication.errors import ReplicationError
from replication.model import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Mode,
    OffsetRange,
    PartitionState,
)
from replication.settings.state_policies import RESEED, STOP, choose
from replication.state import Anchor, Loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections
    from replication.model import PartitionPlan

FOREIGN = PartitionState.TARGET_FOREIGN
_PATIENCE_S = 3.0  # for the leader of a partition that has just been made
_RECREATED = "the source topic was deleted and recreated"
_RESET = "the target topic was deleted and recreated"
_NO_ANCHORS = (
    "the registry of producer ids shows that this flow has copied before, but its anchors are "
    "gone: its copy position is unknown, and copying again from the start would duplicate records "
    "on the target"
)


@dataclass(slots=True)
class StartPositions:
    """Places the lanes of one unit at an epoch's start."""

    spec: UnitSpec
    connections: Connections
    copied_before: bool  # although the flow has no anchor at all
    losses: list[Loss] = field(default_factory=list)  # to be written before anything is copied
    restarts: dict[PartitionCopy, int] = field(
        default_factory=dict
    )  # lanes of another source topic

    async def place(self, plan: PartitionPlan) -> PartitionCopy:
        """Return a lane that is ready to be taken over, or without ``topic_id`` and parked."""
        partition = self._partition(plan)
        known, topic_id, target_id = (
            partition.claimed,
            partition.topic_id.hex(),
            self._target_id(plan),
        )
        if not partition.topic_id:
            partition.halt(PartitionState.WAITING, "the source does not know the topic")
        elif self._position_is_lost(known):
            await self._without_anchor(partition)
        elif known.source is None or known.target_topic != plan.target.topic:
            await self._anew(partition)
        elif known.source_topic_id not in {"", topic_id}:
            await self._of_another_source_topic(partition)
        elif self.connections.target.leader(plan.target) is None:
            _put_off(partition, "the target has no such partition, or it has no leader")
        elif known.target_topic_id not in {"", target_id}:
            await self._reset(partition, _RESET, 0)
        elif known.state == FOREIGN and self._choice(partition, FOREIGN) == STOP:
            _halt(partition, FOREIGN, known.reason)
        else:
            await self._look_at_target_end(partition)
        if partition.topic_id:
            partition.claimed = replace(partition.claimed, target_topic_id=target_id)
        return partition

    def _partition(self, plan: PartitionPlan) -> PartitionCopy:
        topic_id = self.connections.source.topic_id(plan.source.topic) or b""
        known = self.connections.takeover.seen.get(plan.source)
        kind = TransactionalCopy if self.spec.is_transactional else PartitionCopy
        if self.spec.copying.delivery == Mode.AT_LEAST_ONCE:
            kind = AtLeastOnceCopy
        return kind(self.spec.flow, plan, topic_id, known or unknown(self.spec.flow, plan))

    def _target_id(self, plan: PartitionPlan) -> str:
        return (self.connections.target.topic_id(plan.target.topic) or b"").hex()

    def _position_is_lost(self, known: Anchor) -> bool:
        asked = known.source is None and known.state == PartitionState.POSITION_LOST
        return self.copied_before or asked

    async def _without_anchor(self, partition: PartitionCopy) -> None:
        end = await self._target_end(partition, 1)
        if end is None:
            return
        choice = self._choice(partition, PartitionState.POSITION_LOST)
        if end == 0:
            await self._anew(partition)  # nothing was copied yet that could be doubled
        elif choice == STOP:
            known = partition.claimed
            told = known.reason if known.state == PartitionState.POSITION_LOST else ""
            _halt(partition, PartitionState.POSITION_LOST, told or _NO_ANCHORS)
        else:
            await self._anew(
                partition, EARLIEST_TIMESTAMP if choice == RESEED else LATEST_TIMESTAMP
            )

    async def _of_another_source_topic(self, partition: PartitionCopy) -> None:
        """Go on with all of the new topic; what the old one still held is lost."""
        if self._choice(partition, PartitionState.SOURCE_RECREATED) == STOP:
            _halt(partition, PartitionState.SOURCE_RECREATED, _RECREATED)
        elif (begin := await self._offset(partition, EARLIEST_TIMESTAMP)) is not None:
            at = partition.claimed.source or 0
            self._note(partition, OffsetRange(at, at), PartitionState.SOURCE_RECREATED, _RECREATED)
            self.restarts[partition] = begin

    async def _reset(self, partition: PartitionCopy, why: str, end: int) -> None:
        """Go on behind ``end`` of the target from where the source stands, or copy all again."""
        choice = self._choice(partition, PartitionState.TARGET_RESET)
        if choice == STOP:
            _halt(partition, PartitionState.TARGET_RESET, why)
        elif choice == RESEED:
            await self._anew(partition, EARLIEST_TIMESTAMP)
        else:
            at = partition.claimed.source or 0
            self._note(partition, OffsetRange(0, at), PartitionState.TARGET_RESET, why)
            partition.claimed = replace(partition.claimed, target=end)

    async def _look_at_target_end(self, partition: PartitionCopy) -> None:
        """See once a process that the target still holds what the anchor says.

        After an unclean end counting sees it.
        """
        known = partition.claimed
        if partition.source in self.connections.checked or not known.clean:
            return
        end = await self._target_end(partition, known.target or 0)
        if end is not None and known.target is not None and end < known.target:
            await self._reset(partition, target_reset(end, known.target).reason, end)
        elif end is not None:
            self.connections.checked.add(partition.source)

    async def _anew(self, partition: PartitionCopy, begin: int | None = None) -> None:
        """Begin a partition at ``begin``, or where the flow says that new ones begin."""
        at = self._begin(partition.plan) if begin is None else begin
        source = await self._offset(partition, at)
        if source is None:
            return
        target = await self._offset(partition, LATEST_TIMESTAMP, of_target=True)
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
            at_ms=int(time.time() * 1000),
            clean=known.clean or not same,
            appenders=known.appenders if same else (),  # who may still append is fenced
        )

    def _begin(self, plan: PartitionPlan) -> int:
        """Return what to ask the source for: a moment in ms, its end, or its start.

        A flow that copied before has seen all partitions that were there: what comes later is new,
        and new ones are copied from their first record.
        """
        anchors = self.connections.takeover.seen.values()
        before = (each for each in anchors if each.source is not None)
        copied = any(each.generation < self.spec.generation for each in before)
        if (
            plan.start is not None
            or plan.discovered_later
            or copied
            or self.spec.copying.start == "earliest"
        ):
            return EARLIEST_TIMESTAMP
        return (
            LATEST_TIMESTAMP
            if self.spec.copying.start == "latest"
            else int(self.spec.copying.start)
        )

    async def _offset(
        self, partition_copy: PartitionCopy, at: int, *, of_target: bool = False
    ) -> int | None:
        """Ask one end of a lane; None, and the lane put off, when it does not answer."""
        end = self.connections.target if of_target else self.connections.source
        partition = partition_copy.target if of_target else partition_copy.source
        try:
            async with asyncio.timeout(_PATIENCE_S):
                found = await end.offset_at(partition, at)
                return found if found >= 0 else await end.offset_at(partition, LATEST_TIMESTAMP)
        except (TimeoutError, ReplicationError) as problem:
            _put_off(partition_copy, str(problem) or "the source or target partition has no leader")
            return None

    async def _target_end(self, partition: PartitionCopy, known: int) -> int | None:
        """Return the end of the target, an answer below ``known`` only if it is a sure one."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await believed_end(self.connections.target, partition.target, known)
        except (TimeoutError, ReplicationError) as problem:
            _put_off(partition, str(problem) or "the target partition has no leader")
            return None

    def _choice(self, partition: PartitionCopy, state: PartitionState) -> str:
        decision = partition.plan.decision
        return choose(state, partition.claimed.source, self.spec.policies, decision)

    def _note(
        self, partition: PartitionCopy, lost: OffsetRange, state: PartitionState, why: str
    ) -> None:
        first, after = lost
        now = int(time.time() * 1000)
        topic_id = partition.claimed.source_topic_id
        self.losses.append(
            Loss(partition.flow, *partition.source, topic_id, first, state, after, why, now)
        )
        partition.claimed = replace(partition.claimed, lost=partition.claimed.lost + after - first)


def settle_isolation(partitions: Sequence[PartitionCopy], wanted: str) -> None:
    """Let all lanes be copied under one isolation: ``wanted``, unless a former owner crashed.

    What such a one appended is counted under the isolation that it copied under (E). So the unit
    keeps to that for one epoch, whose clean end allows the change; a lane that crashed under
    another one waits for the next. Which copies a lane copies on is its own affair.
    """
    taken = [each for each in partitions if each.topic_id]
    bound = {each.claimed.isolation for each in taken if is_bound(each.claimed)} - {wanted}
    used = min(bound, default=wanted)
    for partition in taken:
        if not is_bound(partition.claimed):
            partition.claimed = replace(
                partition.claimed, isolation=used, origins=partition.plan.origins
            )
        elif partition.claimed.isolation != used:
            _put_off(
                partition,
                f"this epoch copies with {used}, because existing copies must be counted so",
            )


def is_bound(known: Anchor) -> bool:
    """Say whether what may have been appended after an anchor is counted under its isolation."""
    return bool(known.isolation) and not known.clean


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


def _halt(partition: PartitionCopy, state: PartitionState, reason: str) -> None:
    """Leave the partition as it stands; ``partition`` is not taken over."""
    partition.topic_id = b""
    partition.halt(state, reason)


def _put_off(partition: PartitionCopy, reason: str) -> None:
    _halt(partition, PartitionState.WAITING, reason)
