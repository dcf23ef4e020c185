"""Verifies the topics of a flow that are transformed: with what the transform makes of the source.

What is in flight meanwhile is no difference. Anchors are read before the target's ends: results of
what is before them must be there. They are read again behind the ends: nothing else can be there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from orchestration.verification import outcome
from orchestration.verification.outcome import PartitionOutcome, RecordDifference
from orchestration.verification.partition_plan import Selected
from orchestration.verification.transform_plan import (
    TransformPlan,
    TransformToVerify,
    plan_transform,
)
from replication.clock import now_ms
from replication.model import TopicPartition
from replication.records.batch_comparison import OffsetPair
from replication.state import TransformVerified
from replication.verification.transformed import TransformedResult, TransformedSpans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from orchestration.flows.comparison.compared_partition import TopicPair
    from orchestration.flows.comparison.flow_comparison import FlowComparison
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor
    from replication.verification.transformed import TransformFinding

_SAME = "same"
_CANNOT = "cannot be transformed"
_FAILED = "cannot be transformed: they are dead letters, or were left out (isthmus losses FILE)"
_NONE = OffsetPair(0, 0)
_EVERYTHING = Selected()
_EXAMPLES = 10

Compared = tuple[TransformedSpans, TransformedResult]


class TransformRunner(Protocol):
    """Compares what a transform wrote with what it should have, with Spark."""

    def __call__(self, flow: str, spans: Sequence[TransformedSpans]) -> list[TransformedResult]:
        """Return what was found of each transform. Raises ReplicationError."""


class TransformOutcome(NamedTuple):
    """What was found of a transform; ``verified``: what is to be noted of it, if all is equal."""

    partitions: tuple[PartitionOutcome, ...]
    verified: TransformVerified | None = None


@dataclass(frozen=True, slots=True)
class TransformedTopics:
    """The transformed topics of one flow."""

    flow: Flow
    comparison: FlowComparison
    run: TransformRunner

    def verify(self, selected: Selected = _EVERYTHING) -> list[TransformOutcome]:
        """Return what was found of each transform. Raises ReplicationError."""
        plans = {
            number: (pairs, plan_transform(self._known(number, pairs, selected), selected))
            for number, pairs in self.comparison.transformed_pairs().items()
        }
        spans = [
            each
            for _, plan in plans.values()
            if isinstance(plan, TransformPlan)
            for each in plan.spans
            if not each.is_empty
        ]
        results = self.run(self.flow.name, spans) if spans else []
        compared = list(zip(spans, results, strict=True))
        return [
            TransformOutcome(tuple(_not_verified(pairs, plan)))
            if isinstance(plan, str)
            else self._outcome(pairs, plan, [e for e in compared if e[0].number == number])
            for number, (pairs, plan) in plans.items()
        ]

    def _outcome(
        self, pairs: Sequence[TopicPair], plan: TransformPlan, compared: Sequence[Compared]
    ) -> TransformOutcome:
        if problem := next((found.problem for _, found in compared if found.problem), ""):
            return TransformOutcome(tuple(_not_verified(pairs, problem)))
        partitions = outcomes_of(self.flow.transforms[plan.whole.number].pattern, plan, compared)
        reach = plan.reach
        if reach is None or any(each.differences for each in partitions):
            return TransformOutcome(tuple(partitions))
        wall_ms = now_ms()
        verified = TransformVerified(
            reach.flow, reach.number, reach.era, reach.sources, reach.targets, wall_ms
        )
        return TransformOutcome(tuple(partitions), verified)

    def _known(
        self, number: int, pairs: Sequence[TopicPair], selected: Selected
    ) -> TransformToVerify:
        comparison, reader = self.comparison, self.comparison.positions.reader
        comparison.positions.look()
        anchors, state = dict(reader.known.anchors), reader.known.transforms[number]
        start, points, verified = state.start, [*state.points.values()], state.verified
        settings = comparison.target_settings({*start.targets} if start else ())
        there = reader.ends(_partitions(start.targets, settings) if start else (), target=True)
        comparison.positions.look()
        mine = _of(anchors, pairs)
        begin = f"isthmus.{self.flow.name}.transform.{number}."
        names = reader.known.producer_names
        readable = comparison.readable_ends(mine)
        return TransformToVerify(
            number,
            self.flow.transforms[number],
            pairs,
            start,
            *comparison.positions.ids,
            anchors,
            dict(reader.known.anchors),
            reader.ends(mine, target=False),
            readable,
            there,
            sorted(each for each, name in names.items() if name.startswith(begin)),
            (reader.source.cluster_id, reader.target.cluster_id),
            sorted(name for name, each in settings.items() if _sets_times(each)),
            sorted(reader.came_by) if any(anchors[each].origins for each in mine) else (),
            points,
            verified,
            (
                self._offsets(mine, selected.since_ms, readable),
                self._offsets(mine, selected.until_ms, readable),
            ),
        )

    def _offsets(
        self,
        partitions: Sequence[TopicPartition],
        at_ms: int | None,
        readable: Mapping[TopicPartition, int],
    ) -> dict[TopicPartition, int]:
        """Return the source offsets of a time; where no record is that new, the end."""
        if at_ms is None:
            return {}
        found = self.comparison.source_offsets(partitions, at_ms)
        return {where: readable.get(where, 0) if at is None else at for where, at in found.items()}


def outcomes_of(
    pattern: str, plan: TransformPlan, compared: Sequence[Compared]
) -> list[PartitionOutcome]:
    """Return an outcome a source partition, and one a target partition with records too many."""
    outcomes = {
        (str(span.source), _copy(span.target_topic)): PartitionOutcome(
            str(span.source),
            _copy(span.target_topic),
            OffsetPair(span.begin, 0),
            OffsetPair(span.required, 0),
            remarks=(plan.remark,) if plan.remark and not number else (),
            continues=plan.continues,
            skipped=plan.skipped,
            transformed=True,
        )
        for number, span in enumerate(plan.whole.read)
    }
    for spans, result in compared:
        for each in _outcomes(pattern, spans, result.found):
            name = each.source, each.target
            outcomes[name] = each if name not in outcomes else _sum(outcomes[name], each)
    return [*outcomes.values()]


def _outcomes(
    pattern: str, spans: TransformedSpans, found: Iterable[TransformFinding]
) -> Iterator[PartitionOutcome]:
    of_source: dict[int, list[TransformFinding]] = defaultdict(list)
    of_target: dict[int | None, list[TransformFinding]] = defaultdict(list)
    for each in found:
        if each.read is None or each.read < 0:
            of_target[each.written].append(each)
        else:
            of_source[each.read].append(each)
    for number, span in enumerate(spans.read):
        begin, end = OffsetPair(span.begin, 0), OffsetPair(span.required, 0)
        listed = of_source[number]
        yield _outcome(str(span.source), _copy(span.target_topic), begin, end, listed)
    for place, listed in of_target.items():
        target = "" if place is None else str(spans.written[place].target)
        yield _outcome(f"transform {pattern}", target, _NONE, _NONE, listed)


def _outcome(
    source: str, target: str, begin: OffsetPair, end: OffsetPair, found: Sequence[TransformFinding]
) -> PartitionOutcome:
    counts: dict[str, int] = defaultdict(int)
    for each in found:
        counts[each.kind] += each.records
    examples = [
        RecordDifference((each.kind,), each.source_offset, each.target_offset)
        for each in found
        if each.kind in outcome.KINDS
    ]
    same, failed = counts.pop(_SAME, 0), counts.pop(_CANNOT, 0)
    no_counterpart = {kind: count for kind, count in counts.items() if kind not in outcome.KINDS}
    return PartitionOutcome(
        source,
        target,
        begin,
        end,
        ranges=int(end.source > begin.source),
        records=same,
        counts={kind: count for kind, count in counts.items() if kind in outcome.KINDS},
        examples=examples[:_EXAMPLES],
        no_counterpart={**no_counterpart, _FAILED: failed} if failed else no_counterpart,
    )


def _sum(one: PartitionOutcome, two: PartitionOutcome) -> PartitionOutcome:
    """Return what was found in two intervals of a partition, from where ``one`` begins."""
    return replace(
        one,
        ranges=one.ranges + two.ranges,
        records=one.records + two.records,
        counts=Counter(one.counts) + Counter(two.counts),
        examples=(*one.examples, *two.examples)[:_EXAMPLES],
        no_counterpart=Counter(one.no_counterpart) + Counter(two.no_counterpart),
    )


def _copy(topic: str) -> str:
    return f"transformed, {topic}"


def _not_verified(pairs: Sequence[TopicPair], why: str) -> Iterator[PartitionOutcome]:
    for each in pairs:
        yield PartitionOutcome(each.source, each.target, _NONE, _NONE, not_verified=why)


def _of(
    anchors: Mapping[TopicPartition, Anchor], pairs: Sequence[TopicPair]
) -> list[TopicPartition]:
    topics = {each.source for each in pairs}
    return [each for each, anchor in anchors.items() if each.topic in topics and anchor.source]


def _partitions(
    targets: Mapping[str, Sequence[int]], there: Mapping[str, object]
) -> list[TopicPartition]:
    return [
        TopicPartition(topic, number)
        for topic, ends in targets.items()
        if topic in there
        for number in range(len(ends))
    ]


def _sets_times(settings: Mapping[str, str]) -> bool:
    return settings.get("message.timestamp.type") == "LogAppendTime"
