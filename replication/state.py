"""What Isthmus stores on the target cluster, as JSON records in compacted topics.

========================================  =====================================================
topic (one partition each, compacted)     holds
========================================  =====================================================
``isthmus-anchors.<source>.internal``     an :class:`Anchor` a source partition, by its appender,
                                          a :class:`Claim` of whoever may append to it, and a
                                          :class:`Loss` for what was not copied
``isthmus-offsets.<source>.internal``    :class:`OffsetPoint`, from which offsets are translated
``isthmus-producers.internal``            a :class:`ProducerEntry` a producer id (invariant F)
``isthmus-status.<source>.internal``      :class:`FlowStatus` (which is the lease), Intent, Control,
                                          :class:`Decision`, :class:`Applied`, :class:`OwnRights`
                                          and :class:`Fencing`
========================================  =====================================================

Every value carries ``"v": 1``. A record of an unknown version is refused, not guessed at.
Pure: bytes in, values out, and back.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

from replication.errors import ReplicationError
from replication.model import Desired, FlowState, Mode, PartitionState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VERSION = 1
PRODUCERS_TOPIC = "isthmus-producers.internal"
PROBE_TOPIC = "isthmus-probe.internal"  # holds nothing: appends are tried on it


def anchors_topic(source: str) -> str:
    """Return the topic with the anchors of all flows from ``source``."""
    return f"isthmus-anchors.{source}.internal"


def offsets_topic(source: str) -> str:
    """Return the topic with the offset points of all flows from ``source``."""
    return f"isthmus-offsets.{source}.internal"


def status_topic(source: str) -> str:
    """Return the topic with status, intent and control of all flows from ``source``."""
    return f"isthmus-status.{source}.internal"


def flow_topics(source: str) -> tuple[str, ...]:
    """Return the topics that every flow from ``source`` needs for itself."""
    return anchors_topic(source), offsets_topic(source), status_topic(source)


def letters_topic(source: str) -> str:
    """Return the topic with records from ``source`` that the target refused and the flow skips."""
    return f"isthmus-dead-letters.{source}.internal"


class UnknownVersion(ReplicationError):
    """A record was written by a newer Isthmus."""


class _Stored:
    """A record: ``KEYS`` make the key, all other fields the value."""

    KIND: ClassVar[str]
    KEYS: ClassVar[tuple[str, ...]]

    def key(self) -> bytes:
        """Return the record's key; equal keys replace one another under compaction."""
        return _dump({"kind": self.KIND, **{name: getattr(self, name) for name in self.KEYS}})

    def value(self) -> bytes:
        """Return the record's value, with its version."""
        rest = {k: v for k, v in asdict(self).items() if k not in self.KEYS}  # type: ignore[call-overload]
        return _dump({"v": VERSION, **rest})

    @classmethod
    def parse(cls, key: Mapping[str, Any], value: Mapping[str, Any]) -> Self:
        """Build from a decoded key and value; fields that we do not know are ignored."""
        known = {each.name for each in fields(cls)}  # type: ignore[arg-type]
        return cls(**{k: v for k, v in {**key, **value}.items() if k in known})


@dataclass(frozen=True, slots=True)
class Anchor(_Stored):
    """What is known to be on the target of one source partition, and who may append to it.

    Invariant D: an anchor may lag behind what was acked, it never leads. ``source`` and
    ``target`` are the next offsets, one past the last acked record.
    """

    KIND: ClassVar[str] = "anchor"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition")

    flow: str
    topic: str  # on the source
    partition: int
    target_topic: str
    source: int | None  # next source offset to copy; None: nothing known yet
    target: int | None  # where counting begins: next target offset after our last acked record
    appenders: tuple[tuple[str, int], ...] = ()  # (transactional id or "", producer id): may append
    generation: int = 0  # of the driver that wrote this
    epoch: int = 0  # producer epoch of the writer
    clean: bool = False  # all acked and nobody appending (invariant G)
    records: int = 0  # appended since the flow's first start
    bytes: int = 0  # the same in bytes of record batches
    state: str = PartitionState.WAITING
    reason: str = ""
    source_topic_id: str = ""
    target_topic_id: str = ""
    source_end: int = 0  # readable end of the source when this was written
    behind_ms: int = 0  # age of the oldest record not yet copied, 0 when there is none
    at_ms: int = 0  # wall clock of the writer
    mode: str = Mode.APPEND  # how the records up to here were copied
    isolation: str = ""  # what was deliverable (invariant E); empty: written by an older release
    source_epoch: int = -1  # leader epoch of the last copied batch at the source; -1: not known
    lost: int = 0  # source offsets that were passed over, see Loss
    # The newest OffsetPoint: era, number, source, target, records.
    run: tuple[int, int, int, int, int] | None = None
    origins: str = ""  # which copies were deliverable, a rule as in provenance; empty: all (E)
    # Where it took the partition over from another copier, at the source and on the target: what
    # stands before was not copied by us, so offsets before it cannot be translated.
    since: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Claim(_Stored):
    """Who may append to a partition from here on; the position stays with the anchor.

    It has a key of its own: a claim is written before it is known what the former appender
    committed last, so it must never stand in for a position.
    """

    KIND: ClassVar[str] = "claim"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition")

    flow: str
    topic: str  # on the source
    partition: int
    appenders: tuple[tuple[str, int], ...] = ()  # as in the anchor, the writer last
    generation: int = 0
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Loss(_Stored):
    """Offsets of the source, [first, next), that are not on the target, and why. Kept for ever."""

    KIND: ClassVar[str] = "loss"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition", "topic_id", "first", "state")

    flow: str
    topic: str  # on the source
    partition: int
    topic_id: str  # of the source topic, so that one that was made anew has losses of its own
    first: int
    state: str = PartitionState.LOST_RANGE  # what happened
    next: int = 0  # one past the last; equal to ``first`` where no offset is missing
    reason: str = ""
    at_ms: int = 0  # when it was noted


@dataclass(frozen=True, slots=True)
class OffsetPoint(_Stored):
    """A fact about a partition from which offsets are translated; see replication.course.

    Of our records those with a source offset below ``source`` stand before ``target``, all others
    at or behind it. It stays true for ever, for these two topic ids.
    """

    KIND: ClassVar[str] = "point"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition", "slot")

    flow: str
    topic: str  # on the source
    partition: int
    slot: int  # which of the points that are kept
    era: int = 0  # when the partition began, in ms: points of different eras have nothing in common
    number: int = 0  # counts the era's points
    source: int = 0
    target: int = 0
    records: int = 0  # copied before
    mode: str = Mode.APPEND  # how the records before it were copied
    isolation: str = ""  # which of them were deliverable
    origins: str = ""  # the same of copies, as in the anchor
    source_topic_id: str = ""
    target_topic_id: str = ""


@dataclass(frozen=True, slots=True)
class ProducerEntry(_Stored):
    """A producer id that Isthmus appends with (invariant F: stored before its first append)."""

    KIND: ClassVar[str] = "producer"
    KEYS: ClassVar[tuple[str, ...]] = ("producer_id",)

    producer_id: int
    flow: str
    origin: str  # id of the cluster on which the records were born
    transactional_id: str
    at_ms: int = 0
    generation: int = 0  # of the driver that wrote it
    via: tuple[str, ...] = ()  # ids of the clusters they came by, ``origin`` first; empty: that one
    origin_alias: str = ""  # what the file calls ``origin``; empty: as in the flow's name

    @property
    def came_by(self) -> tuple[str, ...]:
        """Return the ids of all clusters that its records have been on before this one."""
        return self.via or (self.origin,)

    @property
    def alias(self) -> str:
        """Return what ``origin`` is called in the file of whoever wrote this."""
        return self.origin_alias or self.flow.partition("->")[0]


@dataclass(frozen=True, slots=True)
class FlowStatus(_Stored):
    """A flow's health, written about every second by its driver; also the driver's lease.

    The highest ``generation`` holds the lease. A driver that sees a higher one than its own stops.
    """

    KIND: ClassVar[str] = "status"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    state: str = FlowState.STARTING
    generation: int = 0
    instance: str = ""  # random, one a driver process
    host: str = ""
    pid: int = 0
    started_ms: int = 0
    beat_ms: int = 0
    epoch: int = 0
    units: int = 0
    partitions: int = 0
    not_running: int = 0  # partitions in another state than RUNNING
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Intent(_Stored):
    """What a person wants of a flow."""

    KIND: ClassVar[str] = "intent"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    desired: str = Desired.RUN
    by: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Control(_Stored):
    """Tells the units of a flow that epoch ``end_epoch`` and all before it are over."""

    KIND: ClassVar[str] = "control"
    KEYS: ClassVar[tuple[str, ...]] = ("flow",)

    flow: str
    generation: int = 0
    end_epoch: int = -1
    last: bool = False  # no other epoch comes: who copies on for it must end at once


@dataclass(frozen=True, slots=True)
class Decision(_Stored):
    """A person's answer to the state that a partition is in; it holds for that one event."""

    KIND: ClassVar[str] = "decision"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic", "partition")

    flow: str
    topic: str  # on the source
    partition: int
    state: str = ""  # the state it answers
    position: int = -1  # source offset of the anchor in that state; -1: it has none
    choice: str = ""  # as in the policies: continue, reseed, skip
    by: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class DutyReport(_Stored):
    """How something that the driver does for a flow besides copying last went."""

    KIND: ClassVar[str] = "duty"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "name")

    flow: str
    name: str
    at_ms: int = 0  # when it had ended
    ok: bool = True
    summary: str = ""  # what it did, or why it could not
    took_ms: int = 0


@dataclass(frozen=True, slots=True)
class Applied(_Stored):
    """What was last set on a target topic, so that a change by others can be told from our own."""

    KIND: ClassVar[str] = "applied"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "topic")

    flow: str
    topic: str  # on the target
    configs: Mapping[str, str] = field(default_factory=dict)  # that follow the source or the file
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # config: (value, why)
    at_ms: int = 0
    by: str = ""


@dataclass(frozen=True, slots=True)
class OwnRights(_Stored):
    """The rights on one resource of the target that Isthmus made: it may take away no others."""

    KIND: ClassVar[str] = "rights"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "resource", "name", "pattern")

    flow: str
    resource: str  # topic or group
    name: str
    pattern: str  # literal or prefixed
    rights: tuple[tuple[str, str, str, str], ...] = ()  # principal, host, operation, permission
    at_ms: int = 0
    by: str = ""


@dataclass(frozen=True, slots=True)
class Fencing(_Stored):
    """Whether a target does what appends outside transactions rely on, tried once a cluster."""

    KIND: ClassVar[str] = "fencing"
    KEYS: ClassVar[tuple[str, ...]] = ("cluster",)

    cluster: str  # id of the target, so that another cluster under its name is tried anew
    lacks: str = ""  # what it does not do; empty: it does all of it
    flow: str = ""  # for which it was tried
    at_ms: int = 0


Stored = (
    Anchor
    | Claim
    | Loss
    | OffsetPoint
    | ProducerEntry
    | FlowStatus
    | Intent
    | Control
    | Decision
    | DutyReport
    | Applied
    | OwnRights
    | Fencing
)
_KINDS: dict[str, type[Stored]] = {each.KIND: each for each in get_args(Stored)}

# JSON knows lists only; equal records must be equal after they were read.
_SHAPES: dict[str, Callable[[Any], Any]] = {
    "appenders": lambda found: tuple((t, p) for t, p in found),
    "run": tuple,
    "since": tuple,
    "via": tuple,
    "refused": lambda found: {config: (value, why) for config, (value, why) in found.items()},
    "rights": lambda found: tuple(tuple(each) for each in found),
}


def parse(key: bytes | None, value: bytes | None) -> Stored | None:
    """Decode one record. None: a tombstone, or a record that is not ours.

    Raises UnknownVersion when a newer Isthmus wrote it.
    """
    if key is None or value is None:
        return None
    try:
        decoded_key, decoded = json.loads(key), json.loads(value)
    except ValueError:
        return None
    if not isinstance(decoded_key, dict) or not isinstance(decoded, dict):
        return None
    kind = _KINDS.get(str(decoded_key.get("kind")))
    if kind is None:
        return None
    if decoded.get("v") != VERSION:
        raise UnknownVersion(
            f"reading a {kind.KIND} record of version {decoded.get('v')}: this Isthmus knows "
            f"version {VERSION}; run the newer release that wrote it"
        )
    for name, shape in _SHAPES.items():
        if decoded.get(name) is not None:
            decoded[name] = shape(decoded[name])
    return kind.parse(decoded_key, decoded)


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
