"""Where a transform is in each of its partitions, and which of them wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from replication.model import PartitionState
from spark_jobs.transform.run.transform_placement import Placement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.model import PartitionPlan, TopicPartition
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor
    from spark_jobs.transform.slot_producers import SlotProducers
    from spark_jobs.transform.task.task_process import TaskProcess

log = structlog.get_logger()


@dataclass(slots=True)
class RunPositions:
    """The anchors of partitions that were placed; in ``halted``, why some of them wait."""

    flow: Flow
    process: TaskProcess
    anchors: dict[TopicPartition, Anchor] = field(default_factory=dict)
    halted: dict[TopicPartition, str] = field(default_factory=dict)

    def follow(self, read: Mapping[TopicPartition, Anchor]) -> None:
        """Forget the anchors: former tasks were fenced, so those that were ``read`` now count.

        Partitions that wait are not placed again until an operator has answered for them.
        """
        self.anchors = {each: read[each] for each in self.halted if each in read}

    def running(
        self, plans: Mapping[TopicPartition, PartitionPlan]
    ) -> dict[TopicPartition, Anchor]:
        """Return the anchors of those that do not wait."""
        running = {each: a for each, a in self.anchors.items() if each in plans}
        return {each: a for each, a in running.items() if each not in self.halted}

    def unplaced(self, plans: Mapping[TopicPartition, PartitionPlan]) -> set[TopicPartition]:
        """Return the partitions that are new, or that an operator has answered for."""
        new = plans.keys() - self.anchors.keys() - self.halted.keys()
        return new | {each for each in self.halted if self._decided(each, plans)}

    def place(
        self, producers: SlotProducers, plans: Iterable[PartitionPlan]
    ) -> Mapping[TopicPartition, Anchor]:
        """Find where these partitions begin, and return that; some may have to wait."""
        placement = Placement(self.flow, producers, self.anchors)
        placed = self.process.run(placement.place([*plans]))
        for where, anchor in placed.items():
            self.halted.pop(where, None)
            if anchor.state != PartitionState.RUNNING:
                self.halted[where] = anchor.reason
            self.anchors[where] = anchor
        return placed

    def advance(self, where: TopicPartition, anchor: Anchor) -> None:
        """Note what a task has committed."""
        self.anchors[where] = anchor
        if anchor.state != PartitionState.RUNNING:
            self.halted[where] = anchor.reason
            log.error("transform halted", flow=anchor.flow, reason=anchor.reason)

    def lose(self, producers: SlotProducers, partitions: Iterable[TopicPartition]) -> None:
        """Go on behind what retention deleted, or halt, by policy; the loss is recorded."""
        placement = Placement(self.flow, producers)
        for each in partitions:
            if each not in self.anchors or each in self.halted:
                continue
            found = self.process.run(placement.behind_lost_range(self.anchors[each]))
            self.anchors[each] = found
            if found.state != PartitionState.RUNNING:
                self.halted[each] = found.reason

    def _decided(
        self, where: TopicPartition, plans: Mapping[TopicPartition, PartitionPlan]
    ) -> bool:
        """Say whether an operator has answered for a partition that waits."""
        anchor = self.anchors.get(where)
        if where not in plans or anchor is None or (made := plans[where].decision) is None:
            return False
        return made.is_about(anchor.state, anchor.source)
