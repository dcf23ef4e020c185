"""Translates the offsets of a flow from its state topics and both logs, in any process.

Needs no driver and no engine: the state topics on the target hold the copy position, the registry
lists the flow's own producer ids (F), and both logs are read for the rest.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.errors import ClusterRejected, ReplicationError
from replication.model import OffsetRange, TopicPartition
from replication.offsets.counted_log import CountedLog
from replication.offsets.offset_map import (
    BEFORE_US,
    POINTS_LOST,
    has_lost_first,
    sync_points_of,
    without_answer,
)
from replication.offsets.source_divergence import lost_from
from replication.offsets.stored_answers import StoredAnswers
from replication.offsets.translate import Translation
from replication.provenance.origins import Origins, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from replication.client.network import Network
    from replication.offsets.known_points import KnownPoints
    from replication.offsets.offset_map import Answer, SyncPoint
    from replication.records.batch import Batch
    from replication.state import (
        Anchor,
    )

    Answers = Mapping[TopicPartition, Mapping[int, Answer]]

_CONCURRENT = 16  # partitions read at the same time


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
    errors: dict[TopicPartition, ReplicationError] = field(
        default_factory=dict
    )  # of partitions without an answer
    stored: StoredAnswers = field(default_factory=StoredAnswers)

    async def translate(
        self,
        offsets: Mapping[TopicPartition, Collection[int]],
        *,
        back: bool = False,
        ahead: bool = True,
    ) -> Answers:
        """Return the answers for offsets of source partitions; ``back``: of their copies.

        Each number has an answer, also one that is no offset of the log; see ``log_bounds``. A
        partition of which nothing was copied yet is left out, and so is one whose brokers do not
        answer: it does not block others, and ``errors`` holds the reason. Offsets that another
        copier copied before us cannot be translated, nor can those of a topic that was recreated.
        """
        turn = asyncio.Semaphore(_CONCURRENT)
        self.stored.trim()
        there = {each: self._translation(each, turn, ahead=ahead) for each in offsets}
        ready = {each: found for each, found in there.items() if found is not None}
        await self._look_up(ready)
        answers = self._take_without_translation(ready, offsets)
        work = (self._answers_of(*each, offsets[each[0]], back=back) for each in ready.items())
        found = await asyncio.gather(*work, return_exceptions=True)
        for partition, answer in zip(ready, found, strict=True):
            if isinstance(answer, ReplicationError):
                self.errors[partition] = answer
            elif isinstance(answer, BaseException):
                raise answer
            else:
                answers[partition] = answer
        return answers

    def _take_without_translation(
        self,
        ready: dict[TopicPartition, Translation],
        offsets: Mapping[TopicPartition, Collection[int]],
    ) -> dict[TopicPartition, Mapping[int, Answer]]:
        """Remove the partitions that cannot be translated; return their answers."""
        answers: dict[TopicPartition, Mapping[int, Answer]] = {}
        for each in list(ready):
            anchor = self.known.anchors[each]
            if error := self._hidden(anchor):
                self.errors[each] = ClusterRejected(error)
                del ready[each]
            elif problem := _transformed(anchor) or self._recreated(anchor):
                answers[each] = dict.fromkeys(offsets[each], without_answer(problem))
                del ready[each]
        return answers

    async def _answers_of(
        self,
        partition: TopicPartition,
        translation: Translation,
        offsets: Collection[int],
        *,
        back: bool,
    ) -> Mapping[int, Answer]:
        """Return the answers for one partition, also for what was copied before us."""
        since, why = self._known_since(partition, translation)
        theirs = [each for each in offsets if 0 <= each < since[1 if back else 0]]
        ours = set(offsets).difference(theirs)
        none = dict.fromkeys(theirs, why)
        translation.kept = await lost_from(self.source, self.known.anchors[partition])
        return {**await translation.translate(ours, back=back), **none}

    def _known_since(
        self, partition: TopicPartition, translation: Translation
    ) -> tuple[tuple[int, int], Answer]:
        """Return the offsets from which on the copy is known, and the answer for those before."""
        anchor = self.known.anchors[partition]
        if has_lost_first(self.known.points[partition].values(), anchor):
            first = translation.sync_points[0]
            return (first.source, first.target), POINTS_LOST
        return anchor.since or (0, 0), _before_us(anchor)

    async def _look_up(self, translations: Mapping[TopicPartition, Translation]) -> None:
        """Refresh the leaders, every time: a broker may have stopped since the last one."""
        there = {each.target.partition.topic for each in translations.values()}
        await asyncio.gather(
            self.source.refresh({each.topic for each in translations}), self.target.refresh(there)
        )

    def _hidden(self, anchor: Anchor) -> str:
        """Return an error if our user may not describe one of the topics; else empty."""
        ends = (self.source, anchor.topic), (self.target, anchor.target_topic)
        denied = [topic for network, topic in ends if network.denied(topic)]
        return f"not authorized to describe topic {denied[0]}" if denied else ""

    def _recreated(self, anchor: Anchor) -> str:
        """Return why no offset is translated if a topic is not the anchor's; else empty."""
        ends = (
            ("source", self.source, anchor.topic, anchor.source_topic_id),
            ("target", self.target, anchor.target_topic, anchor.target_topic_id),
        )
        return next((why for each in ends if (why := other_topic(*each))), "")

    def _translation(
        self, source: TopicPartition, turn: asyncio.Semaphore, *, ahead: bool
    ) -> Translation | None:
        anchor = self.known.anchors.get(source)
        if anchor is None:
            return None
        sync_points = sync_points_of(self.known.points[source].values(), anchor)
        if not sync_points:
            return None
        target = TopicPartition(anchor.target_topic, anchor.partition)
        own = self.known.producers | {number for _, number in anchor.appenders}

        def read(sync_point: SyncPoint) -> CountedLog:
            return self.source_log(source, sync_point)

        own_log = CountedLog(self.target, target, lambda batch: batch.producer_id in own)
        stored = self.stored.of(source, anchor, len(self.known.truncations[source]))
        return Translation(read, own_log, sync_points, ahead, stored, turn)

    def source_log(self, source: TopicPartition, at: SyncPoint | Anchor) -> CountedLog:
        """Return what reads the records of a source partition that are copied as ``at`` says."""
        topic_id = self.known.anchors[source].source_topic_id
        left_out = [
            OffsetRange(each.first, each.next)
            for each in self.known.losses[source]
            if each.topic_id == topic_id
        ]
        committed = at.isolation != "read_uncommitted"
        return CountedLog(self.source, source, self._passes(at), committed, left_out)

    def _passes(self, sync_point: SyncPoint | Anchor) -> Callable[[Batch], bool]:
        rule = rule_of(sync_point.origins, self.target.cluster_id)
        if rule is None:
            return lambda _: True
        path_of = self.origins.path_of
        return lambda batch: path_of(batch.producer_id, batch.base, rule) is not None


def other_topic(side: str, network: Network, topic: str, known: str) -> str:
    """Return why offsets of ``topic`` are not translated: its id is not ``known``; else empty.

    As of the network's last refresh. An empty id is unknown.
    """
    now = (network.topic_id(topic) or b"").hex()
    if not known or now == known:
        return ""
    if not now:
        return f"cannot be translated: topic {topic} is not on the {side} any more"
    return (
        f"cannot be translated: topic {topic} was deleted and recreated on the {side} since it was "
        "copied"
    )


def _transformed(anchor: Anchor) -> str:
    """Return why no offset of a transformed topic is translated; empty: it is copied unchanged."""
    if not anchor.transform:
        return ""
    return (
        f"cannot be translated: {anchor.topic} is transformed ({anchor.transform}), so a record of "
        "the source may be none or several on the target"
    )


def _before_us(anchor: Anchor) -> Answer:
    """Return the answer for an offset from before the copy in this target topic began."""
    if not anchor.former:
        return BEFORE_US
    return without_answer(
        f"is from before {anchor.topic} was renamed on the target: {anchor.former} has the records "
        f"so far, {anchor.target_topic} the later ones"
    )
