"""Where a group continues in partitions that several clusters have written to.

A target partition may have the records of several flows, and those of the target's own clients. A
group continues at the lowest of its positions in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.errors import ReplicationError
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import lowest
from replication.offsets.groups.group_translation import copy_of
from replication.offsets.groups.sync_round import by_group
from replication.offsets.offset_map import NOT_YET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from replication.offsets.flow_offsets import Answers
    from replication.offsets.groups.consumer_groups import Committed, Positions
    from replication.offsets.groups.sync_round import GroupsOf, OffsetsOf, TranslatedPosition
    from replication.state import Anchor

NOTHING_KNOWN: Mapping[TopicPartition, int] = MappingProxyType({})


class DesiredPositions(NamedTuple):
    """The groups' desired offsets on the target.

    ``errors``: why it is not known of a target partition how far groups have read the records of
    the target's own clients there.
    """

    positions: dict[str, Positions]
    errors: Mapping[TopicPartition, ReplicationError] = MappingProxyType({})


class TranslatedGroups(NamedTuple):
    """The selected groups' offsets in copied partitions, translated.

    ``unread``: groups whose offsets are not known, as brokers refused to read them.
    """

    positions: list[TranslatedPosition]
    unread: frozenset[str] = frozenset()


class Sibling(Protocol):
    """Another flow that may feed the same target topics; see ``group_sync``."""

    offsets: OffsetsOf
    source: GroupsOf

    def recently(self) -> TranslatedGroups:
        """Return its groups' offsets, as they were read not long ago."""


@dataclass(frozen=True, slots=True)
class SharedPartitions:
    """Compares one flow's positions with those of its ``siblings`` and of the ``opposite`` flow.

    A target topic of a pair of flows that keep names also has records of the target's own clients.
    A group has read those before its offset at the source that the ``opposite`` flow has copied
    there; the lower one of the two positions counts.
    """

    siblings: Sequence[Sibling]
    opposite: Callable[[], OffsetsOf | None]  # None: there is none

    def desired(
        self,
        translated: Iterable[TranslatedPosition],
        unshared: Mapping[TopicPartition, int] = NOTHING_KNOWN,
    ) -> DesiredPositions:
        """Return the groups' desired offsets on the target, over all sources of a partition.

        ``unshared``: the target offset, if it is known, up to which a partition has no record of
        the target's own clients. For a group that is not behind it the opposite flow is not asked.
        """
        translated = list(translated)
        mine = by_group(translated)
        shared = {where for positions in mine.values() for where in positions}
        theirs, unknown = self._of_siblings(shared)
        shares = [e for e in translated if (e.answer.offset or 0) > unshared.get(e.target, 0)]
        of_clients, errors = self._of_target_clients(shares)
        theirs.append(by_group(of_clients))
        positions = {
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
        return DesiredPositions(positions, errors)

    def _of_target_clients(
        self, translated: Sequence[TranslatedPosition]
    ) -> tuple[list[TranslatedPosition], Mapping[TopicPartition, ReplicationError]]:
        """Return up to where the groups have read the records of the target's own clients.

        And why that is not known of some partitions.
        """
        try:
            answers, errors = self._answers_back(translated)
        except ReplicationError as error:  # then they are unknown
            answers = {each.target: {} for each in translated}
            errors = dict.fromkeys(answers, error)
        moved = [
            each._replace(answer=answers[each.target].get(each.position.offset, NOT_YET))
            for each in translated
            if each.target in answers
        ]
        return moved, errors

    def _answers_back(
        self, translated: Sequence[TranslatedPosition]
    ) -> tuple[Answers, Mapping[TopicPartition, ReplicationError]]:
        """Return where the offsets at the source stand on the target, by the opposite flow.

        And why partitions did not answer, if some did not.
        """
        if not translated or (opposite := self.opposite()) is None:
            return {}, {}
        anchors, offsets = opposite.look().anchors, dict[TopicPartition, set[int]]()
        for each in translated:
            if each.target in anchors and copy_of(anchors[each.target]) == each.source:
                offsets.setdefault(each.target, set()).add(each.position.offset)
        found = opposite.translate(offsets, back=True) if offsets else {}
        errors = {each: why for each, why in opposite.errors.items() if each in offsets}
        return {each: found.get(each, {}) for each in offsets}, errors

    def _of_siblings(
        self, shared: set[TopicPartition]
    ) -> tuple[list[dict[str, dict[TopicPartition, Committed | None]]], set[TopicPartition]]:
        """Return other flows' positions in the same partitions, and partitions that are unknown.

        While another source does not answer, a group's position in it is unknown.
        """
        found, unknown = [], set[TopicPartition]()
        for each in self.siblings:
            anchors = dict(_anchors_of(each.offsets))
            common = shared & {copy_of(anchor) for anchor in anchors.values()}
            if not common:
                continue
            unknown |= shared & {copy_of(a) for a in anchors.values() if a.source is None}
            try:
                theirs = each.recently()
                unread = {name: dict.fromkeys(common) for name in theirs.unread}
                found.append({**by_group(theirs.positions), **unread})
            except ReplicationError:
                unknown |= common
            if each.source.unavailable:  # some groups may have offsets that no broker reports
                unknown |= common
            unknown |= {copy_of(anchors[w]) for w in list(each.offsets.errors) if w in anchors}
        return found, unknown


def _anchors_of(offsets: OffsetsOf) -> Mapping[TopicPartition, Anchor]:
    """Return the anchors of another flow, whose source may be silent."""
    try:
        return offsets.look().anchors
    except ReplicationError:
        return offsets.look_at_target().anchors
