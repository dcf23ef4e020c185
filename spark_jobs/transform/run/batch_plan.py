"""Which ranges the next batch of a transform takes, by slot. Pure.

A slot has all ranges of its partitions in one transaction. After a batch that failed as a whole (an
expression that hangs, or that exhausts a stack), partitions are tried one at a time and in ever
smaller ranges, until one record is left: that one is the poison record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.copier.unit_assignment import unit_of
from spark_jobs.transform.task.work import RangeWork

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.model import OffsetRange, PartitionPlan, TopicPartition
    from replication.state import Anchor


class _Suspect(NamedTuple):
    """A partition with a poison record before ``end``; so many offsets are tried next."""

    most: int
    end: int


@dataclass(slots=True)
class BatchLimits:
    """How many offsets of each partition a batch takes at most."""

    most: int
    _suspects: dict[TopicPartition, _Suspect] = field(default_factory=dict)
    # Records that cannot be transformed, and why, by offset: those that no batch has passed yet.
    poisons: dict[TopicPartition, dict[int, str]] = field(default_factory=dict)

    @property
    def searching(self) -> bool:
        """Whether a record is looked for on which a batch fails as a whole."""
        return bool(self._suspects)

    def suspect(self, behind: Collection[TopicPartition]) -> TopicPartition | None:
        """Return which of these is tried alone; None: all are taken together."""
        return min((each for each in self._suspects if each in behind), default=None)

    def forget_others(self, anchors: Mapping[TopicPartition, Anchor]) -> None:
        """Suspect only these, where they have not passed the record: others are in no batch."""
        self._suspects = {
            each: suspect
            for each, suspect in self._suspects.items()
            if each in anchors and (anchors[each].source or 0) < suspect.end
        }

    def of(self, partition: TopicPartition) -> int:
        """Return the limit of a partition."""
        suspect = self._suspects.get(partition)
        return self.most if suspect is None else suspect.most

    def failed(self, ranges: Mapping[TopicPartition, OffsetRange], reason: str) -> None:
        """Note a batch that failed on the data of one of its ranges."""
        for partition, (start, end) in ranges.items():
            if len(ranges) == 1 and end - start == 1:
                self.poison(partition, start, reason)
            else:
                count, alone = end - start, len(ranges) == 1
                self._suspects[partition] = _Suspect(max(1, count // 2) if alone else count, end)

    def poison(self, partition: TopicPartition, offset: int, reason: str) -> None:
        """Note a record that cannot be transformed: batches take it as that."""
        self.poisons.setdefault(partition, {})[offset] = reason

    def succeeded(self, ranges: Mapping[TopicPartition, OffsetRange]) -> None:
        """Note a batch that went well: its partitions may take more again."""
        for partition, (start, end) in ranges.items():
            suspect = self._suspects.pop(partition, None)
            known = self.poisons.pop(partition, {})
            if left_over := {at: why for at, why in known.items() if at >= end}:
                self.poisons[partition] = left_over
            if start in known:
                continue
            if suspect is not None and end < suspect.end:
                left = suspect.end - end
                self._suspects[partition] = _Suspect(max(1, left // 2), suspect.end)


def plan_batch(
    plans: Mapping[TopicPartition, PartitionPlan],
    anchors: Mapping[TopicPartition, Anchor],
    ends: Mapping[TopicPartition, int],
    limits: BatchLimits,
    slots: int,
) -> dict[int, tuple[RangeWork, ...]]:
    """Return the ranges of each slot that has some; of a suspect alone if there is one."""
    found: dict[int, list[RangeWork]] = {}
    behind = [each for each in sorted(anchors) if (anchors[each].source or 0) < ends.get(each, 0)]
    alone = limits.suspect(behind)
    for each in behind if alone is None else [alone]:
        start = anchors[each].source or 0
        end = min(ends[each], start + limits.of(each))
        plan = plans[each]
        poisons = limits.poisons.get(each, {})
        poisons = {at: why for at, why in poisons.items() if start <= at < end}
        work = RangeWork(anchors[each], end, plan.origins, plan.target, poisons)
        found.setdefault(unit_of(*each, slots), []).append(work)
    return {slot: tuple(ranges) for slot, ranges in found.items()}
