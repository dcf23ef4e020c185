"""Verifies the topics of a flow that are transformed: with what the transform makes of the source.

What is in flight meanwhile is no difference. Anchors are read before the target's ends: results of
what is before them must be there. They are read again behind the ends: nothing else can be there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from orchestration.verification import outcome
from orchestration.verification.outcome import Difference, PartitionOutcome
from orchestration.verification.transform_plan import KnownTransform, plan_transform
from replication.model import TopicPartition
from replication.records.batch_comparison import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from orchestration.flows.comparison.compared_partition import TopicPair
    from orchestration.flows.comparison.flow_comparison import FlowComparison
    from replication.settings.sections import Flow
    from replication.settings.transform_settings import TopicTransform
    from replication.state import Anchor
    from replication.verification.transformed import Found, TransformedResult, TransformedSpans

_SAME = "same"
_CANNOT = "cannot be transformed"
_FAILED = "cannot be transformed: they are dead letters, or were left out (isthmus losses)"
_WHOLE = "it is transformed, so it is compared as a whole: leave out --since, --until and --sample"
_NONE = Place(0, 0)


class TransformRunner(Protocol):
    """Compares what a transform wrote with what it should have, with Spark."""

    def __call__(self, flow: str, spans: Sequence[TransformedSpans]) -> list[TransformedResult]:
        """Return what was found of each transform. Raises ReplicationError."""


@dataclass(frozen=True, slots=True)
class TransformedTopics:
    """The transformed topics of one flow."""

    flow: Flow
    comparison: FlowComparison
    run: TransformRunner

    def verify(self, *, partial: bool) -> Iterator[PartitionOutcome]:
        """Yield what was found; ``partial``: of what is compared as a whole, nothing is.

        Raises ReplicationError.
        """
        planned: list[tuple[TransformedSpans, Sequence[TopicPair]]] = []
        for number, pairs in self.comparison.transformed_pairs().items():
            transform = self.flow.transforms[number]
            if partial:
                yield from _not_verified(pairs, _WHOLE)
                continue
            plan = plan_transform(self._known(number, transform, pairs))
            if isinstance(plan, str):
                yield from _not_verified(pairs, plan)
            else:
                planned.append((plan, pairs))
        results = self.run(self.flow.name, [each for each, _ in planned]) if planned else []
        for (spans, topics), result in zip(planned, results, strict=True):
            if result.problem:
                yield from _not_verified(topics, result.problem)
                continue
            yield from outcomes_of(self.flow.transforms[spans.number].pattern, spans, result.found)

    def _known(
        self, number: int, transform: TopicTransform, pairs: Sequence[TopicPair]
    ) -> KnownTransform:
        comparison, reader = self.comparison, self.comparison.positions.reader
        comparison.positions.look()
        anchors = dict(reader.known.anchors)
        start = reader.known.transforms.get(number)
        settings = comparison.target_settings({*start.targets} if start else ())
        there = reader.ends(_partitions(start.targets, settings) if start else (), target=True)
        comparison.positions.look()
        mine = _of(anchors, pairs)
        begin = f"isthmus.{self.flow.name}.transform.{number}."
        names = reader.known.producer_names
        return KnownTransform(
            number,
            transform,
            pairs,
            start,
            *comparison.positions.ids,
            anchors,
            dict(reader.known.anchors),
            reader.ends(mine, target=False),
            comparison.readable_ends(mine),
            there,
            sorted(each for each, name in names.items() if name.startswith(begin)),
            (reader.source.cluster_id, reader.target.cluster_id),
            sorted(name for name, each in settings.items() if _sets_times(each)),
            sorted(reader.came_by) if any(anchors[each].origins for each in mine) else (),
        )


def outcomes_of(
    pattern: str, spans: TransformedSpans, found: Iterable[Found]
) -> Iterator[PartitionOutcome]:
    """Yield an outcome a source partition, and one a target partition with records too many."""
    of_source: dict[int, list[Found]] = defaultdict(list)
    of_target: dict[int | None, list[Found]] = defaultdict(list)
    for each in found:
        if each.read is None or each.read < 0:
            of_target[each.written].append(each)
        else:
            of_source[each.read].append(each)
    for number, span in enumerate(spans.read):
        begin, end = Place(span.begin, 0), Place(span.required, 0)
        listed = of_source[number]
        copy = f"transformed, {span.target_topic}"
        yield _outcome(str(span.source), copy, begin, end, listed)
    for place, listed in of_target.items():
        target = "" if place is None else str(spans.written[place].target)
        yield _outcome(f"transform {pattern}", target, _NONE, _NONE, listed)


def _outcome(
    source: str, target: str, begin: Place, end: Place, found: Sequence[Found]
) -> PartitionOutcome:
    counts: dict[str, int] = defaultdict(int)
    for each in found:
        counts[each.kind] += each.records
    examples = [
        Difference((each.kind,), each.source_offset, each.target_offset)
        for each in found
        if each.kind in outcome.KINDS
    ]
    same, failed = counts.pop(_SAME, 0), counts.pop(_CANNOT, 0)
    apart = {kind: count for kind, count in counts.items() if kind not in outcome.KINDS}
    return PartitionOutcome(
        source,
        target,
        begin,
        end,
        ranges=int(end.source > begin.source),
        records=same,
        counts={kind: count for kind, count in counts.items() if kind in outcome.KINDS},
        examples=examples[:10],
        apart={**apart, _FAILED: failed} if failed else apart,
    )


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
