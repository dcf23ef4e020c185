"""State records of partitions: anchors, claims, losses, offset points, producer ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from replication.model import NO_LEADER_EPOCH, Mode, PartitionState
from replication.state.record import StateRecord


@dataclass(frozen=True, slots=True)
class Anchor(StateRecord):
    """The copy position of one source partition, and the producers that may append to its target.

    Invariant D: an anchor may lag behind what was acked, it never leads. ``source`` and
    ``target`` are the next offsets, one past the last acked record.
    """

    KIND: ClassVar[str] = "anchor"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition")

    flow: str
    topic: str  # on the source
    partition: int
    target_topic: str
    source: int | None  # next source offset to copy; None: unknown yet
    target: int | None  # where counting begins: next target offset after our last acked record
    appenders: tuple[tuple[str, int], ...] = ()  # (transactional id or "", producer id): may append
    generation: int = 0  # of the driver that wrote this
    epoch: int = 0  # producer epoch of the writer
    clean: bool = False  # all acked and no producer appending (invariant G)
    records: int = 0  # appended since the flow's first start
    bytes: int = 0  # the same in bytes of record batches
    state: str = PartitionState.WAITING
    reason: str = ""
    source_topic_id: str = ""
    target_topic_id: str = ""
    source_end: int = 0  # readable end of the source when this was written
    behind_ms: int = 0  # age of the oldest record not yet copied, 0 when there is none
    at_ms: int = 0  # wall clock of the writer
    mode: str = Mode.APPEND  # in which the records up to here were copied
    isolation: str = (
        ""  # which records were deliverable (invariant E); empty: written by an older release
    )
    source_epoch: int = NO_LEADER_EPOCH  # of the last copied batch at the source
    lost: int = 0  # source offsets that were skipped, see Loss
    # The newest OffsetPoint: era, number, source, target, records.
    run: tuple[int, int, int, int, int] | None = None
    origins: str = ""  # which copies were deliverable, a rule as in provenance; empty: all (E)
    # Where we took the partition over from another copier, or from our copy under a former name, or
    # where it went on without an anchor, at the source and on the target: offsets before it cannot
    # be translated.
    since: tuple[int, int] | None = None
    # The topic on the target that was the copy before this one, if any: it is no local topic there.
    # With ``since``, it holds the records before.
    former: str = ""
    # A target offset: the flow's records before it are of the source's former topic, which a
    # failback created anew. They are no part of this copy.
    own_from: int = 0
    transform: str = ""  # the key of the transform that its records went through; empty: none
    # Delays in ms, see copier.latency: the last one, the recent maximum, the sum over ``timed``
    # records; when read at the source, and when acked by the target.
    timed: int = 0
    age_ms: tuple[int, int, int] = (0, 0, 0)
    latency_ms: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Claim(StateRecord):
    """The producers that may append to a partition from now on; the anchor keeps the position.

    It has a key of its own: a claim is written before the former appender's last commit is known,
    so it must never replace a position.
    """

    KIND: ClassVar[str] = "claim"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition")

    flow: str
    topic: str  # on the source
    partition: int
    appenders: tuple[tuple[str, int], ...] = ()  # as in the anchor, the writer last
    generation: int = 0
    epoch: int = 0


# Of a loss: what a failback did with records that never arrived at the target.
TAIL_KEPT = "TAIL_KEPT"  # they are on the source alone
TAIL_CUT = "TAIL_CUT"  # they were deleted with their topic, which was created anew


@dataclass(frozen=True, slots=True)
class Loss(StateRecord):
    """Source offsets [first, next) that were not copied, and why. Kept for ever."""

    KIND: ClassVar[str] = "loss"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition", "topic_id", "first", "state")

    flow: str
    topic: str  # on the source
    partition: int
    topic_id: str  # of the source topic, so that one that was recreated has losses of its own
    first: int
    state: str = PartitionState.LOST_RANGE  # what happened
    next: int = 0  # one past the last; equal to ``first`` where no offset is missing
    reason: str = ""
    at_ms: int = 0  # when it was noted


@dataclass(frozen=True, slots=True)
class OffsetPoint(StateRecord):
    """A partition's source and target offset that correspond; see offsets.offset_points.

    Our records with a source offset below ``source`` are before ``target``, all others
    at or behind it. It stays true for ever, for these two topic ids.
    """

    KIND: ClassVar[str] = "point"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition", "slot")

    flow: str
    topic: str  # on the source
    partition: int
    slot: int  # which of the retained points
    era: int = 0  # the incarnation of the copy: when it began, in ms; points of two share nothing
    number: int = 0  # counts the points of this incarnation
    source: int = 0
    target: int = 0
    records: int = 0  # copied before
    mode: str = Mode.APPEND  # how the records before it were copied
    isolation: str = ""  # which records were deliverable
    origins: str = ""  # the same of copies, as in the anchor
    source_topic_id: str = ""
    target_topic_id: str = ""


@dataclass(frozen=True, slots=True)
class ProducerEntry(StateRecord):
    """A producer id that Isthmus appends with (invariant F: stored before its first append)."""

    KIND: ClassVar[str] = "producer"
    KEYS: ClassVar[tuple[str, ...]] = ("producer_id",)

    producer_id: int
    flow: str
    origin: str  # id of the cluster on which the records were produced
    transactional_id: str
    at_ms: int = 0
    generation: int = 0  # of the driver that wrote it
    via: tuple[str, ...] = ()  # replication path: cluster ids, ``origin`` first; empty: only that
    origin_alias: str = ""  # alias of ``origin`` in the file; empty: as in the flow's name

    @property
    def came_by(self) -> tuple[str, ...]:
        """Return the replication path: ids of the clusters that the records were on before."""
        return self.via or (self.origin,)

    @property
    def alias(self) -> str:
        """Return the alias of ``origin`` in the writer's file."""
        return self.origin_alias or self.flow.partition("->")[0]
