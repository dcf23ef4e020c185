"""Since when the present definition of a transform applies, and which positions go on from before.

A verification applies the transform to what was read since then, and to nothing before.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from replication.model import PartitionState, TopicPartition
from replication.state import TransformStart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from replication.settings.transform_settings import SmtSpec, TopicTransform
    from replication.state import Anchor

_AT_WORK = frozenset({PartitionState.RUNNING, PartitionState.TRANSFORM_FAILED})


def definition_of(transform: TopicTransform) -> str:
    """Return a digest of what a transform makes of records: its texts, and a function's file.

    Modules that the function imports are not in it.
    """
    texts = [transform.where, transform.select, transform.route, transform.value_schema]
    whole = [
        transform.pattern,
        [each.text if each else None for each in texts],
        [*transform.route_topics, transform.key_format, transform.value_format],
        [_smt(each) for each in transform.smts],
        _function(transform),
    ]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:32]


def start_now(flow: str, number: int, definition: str, anchors: Iterable[Anchor]) -> TransformStart:
    """Return the start of a transform that begins where its anchors are, without target ends."""
    at_work = [e for e in anchors if e.state in _AT_WORK and e.source is not None]
    sources: dict[str, list[int | None]] = {}
    for each in sorted(at_work, key=lambda anchor: (anchor.topic, anchor.partition)):
        listed = sources.setdefault(each.topic, [])
        listed += [None] * (each.partition - len(listed)) + [each.source]
    ids = {each.topic: each.source_topic_id for each in at_work}
    copies = {each.target_topic: each.target_topic_id for each in at_work}
    return TransformStart(flow, number, definition, sources, ids, copies)


def goes_on(known: TransformStart, now: TransformStart, anew: Collection[TopicPartition]) -> bool:
    """Say whether what ``known`` says holds on; ``anew``: partitions that lost their position."""
    sides = (known.source_ids, now.source_ids), (known.target_ids, now.target_ids)
    same_topics = all(
        before.get(topic) in {None, "", found}
        for before, there in sides
        for topic, found in there.items()
    )
    again = any(_offset(known.sources, each) is not None for each in anew)
    return known.definition == now.definition and same_topics and not again


def with_more(known: TransformStart, now: TransformStart) -> TransformStart:
    """Return ``known`` with the partitions that began since."""
    sources = {**known.sources}
    for topic, listed in now.sources.items():
        before = known.sources.get(topic, ())
        length = max(len(before), len(listed))
        sources[topic] = [_first(before[n : n + 1], listed[n : n + 1]) for n in range(length)]
    return replace(
        known,
        sources=sources,
        source_ids={**now.source_ids, **known.source_ids},
        target_ids={**now.target_ids, **known.target_ids},
    )


def lost_position(before: Anchor | None, placed: Anchor) -> bool:
    """Say whether a partition does not go on where the transform had left it."""
    if before is None or before.source is None or placed.source is None:
        return True
    return not before.transform or placed.source < before.source


def _first(*parts: Sequence[int | None]) -> int | None:
    return next((each for part in parts for each in part if each is not None), None)


def _offset(sources: Mapping[str, Sequence[int | None]], where: TopicPartition) -> int | None:
    listed = sources.get(where.topic, ())
    return listed[where.partition] if where.partition < len(listed) else None


def _smt(spec: SmtSpec) -> list[object]:
    predicate = spec.predicate
    condition = predicate and [predicate.kind.text, _texts(predicate.settings)]
    return [spec.kind.text, _texts(spec.settings), condition, spec.negate]


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    return {name: str(getattr(each, "text", each)) for name, each in sorted(settings.items())}


def _function(transform: TopicTransform) -> list[str]:
    if transform.function is None:
        return []
    place = transform.function.text.rpartition(":")[0]
    file = Path(place) if place.endswith(".py") else Path(place.replace(".", "/") + ".py")
    content = b""
    with suppress(OSError):  # a module that is installed: its version is not looked at
        content = (Path(transform.folder) / file).read_bytes()
    return [transform.function.text, hashlib.sha256(content).hexdigest()]
