"""What a flow's state on the target says about partitions that are compared.

An anchor says which source offsets are copied (invariant D: it may lag behind, it never leads). The
offset points say which offsets of both logs belong together, so what retention deleted on one side
is known on the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.adapters.offset_reader import OffsetReader
from replication.errors import ReplicationError
from replication.model import Mode, OffsetRange, PartitionState, TopicPartition
from replication.offsets.offset_map import BEFORE_US, Answer, sync_points_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.offsets.offset_map import SyncPoint
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor, Loss

_COPYING = frozenset({PartitionState.RUNNING, PartitionState.WAITING, PartitionState.PAUSED})


@dataclass(frozen=True, slots=True)
class CopyPosition:
    """What an anchor says of a partition. Default: nothing, so every record must be there."""

    source: int | None = None  # the next source offset to copy
    transactional: bool = False  # aborted copies on the target do not count
    halted: str = ""  # the state and its reason, where copying does not go on
    remark: str = ""  # why nothing is known
    damaged: tuple[OffsetRange, ...] = ()  # of the source: a decision passed over them
    origins: str = ""  # which copies were copied, a rule as in provenance

    def reaches(self, end: int) -> bool:
        """Say whether all source offsets below ``end`` are copied."""
        return self.source is not None and self.source >= end


UNKNOWN_POSITION = CopyPosition()


class LogStarts(NamedTuple):
    """The first offsets that two logs still have."""

    source: int
    target: int


class Begins(NamedTuple):
    """From where two logs are compared; None: unknown, as where both logs begin do not match."""

    source: int | None  # the source's record that is the first on the target
    target: int | None  # the target's record that is the first on the source
    start: LogStarts = LogStarts(0, 0)  # where copying started on both


UNKNOWN = Begins(None, None)


class CopyPositions(Protocol):
    """The positions of one flow."""

    def look(self) -> None:
        """Read the newest anchors. Raises ClusterUnavailable or ClusterRejected."""

    def copied(self, source: TopicPartition, target: TopicPartition) -> CopyPosition:
        """Return what the anchor said at the last look."""

    def begins(self, source: TopicPartition, starts: LogStarts) -> Begins:
        """Return from where the logs of a partition can be compared, given their first offsets."""


class ClusterTopicIds(NamedTuple):
    """The ids of all topics, by name, on both clusters."""

    source: Mapping[str, str] = {}
    target: Mapping[str, str] = {}


@dataclass(slots=True)
class FlowPositions:
    """Implements CopyPositions on a flow's clusters.

    ``shared``: others' records may stand in front of the flow's on the target. ``own``: only the
    flow's own records on the target are compared, none of another copier. ``tail``: so many offsets
    before the copy's position are compared; None: all.
    """

    flow: Flow
    ids: ClusterTopicIds
    shared: bool = False
    own: bool = False
    tail: int | None = None
    reader: OffsetReader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = OffsetReader(self.flow)

    def close(self) -> None:
        """Close all connections."""
        self.reader.close()

    def look(self) -> None:
        """Read the newest anchors."""
        self.reader.look()

    def skipped(self, source: TopicPartition) -> int:
        """Return how many records were left out by a decision, see ``isthmus losses``."""
        return sum(each.next - each.first for each in self._losses(source))

    def left_out(self, source: TopicPartition) -> tuple[OffsetRange, ...]:
        """Return the source's offsets that a decision left out, in order."""
        return tuple(sorted(OffsetRange(each.first, each.next) for each in self._losses(source)))

    def _losses(self, source: TopicPartition) -> list[Loss]:
        """Return the losses of the topic that the source has now."""
        ids = {"", self.ids.source.get(source.topic, "")}
        return [each for each in self.reader.known.losses.get(source, []) if each.topic_id in ids]

    def copied(self, source: TopicPartition, target: TopicPartition) -> CopyPosition:
        """Return what the anchor said at the last look."""
        anchor = self.reader.known.anchors.get(source)
        ids = (self.ids.source.get(source.topic, ""), self.ids.target.get(target.topic, ""))
        damaged = (
            OffsetRange(each.first, each.next)
            for each in self._losses(source)
            if each.state == PartitionState.SOURCE_CORRUPT
        )
        return replace(copied_of(anchor, target, ids), damaged=tuple(sorted(damaged)))

    def begins(self, source: TopicPartition, starts: LogStarts) -> Begins:
        """Return from where the logs can be compared."""
        anchor = self.reader.known.anchors.get(source)
        if anchor is None:
            return UNKNOWN
        whole = self._whole(source, starts, anchor)
        if self.tail is None or anchor.source is None:
            return whole
        first = anchor.source - self.tail
        if first <= max(starts.source, whole.start.source):
            return whole
        return tail_begins(first, self._translated(source, first, back=False)) or whole

    def _whole(self, source: TopicPartition, starts: LogStarts, anchor: Anchor) -> Begins:
        """Return the begins of all that can be compared."""
        if anchor.since is not None and (anchor.former or self.own):
            return self._since(anchor.since, source, starts, anchor)
        sync_points = sync_points_of(self.reader.known.points[source].values(), anchor)
        back = self._translated(source, starts.target, back=True) if starts.target else None
        forth = self._translated(source, starts.source, back=False) if starts.source else None
        start = start_of(sync_points, anchor, starts.target, shared=self.shared)
        own_from = anchor.own_from if self.own else 0
        return begins_of(starts, (back, forth), anchor, LogStarts(start, own_from))

    def _since(
        self, since: tuple[int, int], source: TopicPartition, starts: LogStarts, anchor: Anchor
    ) -> Begins:
        """Return the begins where the copies from before ``since`` are not among the compared ones.

        Another topic on the target has them, or another copier appended them.
        """
        here, there = since
        back = self._translated(source, starts.target, back=True) if starts.target > there else None
        forth = (
            self._translated(source, starts.source, back=False) if starts.source > here else None
        )
        least = LogStarts(max(starts.source, here), max(starts.target, there))
        return begins_of(least, (back, forth), anchor, LogStarts(here, there))

    def _translated(self, source: TopicPartition, offset: int, *, back: bool) -> Answer:
        try:
            answers = self.reader.translate({source: [offset]}, back=back)
        except ReplicationError:  # the records themselves are compared all the same
            return BEFORE_US
        return answers.get(source, {}).get(offset, BEFORE_US)


def copied_of(anchor: Anchor | None, target: TopicPartition, ids: tuple[str, str]) -> CopyPosition:
    """Return what an anchor says of a partition; ``ids``: of its topics now, empty if unknown."""
    if anchor is None:
        return CopyPosition(remark="the flow has no anchor of it, so every record must be there")
    if anchor.target_topic != target.topic:
        return CopyPosition(remark=f"its anchor is of the target topic {anchor.target_topic}")
    for side, now, then in zip(
        ("source", "target"), ids, (anchor.source_topic_id, anchor.target_topic_id), strict=True
    ):
        if now and then and now != then:
            return CopyPosition(remark=f"the {side} topic was created again since it was copied")
    halted = "" if anchor.state in _COPYING else f"{anchor.state}: {anchor.reason}"
    remark = "" if anchor.source is not None else "the flow has not started to copy it"
    is_transactional = anchor.mode == Mode.TRANSACTIONAL
    return CopyPosition(anchor.source, is_transactional, halted, remark, origins=anchor.origins)


def start_of(
    sync_points: Collection[SyncPoint], anchor: Anchor, target_start: int, *, shared: bool
) -> int:
    """Return the source offset at which copying started; 0: unknown, or from the beginning.

    Records on the target from before that start (of another copier, or of an earlier copy) are
    compared as well, so then the start does not count.
    """
    first = next(iter(sync_points), None)
    if first is None or first.records or anchor.since is not None:
        return 0
    return first.source if shared or target_start >= first.target else 0


def tail_begins(first: int, there: Answer) -> Begins | None:
    """Return the begins of a tail, given its first offset and where it is on the target.

    None: that is not known exactly.
    """
    if not there.exact or there.offset is None:
        return None
    return Begins(first, there.offset, LogStarts(first, there.offset))


def begins_of(
    starts: LogStarts,
    answers: tuple[Answer | None, Answer | None],
    anchor: Anchor,
    start: LogStarts,
) -> Begins:
    """Return the begins from the translated log starts; None: retention deleted nothing there.

    ``answers``: the target's start on the source, and the source's start on the target.
    """
    back, forth = answers
    source = starts.source if back is None else _known(back, anchor.source)
    target = starts.target if forth is None else _known(forth, anchor.target)
    return Begins(source, target, start)


def _known(answer: Answer, copied: int | None) -> int | None:
    """Return an exact offset; where nothing at or behind it is copied, that of the next copy."""
    if not answer.exact:
        return None
    return copied if answer.offset is None else answer.offset
