"""Translates the offsets of a flow from its state topics and both logs, in any process.

Needs no driver and no engine: the state topics on the target hold the copy position, the registry
lists the flow's own producer ids (F), and both logs are read for the rest.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.errors import ReplicationError
from replication.model import NO_PRODUCER_ID, OffsetRange, PartitionState, TopicPartition
from replication.offsets.counted_log import CountedLog
from replication.offsets.offset_map import BEFORE_US, sync_points_of
from replication.offsets.translate import Translation
from replication.provenance.origins import Origins, rule_of
from replication.state import Anchor, Loss, OffsetPoint, ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from replication.client.network import Network
    from replication.offsets.offset_map import Answer, SyncPoint
    from replication.records.batch import Batch
    from replication.state import Stored

    Answers = Mapping[TopicPartition, Mapping[int, Answer]]

_CONCURRENT = 16  # partitions read at the same time


@dataclass(slots=True)
class KnownPoints:
    """The records of one flow in the state topics on the target, by source partition."""

    flow: str
    anchors: dict[TopicPartition, Anchor] = field(default_factory=dict)
    points: dict[TopicPartition, dict[int, OffsetPoint]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    losses: dict[TopicPartition, list[Loss]] = field(default_factory=lambda: defaultdict(list))
    producers: set[int] = field(default_factory=set)  # the flow's own

    def learn(self, records: Iterable[Stored]) -> None:
        """Add records that were read, oldest first."""
        for each in records:
            match each:
                case Anchor(flow=self.flow):
                    self.anchors[TopicPartition(each.topic, each.partition)] = each
                    if any(not name and number < 0 for name, number in each.appenders):
                        self.producers.add(NO_PRODUCER_ID)
                case OffsetPoint(flow=self.flow):
                    self.points[TopicPartition(each.topic, each.partition)][each.slot] = each
                case Loss(flow=self.flow, state=PartitionState.REFUSED):
                    self.losses[TopicPartition(each.topic, each.partition)].append(each)
                case ProducerEntry(flow=self.flow):
                    self.producers.add(each.producer_id)
                case _:
                    pass

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


@dataclass(frozen=True, slots=True)
class FlowOffsets:
    """Both clusters of a flow, and its state records.

    ``origins`` holds the source's registry of producer ids: a flow that excludes copies excludes
    them here as well, otherwise the counts would differ (P3).
    """

    known: KnownPoints
    source: Network
    target: Network
    origins: Origins = field(default_factory=Origins)
    errors: dict[TopicPartition, str] = field(
        default_factory=dict
    )  # of partitions without an answer

    async def translate(
        self,
        offsets: Mapping[TopicPartition, Collection[int]],
        *,
        back: bool = False,
        ahead: bool = True,
    ) -> Answers:
        """Return the answers for offsets of source partitions; ``back``: of their copies.

        A partition of which nothing was copied yet is left out, and so is one whose brokers do not
        answer: it does not block others, and ``errors`` holds the reason. Offsets that another
        copier copied before us cannot be translated.
        """
        there = {each: self._translation(each, ahead=ahead) for each in offsets}
        ready = {each: found for each, found in there.items() if found is not None}
        await self._look_up(ready)
        for each in list(ready):
            if error := self._recreated(self.known.anchors[each]):
                self.errors[each] = error
                del ready[each]
        turn = asyncio.Semaphore(_CONCURRENT)

        async def one(partition: TopicPartition, translation: Translation) -> Mapping[int, Answer]:
            if not offsets[partition]:
                return {}
            since = (self.known.anchors[partition].since or (0, 0))[1 if back else 0]
            ours = [each for each in offsets[partition] if each >= since]
            none = dict.fromkeys(set(offsets[partition]) - set(ours), BEFORE_US)
            async with turn:
                return {**await translation.translate(ours, back=back), **none}

        work = (one(*each) for each in ready.items())
        found = await asyncio.gather(*work, return_exceptions=True)
        answers: dict[TopicPartition, Mapping[int, Answer]] = {}
        for partition, answer in zip(ready, found, strict=True):
            if isinstance(answer, ReplicationError):
                self.errors[partition] = str(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                answers[partition] = answer
        return answers

    async def _look_up(self, translations: Mapping[TopicPartition, Translation]) -> None:
        """Refresh the leaders, every time: a broker may have stopped since the last one."""
        there = {each.target.partition.topic for each in translations.values()}
        await asyncio.gather(
            self.source.refresh({each.topic for each in translations}), self.target.refresh(there)
        )

    def _recreated(self, anchor: Anchor) -> str:
        """Return an error if the source or the target topic is not the anchor's; else empty."""
        ends = (
            (self.source, anchor.topic, anchor.source_topic_id),
            (self.target, anchor.target_topic, anchor.target_topic_id),
        )
        for network, topic, known in ends:
            if known and (network.topic_id(topic) or b"").hex() != known:
                return f"{topic} does not exist, or was recreated since it was copied"
        return ""

    def _translation(self, source: TopicPartition, *, ahead: bool) -> Translation | None:
        anchor = self.known.anchors.get(source)
        if anchor is None:
            return None
        sync_points = sync_points_of(self.known.points[source].values(), anchor)
        if not sync_points:
            return None
        target = TopicPartition(anchor.target_topic, anchor.partition)
        own = self.known.producers | {number for _, number in anchor.appenders}
        left_out = [
            OffsetRange(each.first, each.next)
            for each in self.known.losses[source]
            if each.topic_id == anchor.source_topic_id
        ]

        def read(sync_point: SyncPoint) -> CountedLog:
            committed = sync_point.isolation != "read_uncommitted"
            return CountedLog(self.source, source, self._passes(sync_point), committed, left_out)

        own_log = CountedLog(self.target, target, lambda batch: batch.producer_id in own)
        return Translation(read, own_log, sync_points, ahead)

    def _passes(self, sync_point: SyncPoint) -> Callable[[Batch], bool]:
        rule = rule_of(sync_point.origins, self.target.cluster_id)
        if rule is None:
            return lambda _: True
        return lambda batch: self.origins.path_of(batch.producer_id, rule) is not None
