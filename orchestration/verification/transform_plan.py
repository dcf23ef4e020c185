"""Which offsets of both sides are compared of a transform, and why they cannot be. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.model import TopicPartition
from replication.verification.transformed import ReadSpan, TransformedSpans, WrittenSpan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orchestration.flows.comparison.compared_partition import TopicPair
    from replication.model import OffsetRange
    from replication.settings.transform_settings import TopicTransform
    from replication.state import Anchor, TransformStart

_UNKNOWN = (
    "since when its transform works as it does now is not known: its flow notes that when it "
    "transforms the next records"
)
_COMPACTED = "{} is compacted: which of the transform's results should be left is not known"
_RECREATED = "{} was created again: its flow notes that when it transforms the next records"


@dataclass(frozen=True, slots=True)
class KnownTransform:
    """A transform of a flow, and all that is known of what it read and wrote.

    ``anchors`` were read before the bounds of the target, ``later`` behind them.
    """

    number: int
    transform: TopicTransform
    pairs: Sequence[TopicPair]
    start: TransformStart | None
    source_ids: Mapping[str, str]
    target_ids: Mapping[str, str]
    anchors: Mapping[TopicPartition, Anchor]
    later: Mapping[TopicPartition, Anchor]
    starts: Mapping[TopicPartition, OffsetRange]  # of the source: where logs begin
    readable: Mapping[TopicPartition, int]  # of the source: where they end
    there: Mapping[TopicPartition, OffsetRange]  # of the target
    producers: Sequence[int]
    cluster_ids: tuple[str, str]
    untimed: Sequence[str] = ()
    passes: Sequence[str] = ()


def plan_transform(known: KnownTransform) -> TransformedSpans | str:
    """Return what is compared; else why nothing can be."""
    start = known.start
    compacted = [
        name
        for each in known.pairs
        for name, is_so in zip(
            each[:2], (each.compacted.source, each.compacted.target), strict=True
        )
        if is_so
    ]
    if compacted:
        return _COMPACTED.format(compacted[0])
    if start is None:
        return _UNKNOWN
    sides = (start.source_ids, known.source_ids), (start.target_ids, known.target_ids)
    for then, now in sides:
        for topic, at_start in then.items():
            if at_start and now.get(topic, at_start) != at_start:
                return _RECREATED.format(topic)
    return TransformedSpans(
        known.number,
        start.definition,
        {topic: len(ends) for topic, ends in start.targets.items()},
        tuple(_read(known, start)),
        tuple(_written(known, start)),
        tuple(known.producers),
        known.cluster_ids,
        tuple(known.untimed),
        tuple(known.passes),
    )


def _read(known: KnownTransform, start: TransformStart) -> Iterator[ReadSpan]:
    for pair in known.pairs:
        for number, begin in enumerate(start.sources.get(pair.source, ())):
            where = TopicPartition(pair.source, number)
            anchor, log = known.anchors.get(where), known.starts.get(where)
            if begin is None or anchor is None or anchor.source is None or log is None:
                continue
            first, required = max(begin, log.start), max(begin, log.start, anchor.source)
            # A transaction that was not decided yet when the later anchors were read is at most
            # a batch ahead of them: its producer begins the next one when it is decided.
            reached = max(anchor.source, known.later.get(where, anchor).source or 0)
            most = reached + known.transform.batch_records
            end = max(required, min(most, known.readable.get(where, required)))
            yield ReadSpan(
                *where, first, required, end, anchor.origins, pair.target, log.start > begin
            )


def _written(known: KnownTransform, start: TransformStart) -> Iterator[WrittenSpan]:
    for topic, begins in start.targets.items():
        for number, begin in enumerate(begins):
            log = known.there.get(TopicPartition(topic, number))
            if log is not None:
                first = max(begin, log.start)
                yield WrittenSpan(topic, number, first, max(first, log.end), log.start > begin)
