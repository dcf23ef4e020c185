"""Which offsets of both sides are compared of a transform, and why they cannot be. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestration.verification.partition_plan import Selected
from orchestration.verification.transform_intervals import (
    Interval,
    Offsets,
    TransformPast,
    offset_in,
)
from replication.model import TopicPartition
from replication.state import TransformStart
from replication.verification.transformed import ReadSpan, TransformedSpans, WrittenSpan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orchestration.flows.comparison.compared_partition import TopicPair
    from replication.model import OffsetRange
    from replication.settings.transform_settings import TopicTransform
    from replication.state import Anchor, TransformPoint, TransformVerified

_EVERYTHING = Selected()
_UNKNOWN = (
    "where its present transform began is not stored yet: the flow stores it with the next records "
    "that it transforms; verify again after these"
)
_COMPACTED = "{} is compacted: a transform with a compacted topic cannot be verified"
_BEGAN_ANEW = (
    "compared from where its present transform began, which was after the last good verification"
)
_RECREATED = (
    "{} was created again: the flow stores where its transform began with the next records that it "
    "transforms; verify again after these"
)


@dataclass(frozen=True, slots=True)
class TransformToVerify:
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
    points: Sequence[TransformPoint] = ()
    verified: TransformVerified | None = None
    # Source offsets of ``since`` and ``until``.
    times: tuple[Offsets, Offsets] = ({}, {})


@dataclass(frozen=True, slots=True)
class TransformPlan:
    """What is compared of a transform."""

    whole: TransformedSpans  # all that a run without a choice compares
    spans: tuple[TransformedSpans, ...]  # what is chosen of it
    skipped: int = 0  # intervals between points that were not chosen
    continues: bool = False  # behind what an earlier run verified
    reach: TransformPoint | None = None  # the newest point: if all is equal, up to there
    remark: str = ""


def plan_transform(
    known: TransformToVerify, selected: Selected = _EVERYTHING
) -> TransformPlan | str:
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
    reached = {e: a.source for e, a in known.anchors.items() if a.source is not None}
    past = TransformPast(start, known.points, known.verified, reached, known.times)
    chosen = past.choose(selected)
    return TransformPlan(
        _spans(known, past, Interval(chosen.first, None)),
        tuple(_spans(known, past, each) for each in chosen.intervals),
        chosen.skipped,
        not isinstance(chosen.first, TransformStart),
        _reach(known, past),
        _BEGAN_ANEW if past.began_anew else "",
    )


def _reach(known: TransformToVerify, past: TransformPast) -> TransformPoint | None:
    """Return the newest point before all that is compared; None: there is none."""
    for each in reversed(past.known_points()):
        places = (
            (TopicPartition(topic, number), end)
            for topic, ends in each.targets.items()
            for number, end in enumerate(ends)
        )
        if all(where in known.there and end <= known.there[where].end for where, end in places):
            return each
    return None


def _spans(known: TransformToVerify, past: TransformPast, interval: Interval) -> TransformedSpans:
    return TransformedSpans(
        known.number,
        past.start.definition,
        {topic: len(ends) for topic, ends in past.start.targets.items()},
        tuple(_read(known, past, interval)),
        tuple(_written(known, past, interval)),
        tuple(known.producers),
        known.cluster_ids,
        tuple(known.untimed),
        tuple(known.passes),
        not past.start.sources.keys() <= {each.source for each in known.pairs},
    )


def _read(known: TransformToVerify, past: TransformPast, interval: Interval) -> Iterator[ReadSpan]:
    for pair in known.pairs:
        for number in range(len(past.start.sources.get(pair.source, ()))):
            where = TopicPartition(pair.source, number)
            begin, end = past.begin_of(interval, where), past.end_of(interval, where)
            anchor, log = known.anchors.get(where), known.starts.get(where)
            if begin is None or anchor is None or anchor.source is None or log is None:
                continue
            first = max(begin, log.start)
            last = _up_to_now(known, where, first) if end is None else (max(first, end),) * 2
            yield ReadSpan(*where, first, *last, anchor.origins, pair.target, log.start > begin)


def _up_to_now(known: TransformToVerify, where: TopicPartition, first: int) -> tuple[int, int]:
    """Return up to where results must be there, and up to where they may be."""
    anchor = known.anchors[where]
    passed = anchor.source or 0
    required = max(first, passed)
    # A transaction that was not decided yet when the later anchors were read is at most a batch
    # ahead of them: its producer begins the next one when it is decided.
    reached = max(passed, known.later.get(where, anchor).source or 0)
    most = reached + known.transform.batch_records
    return required, max(required, min(most, known.readable.get(where, required)))


def _written(
    known: TransformToVerify, past: TransformPast, interval: Interval
) -> Iterator[WrittenSpan]:
    # Without the copies of topics that the flow or the source does not have any more.
    topics = {*known.transform.route_topics, *(each.target for each in known.pairs)}
    for topic, begins in past.start.targets.items():
        for number, began in enumerate(begins if topic in topics else ()):
            where = TopicPartition(topic, number)
            log = known.there.get(where)
            if log is None:
                continue
            begin = _or(offset_in(interval.begin.targets, where), began)
            end = log.end
            if interval.end is not None:
                end = _or(offset_in(interval.end.targets, where), began)
            first = max(begin, log.start)
            yield WrittenSpan(topic, number, first, max(first, end), log.start > begin)


def _or(found: int | None, other: int) -> int:
    return other if found is None else found
