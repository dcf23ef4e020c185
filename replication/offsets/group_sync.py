"""Carry the positions of a flow's consumer groups from its source to its target.

One round: read the source's positions, translate them, read the target's, commit what is behind.
The target is asked last, right before the commits, and its coordinators themselves refuse a commit
for a group that has members.
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
_FRESH_S = 1.5  # anchors come about once a second: what a group has read is in the next but one
_MOST_KEPT = 300_000  # answers


class _Asked(NamedTuple):
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
    _settled: IdleGroups = field(default_factory=IdleGroups)
    _excluded: tuple[Judgement, ...] = ()
    _last: tuple[float, list[TranslatedPosition]] = field(
        default=(-1e9, [])
    )  # when, and what was found
    _answers: dict[tuple[TopicPartition, object, int], Answer] = field(default_factory=dict)

    def sync(self, *, strict: bool = False) -> str:
        """Do one round; return what it did in a line. Raises ReplicationError.

        ``strict``: ClusterRejected for groups that the target refused, which else the line names.

        Groups for which nothing was left to do are passed over while they stand still, unless
        other flows have a say in them.
        """
        positions, now = self._selected(), time.monotonic()
        about = positions if self.siblings else self._settled.unsettled(positions, now)
        found = self._round(about)
        refused = self.target.commit(found.commits)
        self._settled.note(about, found, refused)
        line = summary(found, refused, len(positions))
        if found.silent:
            raise ClusterUnavailable(f"{line}; some groups were not read: {found.silent}")
        if refused and strict:
            raise ClusterRejected(line)
        return line

    def plan(self) -> SyncRound:
        """Return what a round for all groups would do; nothing is changed."""
        return self._round(self._selected())

    def _round(self, positions: Mapping[str, Positions]) -> SyncRound:
        moved = self._moved(positions)
        if self.siblings:
            self._keep(moved)
        actions = self.towards(self._wanted(moved), rewind=False) if moved else ()
        quiet = (self.source.away, self.target.away, self.offsets.trouble)
        silent = next((why for each in quiet for why in each.values()), "")
        return SyncRound(tuple(moved), actions, silent, self._excluded)

    def towards(
        self, wanted: Mapping[str, Mapping[TopicPartition, Committed]], *, rewind: bool
    ) -> tuple[GroupAction, ...]:
        """Return what has to be done so that groups stand where they are wanted on the target.

        A group of which it is not known where it stands now is left out. One that is not listed is
        new only if every coordinator has told: it might else be moved back.
        """
        listed = self.target.listed()
        all_told = not self.target.away
        there = [listed[name] for name in wanted if name in listed]
        positions = self.target.positions(each for each in there if each.state in IDLE)
        known = {
            name: where
            for name, where in wanted.items()
            if (
                all_told
                if name not in listed
                else listed[name].state not in IDLE or name in positions
            )
        }
        return tuple(plan_groups(known, TargetGroups(listed, positions), rewind=rewind))

    def translated_of(self, group: str) -> Positions:
        """Return where one group of the source, selected or not, should stand on the target."""
        listed = self.source.listed()
        if group not in listed:
            return {}
        positions = self.source.positions([listed[group]])
        return self._wanted(self._moved(positions)).get(group, {})

    def recently(self) -> list[TranslatedPosition]:
        """Return what ``moved`` last found, if that is no older than a round.

        For siblings: an older position is a lower one, unless somebody has just taken it back.
        """
        at, found = self._last
        every = self.flow.groups.every.total_seconds()
        return found if time.monotonic() - at < every else self.moved()

    def moved(self) -> list[TranslatedPosition]:
        """Return the positions of the selected groups in copied partitions, translated."""
        moved = self._moved(self._selected())
        self._keep(moved)
        return moved

    def _keep(self, moved: list[TranslatedPosition]) -> None:
        """Keep what was found for siblings if it is complete: what is missing is not none."""
        whole = not (self.offsets.trouble or self.source.away)
        self._last = (time.monotonic() if whole else -1e9), moved

    def _selected(self) -> Mapping[str, Positions]:
        """Return where the selected groups stand at the source."""
        chosen = group_filter(self.flow.selection)
        listed = self.source.listed()
        judged = [chosen.judge(name) for name in sorted(listed)]
        self._excluded = tuple(each for each in judged if each.verdict is Verdict.EXCLUDED)
        return self.source.positions(listed[each.name] for each in judged if each.selected)

    def _moved(self, positions: Mapping[str, Positions]) -> list[TranslatedPosition]:
        """Translate. What no anchor has reached is looked at again until the next ones are there.

        A partition that did not answer is asked again as well.
        """
        deadline = time.monotonic() + self._patience_s
        self.offsets.look()
        asked = [_Asked(g, *each) for g, held in positions.items() for each in held.items()]
        moved: list[TranslatedPosition] = []
        while True:
            found = self._translated(asked)
            moved += [each for each in found if each.answer != NOT_YET]
            late = [each for each in found if each.answer == NOT_YET]
            if not late or time.monotonic() > deadline:
                return [*moved, *late]
            known = {(each.group, each.source) for each in moved}
            asked = [each for each in asked if (each.group, each.where) not in known]
            self.wait(_PAUSE_S)
            self.offsets.look()

    @property
    def _patience_s(self) -> float:
        return _FRESH_S + self.flow.copying.anchor_every.total_seconds()

    def _translated(self, asked: Iterable[_Asked]) -> list[TranslatedPosition]:
        """Return those that are in copied partitions and have a position, translated."""
        anchors = self.offsets.known.anchors
        copied = [
            (each, anchors[each.where])
            for each in asked
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
        self, asked: Collection[tuple[TopicPartition, int]]
    ) -> dict[tuple[TopicPartition, int], Answer]:
        """Translate; where a record stands is asked only once."""
        anchors = self.offsets.known.anchors
        if len(self._answers) > _MOST_KEPT:
            self._answers.clear()
        eras = {where: _era(anchors[where]) for where, _ in asked}
        wanted: dict[TopicPartition, set[int]] = {where: set() for where, _ in asked}
        for where, offset in asked:
            if (where, eras[where], offset) not in self._answers:
                wanted[where].add(offset)
        # Those with nothing to ask too: a topic that was recreated is known by then.
        fresh = self.offsets.translate(wanted, ahead=False) if wanted else {}
        found = {(w, o): answer for w, listed in fresh.items() for o, answer in listed.items()}
        for (where, offset), answer in found.items():
            stays = answer.offset is not None and answer.offset < (anchors[where].target or 0)
            if stays and answer.exact:
                self._answers[where, eras[where], offset] = answer
        for where, offset in asked:
            kept = self._answers.get((where, eras[where], offset))
            if kept is not None and where not in self.offsets.trouble:
                found[where, offset] = kept
        return found

    def _wanted(self, moved: Iterable[TranslatedPosition]) -> dict[str, Positions]:
        """Return where each group should stand on the target, over all sources of a partition."""
        mine = by_group(moved)
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
        """Return what other flows say of the same partitions, and those that cannot be known.

        While another source is silent nobody can say what a group has read of it.
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
            if each.source.away:  # some groups may have positions that nobody tells
                unknown |= common
            unknown |= {_copy_of(anchors[w]) for w in list(each.offsets.trouble) if w in anchors}
        return found, unknown


def _era(anchor: Anchor) -> tuple[int, str, str]:
    """Return what an answer is true for: the course of the copy, and the topics at its ends."""
    return (anchor.run or (0,))[0], anchor.source_topic_id, anchor.target_topic_id


def _copy_of(anchor: Anchor) -> TopicPartition:
    return TopicPartition(anchor.target_topic, anchor.partition)
