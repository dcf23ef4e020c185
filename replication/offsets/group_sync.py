"""Synchronizes the committed offsets of a flow's consumer groups from its source to its target.

One round: read the source's offsets, translate them, read the target's, commit where they lag.
The target is read last, right before the commits, and its coordinators reject a commit for a
group that has members.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from replication.errors import ClusterRejected, ClusterUnavailable, ReplicationError
from replication.model import TopicPartition
from replication.naming.selection import Verdict, group_filter, listed
from replication.offsets.consumer_groups import IDLE, Committed, TargetGroups, lowest, plan_groups
from replication.offsets.offset_map import NOT_YET
from replication.offsets.sync_round import (
    IdleGroups,
    SyncRound,
    TranslatedPosition,
    by_group,
    summary,
    untranslated,
)
from replication.state import GroupPositions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from replication.naming.selection import Judgement, TopicSelector
    from replication.offsets.consumer_groups import GroupAction, LeaveOffset, Positions
    from replication.offsets.flow_offsets import Answers
    from replication.offsets.sync_round import GroupsOf, OffsetsOf
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor

_PAUSE_S = 0.2
_FRESH_S = 1.5  # anchors come about once a second; the second next one covers a group's offsets
NOTHING_KNOWN: Mapping[TopicPartition, int] = MappingProxyType({})
_SHOWN = 5  # of the offsets that are not translated, in one warning


class _Query(NamedTuple):
    group: str
    where: TopicPartition
    position: Committed


@dataclass(slots=True)
class GroupSync:
    """The groups of one flow. ``siblings`` are flows that may feed the same target topics.

    A target topic of a pair of flows that keep names also has records of the target's own clients.
    A group has read those before its offset at the source that the ``opposite`` flow has copied
    there; the lower one of the two positions counts.

    ``warn`` gets a sentence about offsets that are not translated, once for each of them.
    ``remember`` stores offsets of groups at the source that differ from the last round's.
    """

    flow: Flow
    topics: TopicSelector
    offsets: OffsetsOf
    source: GroupsOf
    target: GroupsOf
    siblings: Sequence[GroupSync] = ()
    # Of the flow back between the same topics; None: there is none.
    opposite: Callable[[], OffsetsOf | None] = lambda: None
    wait: Callable[[float], None] = time.sleep
    warn: Callable[[str], None] = lambda _: None
    remember: Callable[[Sequence[GroupPositions]], None] = lambda _: None
    _stored: dict[str, GroupPositions] = field(default_factory=dict)
    _idle: IdleGroups = field(default_factory=IdleGroups)
    _excluded: tuple[Judgement, ...] = ()
    _last: tuple[float, list[TranslatedPosition]] = field(
        default=(-1e9, [])
    )  # when, and what was found
    _named: frozenset[LeaveOffset] = frozenset()  # offsets that ``warn`` was told of

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
        self._remember_source(positions)
        self._warn_of(found)
        line = summary(found, refused, len(positions))
        if found.unread:
            raise ClusterUnavailable(f"{line}; some groups were not read: {found.unread}")
        if refused and strict:
            raise ClusterRejected(line)
        return line

    def _remember_source(self, positions: Mapping[str, Positions]) -> None:
        """Store the offsets at the source of copied topics, where they changed.

        Also those that are not copied yet: they are needed when the source is gone.
        """
        copied = {each.topic for each in self.offsets.known.anchors}
        now = int(time.time() * 1000)
        records = [
            GroupPositions(self.flow.name, name, held, now)
            for name, its in positions.items()
            if (held := tuple((*w, p.offset) for w, p in sorted(its.items()) if w.topic in copied))
        ]
        changed = [
            each for each in records if not _same_offsets(each, self._stored.get(each.group))
        ]
        if changed:
            self.remember(changed)
            self._stored.update((each.group, each) for each in changed)

    def _warn_of(self, found: SyncRound) -> None:
        """Warn of offsets that are not translated and that the last rounds did not name."""
        fresh = [each for each in found.problems if each not in self._named]
        self._named = frozenset(found.problems) | (self._named if found.unread else frozenset())
        if fresh:
            lines = [f"group {each.group}: {each.reason}" for each in fresh]
            self.warn(f"{len(fresh)} not moved: {listed(lines, _SHOWN)}")

    def plan(self) -> SyncRound:
        """Return what a round for all groups would do; change nothing."""
        return self._round(self._selected())

    def _round(self, positions: Mapping[str, Positions]) -> SyncRound:
        translated = self._translate_all(positions)
        if self.siblings:
            self._remember(translated)
        desired = self.desired(translated)
        actions = self.towards(desired, rewind=False) if any(desired.values()) else ()
        failures = (self.source.unavailable, self.target.unavailable, self.offsets.errors)
        unread = next((why for each in failures for why in each.values()), "")
        actions = (*actions, *untranslated(translated))
        return SyncRound(tuple(translated), actions, unread, self._excluded)

    def towards(
        self, desired: Mapping[str, Mapping[TopicPartition, Committed]], *, rewind: bool
    ) -> tuple[GroupAction, ...]:
        """Return the actions that bring groups to the desired offsets on the target.

        A group whose present offsets are unknown is left alone. One that is not listed is new only
        if every coordinator answered: otherwise a commit might move it back.
        """
        listed = self.target.listed()
        whole = not self.target.unavailable
        wanted = {name: positions for name, positions in desired.items() if positions}
        there = [listed[name] for name in wanted if name in listed]
        positions = self.target.positions(each for each in there if each.state in IDLE)
        return tuple(plan_groups(wanted, TargetGroups(listed, positions, whole), rewind=rewind))

    def translated_of(self, group: str) -> list[TranslatedPosition]:
        """Return the translated offsets of one group of the source, selected or not."""
        listed = self.source.listed()
        if group not in listed:
            return []
        return self._translate_all(self.source.positions([listed[group]]))

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

        Where brokers do not answer there is no answer; ``errors`` of the offsets says why.
        """
        asked = [each for each in queries if each.position.offset >= 0]
        copies = self._copies({each.where for each in asked})
        desired: dict[TopicPartition, set[int]] = {each: set() for each in copies}
        for each in asked:
            if each.where in copies:
                desired[each.where].add(each.position.offset)
        answers = self.offsets.translate(desired, ahead=False) if desired else {}
        return [
            TranslatedPosition(each.group, each.where, each.position, copies[each.where], answer)
            for each in asked
            if each.where in copies and each.where not in self.offsets.errors
            for answer in (answers.get(each.where, {}).get(each.position.offset, NOT_YET),)
        ]

    def _copies(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, TopicPartition]:
        """Return the target partitions of those that the flow copies, now or soon."""
        anchors = self.offsets.known.anchors
        copies = {each: _copy_of(anchors[each]) for each in partitions if each in anchors}
        topics = {each.topic for each in partitions if each not in anchors}
        names = {each: self.topics.remote_topic(each) for each in self.topics.selected(topics)}
        return copies | {
            each: TopicPartition(names[each.topic], each.partition)
            for each in partitions
            if each not in anchors and each.topic in names
        }

    def desired(
        self,
        translated: Iterable[TranslatedPosition],
        unshared: Mapping[TopicPartition, int] = NOTHING_KNOWN,
    ) -> dict[str, Positions]:
        """Return the groups' desired offsets on the target, over all sources of a partition.

        ``unshared``: the target offset, if it is known, up to which a partition has no record of
        the target's own clients. For a group that is not behind it the opposite flow is not asked.
        """
        translated = list(translated)
        mine = by_group(translated)
        shared = {where for positions in mine.values() for where in positions}
        theirs, unknown = self._of_siblings(shared)
        shares = [e for e in translated if (e.answer.offset or 0) > unshared.get(e.target, 0)]
        theirs.append(by_group(self._of_target_clients(shares)))
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

    def _of_target_clients(
        self, translated: Sequence[TranslatedPosition]
    ) -> Iterator[TranslatedPosition]:
        """Yield up to where the groups have read the records of the target's own clients."""
        try:
            answers = self._answers_back(translated)
        except ReplicationError:  # then they are unknown
            answers = {each.target: {} for each in translated}
        for each in translated:
            if each.target in answers:
                answer = answers[each.target].get(each.position.offset, NOT_YET)
                yield each._replace(answer=answer)

    def _answers_back(self, translated: Sequence[TranslatedPosition]) -> Answers:
        """Return where the offsets at the source stand on the target, by the opposite flow."""
        if not translated or (opposite := self.opposite()) is None:
            return {}
        anchors, offsets = opposite.look().anchors, dict[TopicPartition, set[int]]()
        for each in translated:
            if each.target in anchors and _copy_of(anchors[each.target]) == each.source:
                offsets.setdefault(each.target, set()).add(each.position.offset)
        found = opposite.translate(offsets, back=True) if offsets else {}
        return {each: found.get(each, {}) for each in offsets}

    def _of_siblings(
        self, shared: set[TopicPartition]
    ) -> tuple[list[dict[str, dict[TopicPartition, Committed | None]]], set[TopicPartition]]:
        """Return other flows' positions in the same partitions, and partitions that are unknown.

        While another source does not answer, a group's position in it is unknown.
        """
        found, unknown = [], set[TopicPartition]()
        for each in self.siblings:
            anchors = dict(_anchors_of(each.offsets))
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


def _anchors_of(offsets: OffsetsOf) -> Mapping[TopicPartition, Anchor]:
    """Return the anchors of another flow, whose source may be silent."""
    try:
        return offsets.look().anchors
    except ReplicationError:
        return offsets.look_at_target().anchors


def _same_offsets(one: GroupPositions, other: GroupPositions | None) -> bool:
    return other is not None and one.positions == other.positions


def _copy_of(anchor: Anchor) -> TopicPartition:
    return TopicPartition(anchor.target_topic, anchor.partition)
