"""What a flow's state topics say of its partitions, transforms, groups and verifications. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.model import NO_PRODUCER_ID, PartitionState, TopicPartition
from replication.state import (
    TAIL_KEPT,
    Anchor,
    GroupPositions,
    Loss,
    OffsetPoint,
    ProducerEntry,
    TransformPoint,
    TransformStart,
    TransformVerified,
    Verification,
    VerifiedUpTo,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.state import Stored

_Verified = VerifiedUpTo | Verification | TransformStart | TransformPoint | TransformVerified
# Losses whose offsets are at the source, and were passed over.
_NEVER_COPIED = {PartitionState.REFUSED, PartitionState.SOURCE_CORRUPT, TAIL_KEPT}


@dataclass(slots=True)
class TransformState:
    """What is known of one transform."""

    start: TransformStart | None = None
    points: dict[int, TransformPoint] = field(default_factory=dict)  # by slot
    verified: TransformVerified | None = None

    def learn(self, found: TransformStart | TransformPoint | TransformVerified) -> None:
        """Add a record of it that was read."""
        if isinstance(found, TransformPoint):
            self.points[found.slot] = found
        elif isinstance(found, TransformStart):
            self.start = found
        else:
            self.verified = found


@dataclass(slots=True)
class KnownPoints:
    """The records of one flow in the state topics on the target, by source partition."""

    flow: str
    anchors: dict[TopicPartition, Anchor] = field(default_factory=dict)
    points: dict[TopicPartition, dict[int, OffsetPoint]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    losses: dict[TopicPartition, list[Loss]] = field(default_factory=lambda: defaultdict(list))
    # From which offset the source lost records that were copied, and when copying went on there.
    truncations: dict[TopicPartition, set[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    producers: set[int] = field(default_factory=set)  # the flow's own
    producer_names: dict[int, str] = field(default_factory=dict)  # their transactional ids
    transforms: dict[int, TransformState] = field(  # by number in the flow
        default_factory=lambda: defaultdict(TransformState)
    )
    groups: dict[str, GroupPositions] = field(default_factory=dict)  # at the source, by name
    verified: dict[TopicPartition, VerifiedUpTo] = field(default_factory=dict)
    verification: Verification | None = None  # the last one of all topics

    def learn(self, records: Iterable[Stored]) -> None:
        """Add records that were read, oldest first."""
        for each in records:
            match each:
                case Anchor(flow=self.flow):
                    self.anchors[TopicPartition(each.topic, each.partition)] = each
                    if ("", NO_PRODUCER_ID) in each.appenders:
                        self.producers.add(NO_PRODUCER_ID)
                case OffsetPoint(flow=self.flow):
                    self.points[TopicPartition(each.topic, each.partition)][each.slot] = each
                case Loss(flow=self.flow) if each.state in _NEVER_COPIED:
                    self.losses[TopicPartition(each.topic, each.partition)].append(each)
                case Loss(flow=self.flow, state=PartitionState.SOURCE_TRUNCATED):
                    where = TopicPartition(each.topic, each.partition)
                    self.truncations[where].add((each.first, each.at_ms))
                case ProducerEntry(flow=self.flow):
                    self.producers.add(each.producer_id)
                    self.producer_names[each.producer_id] = each.transactional_id
                case GroupPositions(flow=self.flow):
                    self.groups[each.group] = each
                case _ if isinstance(each, _Verified):
                    self._learn_verified(each)
                case _:
                    pass

    def _learn_verified(self, found: _Verified) -> None:
        """Add what verifications have noted, or go by."""
        if found.flow != self.flow:
            return
        if isinstance(found, Verification):
            self.verification = found
        elif isinstance(found, VerifiedUpTo):
            self.verified[TopicPartition(found.topic, found.partition)] = found
        else:
            self.transforms[found.number].learn(found)

    def partitions_of(self, topic: str, *, target: bool) -> list[int]:
        """Return the copied partitions of a topic of the source, or of the target, in order."""
        anchors = self.anchors.values()
        return sorted(
            e.partition for e in anchors if topic == (e.target_topic if target else e.topic)
        )

    def source_of(self, target: TopicPartition) -> TopicPartition | None:
        """Return the source partition that is copied to ``target``."""
        return next(
            (
                source
                for source, anchor in self.anchors.items()
                if (anchor.target_topic, anchor.partition) == target
            ),
            None,
        )
