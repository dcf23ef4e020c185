"""Records of Isthmus' own topics on the target cluster, as JSON. Pure.

``anchors``: State records of partitions: anchors, claims, losses, offset points, producer ids
``backfill_names``: The names of a backfill: its source alias is its own, and so are its state and
    producers
``drill_names``: The names of a drill: aliases, canary topic and group of its own, so that it meets
    no real one
``flow_status``: State records of flows: health, desired state, decisions, applied configs and ACLs
``record``: Base class of state records: kind, key and version, encoded as JSON
``recovery``: State records of disaster recovery: operations, drills, positions of partitions and
    groups
``source_topics``: State records of a flow's source: what it had when the flow first started, and
    what is gone
``state_topic_names``: Names of the topics in which Isthmus keeps its state
``transform_start``: State records of transforms: from where on both sides they made what the target
    has
``verification``: State records of verification: up to where copies were compared, and how the last
    run ended

Topics, one partition each, compacted:

- ``isthmus-anchors.<source>.internal``: an :class:`Anchor` a source partition, by its appender; a
  :class:`Claim` of whoever may append to it; a :class:`Loss` for what was not copied; a second copy
  of each :class:`ProducerEntry` of its flows; a :class:`Verification` a flow; a
  :class:`TransformStart` a transform
- ``isthmus-offsets.<source>.internal``: :class:`OffsetPoint`, from which offsets are translated;
  :class:`GroupPositions`; :class:`VerifiedUpTo`; :class:`TransformPoint` and
  :class:`TransformVerified`
- ``isthmus-producers.internal``: a :class:`ProducerEntry` a producer id (invariant F)
- ``isthmus-status.<source>.internal``: :class:`FlowStatus` (which is the lease),
  :class:`BatchRun`, :class:`ClusterIds`, Intent, Control,
  :class:`Decision`, :class:`NameDecision`, :class:`AppliedConfigs`, :class:`AppliedAcls`,
  :class:`NewName`, :class:`InventoryPart`, :class:`AbsentTopic`, :class:`Fencing`,
  :class:`Operation`, :class:`Drill`, :class:`ProvenPosition`, :class:`DivergedTail` and
  :class:`RecreatedTopic`

Every value carries ``"v": 1``. A record of an unknown version is refused, not guessed at.

May import: ``model`` and ``errors``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

from replication.state.anchors import (
    TAIL_CUT,
    TAIL_KEPT,
    Anchor,
    Claim,
    Loss,
    OffsetPoint,
    ProducerEntry,
)
from replication.state.flow_status import (
    GROUPS_OFF,
    AppliedAcls,
    AppliedConfigs,
    BatchRun,
    ClusterIds,
    Control,
    Decision,
    Fencing,
    FlowStatus,
    Intent,
    NameDecision,
    NewName,
    TaskReport,
)
from replication.state.record import VERSION, UnknownVersion
from replication.state.recovery import (
    DivergedTail,
    Drill,
    GroupPositions,
    LeftPosition,
    Operation,
    ProvenPosition,
    RecreatedTopic,
)
from replication.state.source_topics import AbsentTopic, InventoryPart
from replication.state.state_topic_names import (
    ANCHORS_BEGIN,
    COMPACT,
    PROBE_TOPIC,
    PRODUCERS_TOPIC,
    anchors_topic,
    dead_letters_topic,
    flow_topics,
    is_anchors_topic,
    is_offsets_topic,
    losing_policy,
    offsets_topic,
    status_topic,
)
from replication.state.transform_start import TransformPoint, TransformStart, TransformVerified
from replication.state.verification import Verification, VerifiedUpTo

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ANCHORS_BEGIN",
    "COMPACT",
    "GROUPS_OFF",
    "PROBE_TOPIC",
    "PRODUCERS_TOPIC",
    "TAIL_CUT",
    "TAIL_KEPT",
    "VERSION",
    "AbsentTopic",
    "Anchor",
    "AppliedAcls",
    "AppliedConfigs",
    "BatchRun",
    "Claim",
    "ClusterIds",
    "Control",
    "Decision",
    "DivergedTail",
    "Drill",
    "Fencing",
    "FlowStatus",
    "GroupPositions",
    "Intent",
    "InventoryPart",
    "LeftPosition",
    "Loss",
    "NameDecision",
    "NewName",
    "OffsetPoint",
    "Operation",
    "ProducerEntry",
    "ProvenPosition",
    "RecreatedTopic",
    "Stored",
    "TaskReport",
    "TransformPoint",
    "TransformStart",
    "TransformVerified",
    "UnknownVersion",
    "Verification",
    "VerifiedUpTo",
    "anchors_topic",
    "dead_letters_topic",
    "flow_topics",
    "is_anchors_topic",
    "is_offsets_topic",
    "losing_policy",
    "offsets_topic",
    "parse",
    "status_topic",
]

Stored = (
    Anchor
    | Claim
    | Loss
    | OffsetPoint
    | ProducerEntry
    | FlowStatus
    | BatchRun
    | ClusterIds
    | Intent
    | Control
    | Decision
    | NameDecision
    | TaskReport
    | AppliedConfigs
    | NewName
    | InventoryPart
    | AbsentTopic
    | AppliedAcls
    | Fencing
    | Operation
    | Drill
    | ProvenPosition
    | DivergedTail
    | RecreatedTopic
    | GroupPositions
    | VerifiedUpTo
    | Verification
    | TransformStart
    | TransformPoint
    | TransformVerified
)
_KINDS: dict[str, type[Stored]] = {each.KIND: each for each in get_args(Stored)}

# JSON knows lists only; equal records must be equal after they were read.
_SHAPES: dict[str, Callable[[Any], Any]] = {
    "age_ms": tuple,
    "appenders": lambda found: tuple((t, p) for t, p in found),
    "known": lambda found: {topic: tuple(each) for topic, each in found.items()},
    "latency_ms": tuple,
    "done": lambda found: tuple(tuple(each) for each in found),
    "groups": lambda found: tuple(tuple(each) for each in found),
    "positions": lambda found: tuple(tuple(each) for each in found),
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


def is_of(kind: type[Stored], key: bytes) -> bool:
    """Say whether a record is of a kind, without decoding it: most of a topic may be of others."""
    return f'"kind":"{kind.KIND}"'.encode() in key


def parse_only(kind: type[Stored]) -> Callable[[bytes | None, bytes | None], Stored | None]:
    """Return what decodes the records of one kind, and passes over others."""
    return lambda key, value: parse(key, value) if key is not None and is_of(kind, key) else None
