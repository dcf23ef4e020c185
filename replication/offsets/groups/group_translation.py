"""Translates the offsets of groups by ``offsets.translate``; waits for anchors that cover them."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from replication.model import TopicPartition
from replication.offsets.groups.sync_round import TranslatedPosition
from replication.offsets.offset_map import NOT_YET, Answer, without_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from replication.errors import ReplicationError
    from replication.naming.selection import TopicSelector
    from replication.offsets.groups.consumer_groups import Committed, Positions
    from replication.offsets.groups.sync_round import OffsetsOf
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor

_PAUSE_S = 0.2
_UNDECIDED = Answer(None, exact=False)  # not NOT_YET: no anchor helps
_FRESH_S = 1.5  # anchors come about once a second; the second next one covers a group's offsets


class _Query(NamedTuple):
    group: str
    where: TopicPartition
    position: Committed


@dataclass(frozen=True, slots=True)
class GroupTranslation:
    """Translates offsets of groups at the source of one flow into offsets on its target."""

    flow: Flow
    topics: TopicSelector
    offsets: OffsetsOf
    wait: Callable[[float], None]

    def of(self, positions: Mapping[str, Positions]) -> list[TranslatedPosition]:
        """Translate offsets; retry those behind the last anchor until newer anchors are written.

        Also retries a partition that did not answer.
        """
        deadline = time.monotonic() + self._patience_s
        self.offsets.look()
        queries = [_Query(g, *each) for g, held in positions.items() for each in held.items()]
        translated: list[TranslatedPosition] = []
        while True:
            found = self._translated(queries)
            translated += [each for each in found if each.answer != NOT_YET]
            late = [each for each in found if each.answer == NOT_YET]
            anchored = any(each.source in self.offsets.known.anchors for each in late)
            if not anchored or time.monotonic() > deadline:
                return [*translated, *late]
            known = {(each.group, each.source) for each in translated}
            queries = [each for each in queries if (each.group, each.where) not in known]
            self.wait(_PAUSE_S)
            self.offsets.look()

    @property
    def _patience_s(self) -> float:
        return _FRESH_S + self.flow.copying.anchor_every.total_seconds()

    def _translated(self, queries: Sequence[_Query]) -> list[TranslatedPosition]:
        """Translate the offsets in partitions that are copied, or that are about to be.

        Where brokers do not answer there is no answer; ``errors`` of the offsets says why. An error
        that does not pass is the answer.
        """
        held = [e for e in queries if e.position.offset >= 0 or e.position.is_undecided]
        copies = self._copies({each.where for each in held})
        asked: dict[TopicPartition, set[int]] = defaultdict(set)
        for each in held:
            if each.where in copies and not each.position.is_undecided:
                asked[each.where].add(each.position.offset)
        answers = self.offsets.translate(asked, ahead=False) if asked else {}
        errors = self.offsets.errors
        silent = {where for where, why in errors.items() if why.retriable}
        refused = {where: why for where, why in errors.items() if not why.retriable}
        return [
            TranslatedPosition(*each, copies[each.where], answer, each.where in refused)
            for each in held
            if each.where in copies and each.where not in silent
            for answer in (
                _answer(each.position, answers.get(each.where, {}), refused.get(each.where)),
            )
        ]

    def _copies(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, TopicPartition]:
        """Return the target partitions of those that the flow copies, now or soon."""
        anchors = self.offsets.known.anchors
        copies = {each: copy_of(anchors[each]) for each in partitions if each in anchors}
        topics = {each.topic for each in partitions if each not in anchors}
        names = {each: self.topics.remote_topic(each) for each in self.topics.selected(topics)}
        return copies | {
            each: TopicPartition(names[each.topic], each.partition)
            for each in partitions
            if each not in anchors and each.topic in names
        }


def _answer(
    position: Committed, answers: Mapping[int, Answer], refused: ReplicationError | None
) -> Answer:
    if position.is_undecided:
        return _UNDECIDED
    if refused is not None:
        return without_answer(f"was not translated: {refused}")
    return answers.get(position.offset, NOT_YET)


def copy_of(anchor: Anchor) -> TopicPartition:
    """Return the target partition of an anchor's records."""
    return TopicPartition(anchor.target_topic, anchor.partition)
