"""Synchronizes the committed offsets of a flow's consumer groups from its source to its target.

One round: read the source's offsets, translate them, read the target's, commit where they lag.
The target is read last, right before the commits, and its coordinators reject a commit for a
group that has members.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.errors import ClusterRejected, ClusterUnavailable, ReplicationError
from replication.model import TopicPartition
from replication.naming.selection import Verdict, group_filter
from replication.offsets.consumer_groups import IDLE, Committed, TargetGroups, lowest, plan_groups
from replication.offsets.offset_map import NOT_YET
from replication.offsets.sync_round import (
    IdleGroups,
    SyncRound,
    TranslatedPosition,
    by_group,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from replication.naming.selection import Judgement
    from replication.offsets.consumer_groups import GroupAction, Positions
    from replication.offsets.offset_map import Answer
    from replication.offsets.sync_round import GroupsOf, OffsetsOf
    from replication.settings.sections import Flow
    from replication.state import Anchor

_PAUSE_S = 0.2
_FRESH_S = 1.5  # anchors come about once a second; the second next one covers a group's offsets
_MAX_ANSWERS = 300_000  # answers


class _Query(NamedTuple):
    group: str
    where: TopicPartition
    position: Committed


@dataclass(slots=True)
class GroupSync:
    """The groups of one flow. ``siblings`` are flows that may feed the same target topics."""

    flow: Flow
    offsets: OffsetsOf
    source: GroupsOf
    target: GroupsOf
    siblings: Sequence[GroupSync] = ()
    wait: Callable[[float], None] = time.sleep
    _idle: IdleGroups = field(default_factory=IdleGroups)
    _excluded: tuple[Judgement, ...] = ()
    _last: tuple[float, list[TranslatedPosition]] = field(
        default=(-1e9, [])
    )  # when, and what was found
    _answers: dict[tuple[TopicPartition, object, int], Answer] = field(default_factory=dict)

    def sync(self, *, strict: bool = False) -> str:
        """Do one round; return a summary line. Raises ReplicationError.

        ``strict``: ClusterRejected for groups that the target rejected; else the line names them.

        Skips groups that are up to date and whose offsets do not change, unless other flows copy
        to the same partitions.
        """
        positions, now = self._selected(), time.monotonic()
        about = positions if self.siblings else self._idle.active(positions, now)
        found = self._round(about)
        refused = self.target.commit(found.commits)
        self._idle.note(about, found, refused)
        line = summary(found, refused, len(positions))
        if found.unread:
            raise ClusterUnavailable(f"{line}; some groups were not read: {found.unread}")
        if refused and strict:
            raise ClusterRejected(line)
        return line

    def plan(self) -> SyncRound:
        """Return what a round for all groups would do; change nothing."""
        return self._round(self._selected())

    def _round(self, positions: Mapping[str, Positions]) -> SyncRound:
        translated = self._translate_all(positions)
        if self.siblings:
            self._remember(translated)
        actions = self.towards(self._desired(translated), rewind=False) if translated else ()
        failures = (self.source.unavailable, self.target.unavailable, self.offsets.errors)
        unread = next((why for each in failures for why in each.values()), "")
        return SyncRound(tuple(translated), actions, unread, self._excluded)

    def towards(
        self, desired: Mapping[str, Mapping[TopicPartition, Committed]], *, rewind: bool
    ) -> tuple[GroupAction, ...]:
        """Return the actions that bring groups to the desired offsets on the target.

        A group whose present offsets are unknown is left out. One that is not listed is new only if
        every coordinator answered: otherwise a commit might move it back.
        """
        listed = self.target.listed()
        all_available = not self.target.unavailable
        there = [listed[name] for name in desired if name in listed]
        positions = self.target.positions(each for each in there if each.state in IDLE)
        known = {
            name: where
            for name, where in desired.items()
            if (
                all_available
                if name not in listed
                else listed[name].state not in IDLE or name in positions
            )
        }
        return tuple(plan_groups(known, TargetGroups(listed, positions), rewind=rewind))

    def translated_of(self, group: str) -> Positions:
        """Return the target offsets of one group of the source, selected or not."""
        listed = self.source.listed()
        if group not in listed:
            return {}
        positions = self.source.positions([listed[group]])
        return self._desired(self._translate_all(positions)).get(group, {})

    def recently(self) -> list[TranslatedPosition]:
        """Return the last result of ``translated`` if it is no older than a round.

        For siblings: an older position is a lower one, unless the group was just reset.
        """
        at, found = self._last
        every = self.flow.groups.every.total_seconds()
        return found if time.monotonic() - at < every else self.translated()

    def translated(self) -> list[TranslatedPosition]:
        """Return the selected groups' offsets in copied partitions, translated."""
        translated = self._translate_all(self._selected())
        self._remember(translated)
        return translated

    def _remember(self, translated: list[TranslatedPosition]) -> None:
        """Remember a result for siblings if it is complete: a missing position is not none."""
        whole = not (self.offsets.errors or self.source.unavailable)
        self._last = (time.monotonic() if whole else -1e9), translated

    def _selected(self) -> Mapping[str, Positions]:
        """Return the selected groups' offsets at the source."""
        chosen = group_filter(self.flow.selection)
        listed = self.source.listed()
        judged = [chosen.judge(name) for name in sorted(listed)]
        self._excluded = tuple(each for each in judged if each.verdict is Verdict.EXCLUDED)
        return self.source.positions(listed[each.name] for each in judged if each.selected)

    def _translate_all(self, positions: Mapping[str, Positions]) -> list[TranslatedPosition]:
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
            if not late or time.monotonic() > deadline:
                return [*translated, *late]
            known = {(each.group, each.source) for each in translated}
            queries = [each for each in queries if (each.group, each.where) not in known]
            self.wait(_PAUSE_S)
            self.offsets.look()

    @property
    def _patience_s(self) -> float:
        return _FRESH_S + self.flow.copying.anchor_every.total_seconds()

    def _translated(self, queries: Iterable[_Query]) -> list[TranslatedPosition]:
        """Translate the offsets of copied partitions."""
        anchors = self.offsets.known.anchors
        copied = [
            (each, anchors[each.where])
            for each in queries
            if each.position.offset >= 0
            and each.where in anchors
            and anchors[each.where].source is not None
        ]
        copies = {each.where: _copy_of(anchor) for each, anchor in copied}
        answers = self._answers_for({(each.where, each.position.offset) for each, _ in copied})
        return [
            TranslatedPosition(each.group, each.where, each.position, copies[each.where], answer)
            for each, _ in copied
            if (answer := answers.get((each.where, each.position.offset))) is not None
        ]

    def _answers_for(
        self, queries: Collection[tuple[TopicPartition, int]]
    ) -> dict[tuple[TopicPartition, int], Answer]:
        """Translate, with a cache of exact answers."""
        anchors = self.offsets.known.anchors
        if len(self._answers) > _MAX_ANSWERS:
            self._answers.clear()
        incarnations = {where: _incarnation(anchors[where]) for where, _ in queries}
        desired: dict[TopicPartition, set[int]] = {where: set() for where, _ in queries}
        for where, offset in queries:
            if (where, incarnations[where], offset) not in self._answers:
                desired[where].add(offset)
        # Partitions without a new offset too: this detects a recreated topic.
        fresh = self.offsets.translate(desired, ahead=False) if desired else {}
        found = {(w, o): answer for w, listed in fresh.items() for o, answer in listed.items()}
        for (where, offset), answer in found.items():
            stays = answer.offset is not None and answer.offset < (anchors[where].target or 0)
            if stays and answer.exact:
                self._answers[where, incarnations[where], offset] = answer
        for where, offset in queries:
            cached = self._answers.get((where, incarnations[where], offset))
            if cached is not None and where not in self.offsets.errors:
                found[where, offset] = cached
        return found

    def _desired(self, translated: Iterable[TranslatedPosition]) -> dict[str, Positions]:
        """Return the groups' desired offsets on the target, over all sources of a partition."""
        mine = by_group(translated)
        shared = {where for positions in mine.values() for where in positions}
        theirs, unknown = self._of_siblings(shared)
        return {
            group: lowest(
                [
                    {where: None if where in unknown else p for where, p in positions.items()},
                    *(
                        {w: p for w, p in each.get(group, {}).items() if w in positions}
                        for each in theirs
                    ),
                ]
            )
            for group, positions in mine.items()
        }

    def _of_siblings(
        self, shared: set[TopicPartition]
    ) -> tuple[list[dict[str, dict[TopicPartition, Committed | None]]], set[TopicPartition]]:
        """Return other flows' positions in the same partitions, and partitions that are unknown.

        While another source does not answer, a group's position in it is unknown.
        """
        found, unknown = [], set[TopicPartition]()
        for each in self.siblings:
            anchors = dict(each.offsets.look().anchors)
            common = shared & {_copy_of(anchor) for anchor in anchors.values()}
            if not common:
                continue
            unknown |= shared & {_copy_of(a) for a in anchors.values() if a.source is None}
            try:
                found.append(by_group(each.recently()))
            except ReplicationError:
                unknown |= common
            if each.source.unavailable:  # some groups may have offsets that no broker reports
                unknown |= common
            unknown |= {_copy_of(anchors[w]) for w in list(each.offsets.errors) if w in anchors}
        return found, unknown


def _incarnation(anchor: Anchor) -> tuple[int, str, str]:
    """Return what an answer depends on: the start of the copy, and both topic ids."""
    return (anchor.run or (0,))[0], anchor.source_topic_id, anchor.target_topic_id


def _copy_of(anchor: Anchor) -> TopicPartition:
    return TopicPartition(anchor.target_topic, anchor.partition)
