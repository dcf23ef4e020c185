"""Where the transform of a partition begins: at its anchor, at ``copy.start``, or not yet."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.clock import now_ms
from replication.model import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Mode,
    PartitionState,
    TopicPartition,
)
from replication.settings.state_policies import CONTINUE, RESEED, SKIP, STOP, choose, what_to_do
from replication.state import Anchor, Loss
from spark_jobs.transform.slot_producers import halted, is_exact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replication.model import Choice, PartitionPlan
    from replication.settings.flow_settings import Flow
    from spark_jobs.transform.slot_producers import SlotProducers

_NOT_ENDED = (
    "it was copied unchanged before, and that copy did not end cleanly: remove the transform, run "
    "the flow until it copies, stop it, and add the transform again"
)
_LOST = "the target has records, but no anchor stores how far the source was transformed"
_RECREATED = "the source topic was deleted and recreated"
_RESET = "the target topic was deleted and recreated"


@dataclass(slots=True)
class Placement:
    """Places partitions of one transform, and writes their first anchors.

    ``here``: anchors that this run knows. Those that the producers have read are older.
    """

    flow: Flow
    producers: SlotProducers
    here: Mapping[TopicPartition, Anchor] = field(default_factory=dict)

    async def place(self, plans: Sequence[PartitionPlan]) -> dict[TopicPartition, Anchor]:
        """Return the anchor of each partition; one that waits is in another state than RUNNING.

        Raises ClusterUnavailable, ClusterRejected.
        """
        connected = self.producers.connected
        await connected.source.refresh({each.source.topic for each in plans})
        await connected.target.refresh({each.target.topic for each in plans})
        await self.producers.fence_appenders([each.source for each in plans])
        placed = {each.source: await self._placed(each) for each in plans}
        await self.producers.write(*placed.values())
        return placed

    async def behind_lost_range(self, anchor: Anchor, decision: Choice | None = None) -> Anchor:
        """Return the anchor behind the records that retention deleted, or of a halted partition."""
        first, start = anchor.source or 0, await self._log_start(anchor)
        why = f"the source deleted offsets {first} to {start - 1} before they were transformed"
        if start <= first:
            return _going_on(anchor)  # it is readable again, or another broker answered
        choice = choose(PartitionState.LOST_RANGE, first, self.flow.policies, decision)
        if choice == STOP:
            found = halted(anchor, PartitionState.LOST_RANGE, why)
            await self.producers.write(found)
            return found
        loss = Loss(
            anchor.flow,
            anchor.topic,
            anchor.partition,
            anchor.source_topic_id,
            first,
            PartitionState.LOST_RANGE,
            start,
            why,
            now_ms(),
        )
        found = _going_on(replace(anchor, source=start, at_ms=now_ms()))
        await self.producers.write(loss, found)
        return found

    async def _placed(self, plan: PartitionPlan) -> Anchor:
        known = self.here.get(plan.source) or self.producers.anchors.get(plan.source)
        if known is None or known.source is None:
            return await self._new(plan)
        source_id, target_id = self._ids(plan)
        if known.source_topic_id not in {"", source_id}:
            return await self._other_topic(plan, known, PartitionState.SOURCE_RECREATED, _RECREATED)
        if known.target_topic_id not in {"", target_id}:
            return await self._other_topic(plan, known, PartitionState.TARGET_RESET, _RESET)
        if not is_exact(known):
            return halted(known, PartitionState.WAITING, _NOT_ENDED)
        return await self._continued(plan, known)

    async def _continued(self, plan: PartitionPlan, known: Anchor) -> Anchor:
        """Return the anchor of a partition whose position is known; it may have waited there."""
        if known.state == PartitionState.TRANSFORM_FAILED:
            return await self._after_failure(plan, known)
        if known.state == PartitionState.LOST_RANGE:
            known = await self.behind_lost_range(known, plan.decision)
            if known.state == PartitionState.LOST_RANGE:
                return known
        return await self._running(plan, known.source or 0, known)

    async def _after_failure(self, plan: PartitionPlan, known: Anchor) -> Anchor:
        """Try the record again, or go past it if an operator says so."""
        at, decision = known.source or 0, plan.decision
        skips = decision is not None and decision[:2] == (known.state, at)
        if not skips or decision is None or decision.choice != SKIP:
            return await self._running(plan, at, known)
        why = f"left out by an operator: {known.reason}"
        state, now = PartitionState.TRANSFORM_FAILED, now_ms()
        loss = Loss(known.flow, *plan.source, known.source_topic_id, at, state, at + 1, why, now)
        await self.producers.write(loss)
        return await self._running(plan, at + 1, replace(known, lost=known.lost + 1))

    async def _other_topic(
        self, plan: PartitionPlan, known: Anchor, state: PartitionState, why: str
    ) -> Anchor:
        choice = choose(state, known.source, self.flow.policies, plan.decision)
        if choice == STOP:
            return halted(known, state, f"{why}; {what_to_do(state)}")
        begin = known.source or 0
        if state is PartitionState.SOURCE_RECREATED or choice == RESEED:
            begin = await self._offset(plan.source, EARLIEST_TIMESTAMP)
        return await self._running(plan, begin, known)

    async def _new(self, plan: PartitionPlan) -> Anchor:
        """Begin a partition without an anchor; one whose copy has records already waits (L)."""
        end = await self._target_end(plan)
        state = PartitionState.POSITION_LOST
        choice = choose(state, None, self.flow.policies, plan.decision)
        if end and self.flow.policies.target_exists == STOP and choice == STOP:
            anchor = replace(self._unknown(plan), target=end)
            return halted(anchor, state, f"{_LOST}; {what_to_do(state)}")
        if choice == CONTINUE:
            begin = await self._offset(plan.source, LATEST_TIMESTAMP)
        elif choice == RESEED:
            begin = await self._offset(plan.source, EARLIEST_TIMESTAMP)
        else:
            begin = await self._begin(plan)
        return await self._running(plan, begin, self._unknown(plan))

    async def _begin(self, plan: PartitionPlan) -> int:
        start = self.flow.copying.start
        earliest = await self._offset(plan.source, EARLIEST_TIMESTAMP)
        if plan.start is not None:
            return max(earliest, plan.start)
        if plan.created_later or start == "earliest":
            return earliest
        at = int(start) if start != "latest" else plan.since_ms
        return await self._offset(plan.source, LATEST_TIMESTAMP if at is None else at)

    async def _running(self, plan: PartitionPlan, begin: int, known: Anchor) -> Anchor:
        """Return the anchor at ``begin``: offsets before the target's end cannot be translated."""
        source_id, target_id = self._ids(plan)
        end = await self._target_end(plan)
        return replace(
            known,
            target_topic=plan.target.topic,
            source=begin,
            target=end,
            appenders=(self.producers.appender(plan.source),),
            clean=False,  # from now on a task may append, before it commits another anchor
            generation=self.producers.generation,
            state=PartitionState.RUNNING,
            reason="",
            mode=Mode.TRANSACTIONAL,
            transform=known.transform or "transform",
            since=(begin, end),
            run=None,
            source_topic_id=source_id,
            target_topic_id=target_id,
            origins=plan.origins,
            isolation=self.flow.copying.isolation,
            at_ms=now_ms(),
        )

    def _unknown(self, plan: PartitionPlan) -> Anchor:
        return Anchor(self.flow.name, *plan.source, plan.target.topic, None, None, clean=True)

    def _ids(self, plan: PartitionPlan) -> tuple[str, str]:
        connected = self.producers.connected
        source = connected.source.topic_id(plan.source.topic) or b""
        return source.hex(), (connected.target.topic_id(plan.target.topic) or b"").hex()

    async def _log_start(self, anchor: Anchor) -> int:
        return await self._offset(
            TopicPartition(anchor.topic, anchor.partition), EARLIEST_TIMESTAMP
        )

    async def _target_end(self, plan: PartitionPlan) -> int:
        return await self.producers.connected.target.offset_at(plan.target, LATEST_TIMESTAMP)

    async def _offset(self, where: TopicPartition, at: int) -> int:
        source = self.producers.connected.source
        found = await source.offset_at(where, at)
        return found if found >= 0 else await source.offset_at(where, LATEST_TIMESTAMP)


def _going_on(anchor: Anchor) -> Anchor:
    return replace(anchor, state=PartitionState.RUNNING, reason="")
