"""Synchronizes the committed offsets of a flow's consumer groups from its source to its target.

One round: read the source's offsets, translate them, read the target's, commit where they lag.
The target is read last, right before the commits, and its coordinators reject a commit for a
group that has members.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.clock import now_ms
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.naming.selection import SelectionVerdict, group_filter, listed
from replication.offsets.groups.consumer_groups import (
    IDLE,
    Committed,
    LeaveGroup,
    TargetGroups,
    plan_groups,
)
from replication.offsets.groups.group_translation import GroupTranslation
from replication.offsets.groups.shared_partitions import (
    NOTHING_KNOWN,
    SharedPartitions,
    TranslatedGroups,
)
from replication.offsets.groups.sync_round import (
    IdleGroups,
    SyncRound,
    TranslatedPosition,
    summary,
    unknown_elsewhere,
    untranslated,
)
from replication.state import GroupPositions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from replication.naming.selection import Judgement, TopicSelector
    from replication.offsets.groups.consumer_groups import GroupAction, LeaveOffset, Positions
    from replication.offsets.groups.shared_partitions import DesiredPositions
    from replication.offsets.groups.sync_round import GroupsOf, OffsetsOf
    from replication.settings.flow_settings import Flow

_NEVER = -1e9  # on the monotonic clock
_SHOWN = 5  # of the offsets that are not translated, in one warning


class _Selected(NamedTuple):
    """The selected groups' offsets at the source; ``unread``: groups that gave none."""

    positions: Mapping[str, Positions]
    unread: frozenset[str]


@dataclass(slots=True)
class GroupSync:
    """The groups of one flow.

    ``siblings`` returns the syncs of flows that may feed the same target topics: each of them knows
    the others, so they are asked for. ``opposite`` returns the offsets of the flow back between the
    same topics; None: there is none. Where these or the target's own clients have written, see
    SharedPartitions.

    ``warn`` gets a sentence about offsets that are not translated, once for each of them.
    ``remember`` stores offsets of groups at the source that differ from the last round's.
    """

    flow: Flow
    topics: TopicSelector
    offsets: OffsetsOf
    source: GroupsOf
    target: GroupsOf
    siblings: Callable[[], Sequence[GroupSync]] = tuple
    opposite: Callable[[], OffsetsOf | None] = lambda: None
    wait: Callable[[float], None] = time.sleep
    warn: Callable[[str], None] = lambda _: None
    remember: Callable[[Sequence[GroupPositions]], None] = lambda _: None
    _stored: dict[str, GroupPositions] = field(default_factory=dict)
    _idle: IdleGroups = field(default_factory=IdleGroups)
    _excluded: tuple[Judgement, ...] = ()
    _last: tuple[float, TranslatedGroups] = _NEVER, TranslatedGroups([])  # when, and what was found
    _named: frozenset[LeaveOffset] = frozenset()  # offsets that ``warn`` was called with

    def sync(self, *, strict: bool = False, whole: bool = True) -> str:
        """Do one round; return a summary line. Raises ReplicationError.

        ``strict``: ClusterRejected for groups that the target rejected or may not be asked for, and
        for partitions whose brokers refuse a translation; else the line names them.
        ``whole``: likewise for groups that brokers of the source refuse to read. All others are set
        then, but a failover may not take the round for one that read all groups.

        Skips groups that are up to date and whose offsets do not change, unless other flows copy
        to the same partitions.
        """
        (positions, unread), now = self._selected(), time.monotonic()
        about = positions if self.siblings() else self._idle.active(positions, now)
        found = self._round(_Selected(about, unread))
        refused = self.target.commit(found.commits)
        self._idle.note(about, found, refused)
        self._remember_source(positions)
        self._warn_of(found)
        line = summary(found, refused, len(positions))
        if found.unread:
            raise ClusterUnavailable(f"{line}; some groups were not read: {found.unread}")
        denied = self.target.unreadable or any(each.refused for each in found.translated)
        if (strict and (refused or denied)) or (whole and found.unreadable):
            raise ClusterRejected(line)
        return line

    def _remember_source(self, positions: Mapping[str, Positions]) -> None:
        """Store the offsets at the source of copied topics, where they changed.

        Also those that are not copied yet: they are needed when the source is gone. Instead of one
        that a transaction may change now, the one that was stored before stays.
        """
        copied = {each.topic for each in self.offsets.known.anchors}
        now = now_ms()
        records = [
            GroupPositions(self.flow.name, name, held, now)
            for name, its in positions.items()
            if (held := tuple(self._stable(name, {w: its[w] for w in its if w.topic in copied})))
        ]
        changed = [
            each for each in records if not _same_offsets(each, self._stored.get(each.group))
        ]
        if changed:
            self.remember(changed)
            self._stored.update((each.group, each) for each in changed)

    def _stable(self, group: str, positions: Positions) -> Iterator[tuple[str, int, int]]:
        """Yield topic, partition and offset of those offsets of a group that are known."""
        stored = self.offsets.known.groups.get(group, GroupPositions(self.flow.name, group))
        former = {TopicPartition(t, n): Committed(at) for t, n, at in stored.positions}
        for where, now in sorted(positions.items()):
            held = former.get(where, now) if now.is_undecided else now
            if not held.is_undecided:
                yield *where, held.offset

    def _warn_of(self, found: SyncRound) -> None:
        """Warn of offsets that are not translated and that the last rounds did not name."""
        fresh = [each for each in found.problems if each not in self._named]
        self._named = frozenset(found.problems) | (self._named if found.unread else frozenset())
        if fresh:
            lines = [f"group {each.group}: {each.reason}" for each in fresh]
            self.warn(f"{len(fresh)} offsets have no translation: {listed(lines, _SHOWN)}")

    def plan(self) -> SyncRound:
        """Return what a round for all groups would do; change nothing."""
        return self._round(self._selected())

    def _round(self, selected: _Selected) -> SyncRound:
        translated = self._translation.of(selected.positions)
        if self.siblings():
            self._remember(TranslatedGroups(translated, selected.unread))
        desired, errors_back = self.desired(translated)
        actions = self.towards(desired, rewind=False) if any(desired.values()) else ()
        # An error that does not pass holds up no other group: see ``unknown`` and ``untranslated``.
        passing = {where: why for where, why in errors_back.items() if why.retriable}
        own = {where: why for where, why in self.offsets.errors.items() if why.retriable}
        silent = (self.source.unavailable, self.target.unavailable, own, passing)
        unread = next((str(why) for each in silent for why in each.values()), "")
        unreadable = self.unreadable()
        actions = (*actions, *unreadable, *untranslated(translated))
        unknown = unknown_elsewhere(translated, desired, errors_back)
        return SyncRound(tuple(translated), actions, unread, self._excluded, unknown, unreadable)

    def towards(
        self, desired: Mapping[str, Mapping[TopicPartition, Committed]], *, rewind: bool
    ) -> tuple[GroupAction, ...]:
        """Return the actions that bring groups to the desired offsets on the target.

        A group whose present offsets are unknown is left alone. One that is not listed is new only
        if every coordinator answered: otherwise a commit might move it back.
        """
        listed = self.target.listed()
        whole = not self.target.unavailable
        positions_by_group = {name: positions for name, positions in desired.items() if positions}
        there = [listed[name] for name in positions_by_group if name in listed]
        positions = self.target.positions(each for each in there if each.state in IDLE)
        groups = TargetGroups(listed, positions, whole, self.target.unreadable)
        return tuple(plan_groups(positions_by_group, groups, rewind=rewind))

    def unreadable(self) -> tuple[LeaveGroup, ...]:
        """Return the groups that brokers of the source refused to read."""
        at = self.flow.source
        return tuple(
            LeaveGroup(name, f"its offsets on {at} are unknown: {why}")
            for name, why in sorted(self.source.unreadable.items())
        )

    def translated_of(self, group: str) -> list[TranslatedPosition]:
        """Return the translated offsets of one group of the source, selected or not."""
        listed = self.source.listed()
        if group not in listed:
            return []
        translated = self._translation.of(self.source.positions([listed[group]]))
        for each in self.unreadable():
            if each.group == group:
                raise ClusterRejected(f"group {group}: {each.reason}")
        return translated

    def recently(self) -> TranslatedGroups:
        """Return the last result of ``translated`` if it is no older than a round.

        For siblings: an older position is a lower one, unless the group was just reset.
        """
        at, found = self._last
        every = self.flow.groups.every.total_seconds()
        return found if time.monotonic() - at < every else self._translated()

    def translated(self) -> list[TranslatedPosition]:
        """Return the selected groups' offsets in copied partitions, translated."""
        return self._translated().positions

    def _translated(self) -> TranslatedGroups:
        selected = self._selected()
        found = TranslatedGroups(self._translation.of(selected.positions), selected.unread)
        self._remember(found)
        return found

    def _remember(self, found: TranslatedGroups) -> None:
        """Remember a result for siblings if it is complete: a missing position is not none."""
        whole = not (self.offsets.errors or self.source.unavailable)
        self._last = (time.monotonic() if whole else _NEVER), found

    @property
    def _translation(self) -> GroupTranslation:
        return GroupTranslation(self.flow, self.topics, self.offsets, self.wait)

    def desired(
        self,
        translated: Iterable[TranslatedPosition],
        unshared: Mapping[TopicPartition, int] = NOTHING_KNOWN,
    ) -> DesiredPositions:
        """Return the groups' desired offsets on the target, as SharedPartitions says."""
        return SharedPartitions(self.siblings(), self.opposite).desired(translated, unshared)

    def _selected(self) -> _Selected:
        """Read the selected groups' offsets at the source."""
        chosen = group_filter(self.flow.selection)
        listed = self.source.listed()
        judged = [chosen.judge(name) for name in sorted(listed)]
        self._excluded = tuple(each for each in judged if each.verdict is SelectionVerdict.EXCLUDED)
        groups = [listed[each.name] for each in judged if each.selected]
        positions = self.source.positions(groups)
        held = (each.name for each in groups if each.kind != "share")  # that one has no offsets
        return _Selected(positions, frozenset(held) - positions.keys())


def _same_offsets(one: GroupPositions, other: GroupPositions | None) -> bool:
    return other is not None and one.positions == other.positions
