"""Where groups that read renamed copies continue in the originals, when clients come home.

Under MirrorMaker 2's names clients on B read ``A.orders``, which no flow copies home to A. When
they move there, their offsets in it become offsets in ``orders``, by the points of the flow A->B.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from replication.model import TopicPartition
from replication.naming.selection import group_filter
from replication.offsets.groups.consumer_groups import (
    IDLE,
    Committed,
    LeaveGroup,
    LeaveOffset,
    TargetGroups,
    open_transaction,
    plan_groups,
    stop_first,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from replication.adapters.offset_reader import OffsetReader
    from replication.errors import ReplicationError
    from replication.offsets.groups.consumer_groups import (
        CommitGroup,
        GroupAction,
        Positions,
    )
    from replication.offsets.groups.group_sync import GroupSync
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_UNKNOWN = "has no known offset in the original topic: set it with kafka-consumer-groups"


class HomePlan(NamedTuple):
    """What brings groups home; ``unread``: why it is not known of all of them now, or empty."""

    actions: tuple[GroupAction, ...] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True)
class HomePositions:
    """Groups of ``opposite``, the flow that copied from where they go to where they are.

    Raises ClusterUnavailable, ClusterRejected.
    """

    opposite: Flow
    sync: GroupSync
    reader: OffsetReader

    def plan(self) -> HomePlan:
        """Return what brings the groups home; none is moved back, none with members is changed."""
        copies = self._renamed_copies()
        if not copies:
            return HomePlan()
        held = self._selected()
        desired, left = self._translated(held, copies)
        listed = self.sync.source.listed()
        there = [listed[name] for name in desired if name in listed]
        idle = self.sync.source.positions(each for each in there if each.state in IDLE)
        whole, unreadable = not self.sync.source.unavailable, self.sync.source.unreadable
        groups = TargetGroups(listed, idle, whole, unreadable)
        undecided = [
            (group, where)
            for group, positions in held.items()
            for where, at in positions.items()
            if where in copies and at.is_undecided
        ]
        left += [LeaveOffset(g, copies[where], open_transaction(where)) for g, where in undecided]
        at, chosen = self.opposite.target, group_filter(self.opposite.selection)
        left += [
            LeaveGroup(name, f"its offsets on {at} are unknown: {why}")
            for name, why in sorted(self.sync.target.unreadable.items())
            if chosen.judge(name).selected
        ]
        passing = {where: why for where, why in self.reader.errors.items() if why.retriable}
        silent = (self.sync.target.unavailable, self.sync.source.unavailable, passing)
        unread = (str(why) for each in silent for why in each.values())
        waits = (stop_first(*each) for each in undecided)
        return HomePlan((*plan_groups(desired, groups), *left), next(chain(unread, waits), ""))

    def commit(self, commits: Sequence[CommitGroup]) -> Mapping[str, ReplicationError]:
        """Commit the offsets; return which groups brokers refuse, and why."""
        return self.sync.source.commit(commits)

    def _renamed_copies(self) -> dict[TopicPartition, TopicPartition]:
        """Return the original of each copy that has another name."""
        return {
            TopicPartition(each.target_topic, each.partition): original
            for original, each in self.reader.look().anchors.items()
            if each.target_topic not in {"", original.topic}
        }

    def _selected(self) -> Mapping[str, Positions]:
        """Return the offsets of the flow's groups where they are now."""
        chosen, listed = group_filter(self.opposite.selection), self.sync.target.listed()
        names = (name for name in sorted(listed) if chosen.judge(name).selected)
        return self.sync.target.positions(listed[name] for name in names)

    def _translated(
        self, held: Mapping[str, Positions], copies: Mapping[TopicPartition, TopicPartition]
    ) -> tuple[dict[str, Positions], list[GroupAction]]:
        """Return the groups' offsets in the originals, and those that have no answer."""
        asked: dict[TopicPartition, set[int]] = defaultdict(set)
        pairs = [
            (group, copies[where], at.offset)
            for group, positions in held.items()
            for where, at in positions.items()
            if where in copies and at.offset >= 0
        ]
        for _, original, offset in pairs:
            asked[original].add(offset)
        answers = self.reader.translate(asked, back=True) if asked else {}
        desired: dict[str, Positions] = defaultdict(dict)
        left: list[GroupAction] = []
        for group, original, offset in pairs:
            answer = answers.get(original, {}).get(offset)
            if answer is not None and answer.offset is not None:
                desired[group][original] = Committed(answer.offset)
            else:
                error = self.reader.errors.get(original)
                refused = f"was not translated: {error}" if error else ""
                why = refused or (answer and answer.problem) or _UNKNOWN
                left.append(LeaveOffset(group, original, f"offset {offset} of its copy {why}"))
        return desired, left


@contextmanager
def opened_home(flow: Flow, config: Config) -> Iterator[HomePositions | None]:
    """Give the way home of groups on the source of ``flow``; None: no flow copied to it."""
    from replication.adapters.group_syncs import opened_sync  # noqa: PLC0415 - on first use

    opposite = config.flow_back(flow)
    if opposite is None:
        yield None
        return
    with opened_sync(opposite, config) as (sync, reader):
        yield HomePositions(opposite, sync, reader)
