"""One verification of a flow: plan, compare, look into what differs, remember."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from orchestration.flows.comparison.flow_comparison import FlowComparison
from orchestration.flows.comparison.topic_comparison import Options
from orchestration.verification import outcome
from orchestration.verification.differences import (
    FixedBegins,
    in_parts,
    suspects,
    work_of,
)
from orchestration.verification.outcome import (
    PartitionOutcome,
    Speed,
    VerificationOutcome,
)
from orchestration.verification.partition_outcome import (
    outcome_of,
    unplanned,
    with_comparison,
)
from orchestration.verification.partition_plan import (
    PartitionToVerify,
    PartitionVerificationPlan,
    incarnation_of,
    plan_partition,
)
from orchestration.verification.transformed_topics import TransformedTopics
from replication.clock import now_ms
from replication.errors import ReplicationError
from replication.records.comparison_result import Limits
from replication.state import Verification, VerifiedUpTo

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from orchestration.flows.comparison.compared_partition import Work
    from orchestration.verification.partition_plan import Selected
    from orchestration.verification.transformed_topics import TransformOutcome, TransformRunner
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor, TransformVerified
    from replication.verification.ranges import RangeResult, VerifiedRange

    Progress = Callable[[str, int, int], object]  # what is done, how much of it, of how much

_COMMITTED = "read_committed"
_EXAMPLES = 10  # of each kind, in a partition


class RangeRunner(Protocol):
    """Compares ranges with Spark."""

    def __call__(
        self,
        flow: str,
        ranges: Sequence[VerifiedRange],
        progress: Callable[[str, int, int], object],
    ) -> list[RangeResult]:
        """Return a result a range. Raises ReplicationError."""


@dataclass(slots=True)
class FlowVerification:
    """Verifies one flow. Raises ClusterUnavailable, ClusterRejected or another ReplicationError."""

    flow: Flow
    config: Config
    topics: re.Pattern[str]
    selected: Selected
    run_ranges: RangeRunner
    run_transform: TransformRunner
    progress: Progress = lambda _doing, _done, _of: None
    all_topics: bool = True
    _results: dict[int, RangeResult] = field(default_factory=dict)

    def run(self) -> VerificationOutcome:
        """Verify, and note how far all is equal."""
        began, at_ms = time.monotonic(), now_ms()
        isolation = self.flow.copying.isolation
        options = Options(isolation, limits=Limits(examples=_EXAMPLES), parts=True)
        with FlowComparison(self.flow, self.config, self.topics, options) as comparison:
            if not comparison.pairs and not comparison.transformed:
                why = f"{self.flow.source} has no topic that the flow selects and --topics matches"
                return VerificationOutcome(self.flow.name, at_ms, (), Speed(0, 0, 1, 0), left=why)
            known, waiting = self._known(comparison)
            plans = self._plans(known)
            ranges = [each for plan in plans for each in plan.ranges]
            results = self.run_ranges(self.flow.name, ranges, self.progress) if ranges else []
            speed = self._speed(results)
            self._results = {each.number: each for each in results}
            topics = TransformedTopics(self.flow, comparison, self.run_transform)
            self.progress("comparing what is transformed", 0, len(comparison.transformed))
            transformed = topics.verify(self.selected)
            found = [*self._judged(plans, comparison, options), *waiting]
            found += [each for one in transformed for each in one.partitions]
            whole = VerificationOutcome(
                self.flow.name,
                at_ms,
                sorted(found, key=lambda each: each.source),
                speed,
                self.selected.is_partial,
                took_s=time.monotonic() - began,
            )
            try:
                self._remember(comparison, plans, transformed, whole)
            except ReplicationError:
                if not whole.differences:  # a difference says more than that it cannot be noted
                    raise
            return whole

    def _known(
        self, comparison: FlowComparison
    ) -> tuple[list[PartitionToVerify], list[PartitionOutcome]]:
        """Return what can be planned, and of all other partitions why not."""
        known: list[PartitionToVerify] = []
        waiting: list[PartitionOutcome] = []
        works = comparison.plan()
        times = self._times(comparison, works)
        reader = comparison.positions.reader
        for number, work in enumerate(works):
            self.progress("planning", number, len(works))
            if not work.on_source:
                continue
            if (nothing := unplanned(work)) is not None:
                waiting.append(nothing)
                continue
            known.append(
                PartitionToVerify(
                    work,
                    comparison.span(work),
                    reader.known.anchors[work.source],
                    tuple(reader.known.points[work.source].values()),
                    reader.known.verified.get(work.source),
                    comparison.positions.left_out(work.source),
                    comparison.own is not None,
                    self.flow.copying.isolation == _COMMITTED,
                    (times[0].get(work.source), times[1].get(work.source)),
                )
            )
        return known, waiting

    def _times(
        self, comparison: FlowComparison, works: Sequence[Work]
    ) -> tuple[Mapping[object, int | None], Mapping[object, int | None]]:
        """Return the source offsets of ``since`` and ``until``; behind the log: its end."""
        there = [each for each in works if each.on_source]
        ends = {each.source: each.source_end for each in there}

        def offsets(at_ms: int | None) -> Mapping[object, int | None]:
            if at_ms is None:
                return {}
            found = comparison.source_offsets([each.source for each in there], at_ms)
            return {where: ends[where] if at is None else at for where, at in found.items()}

        return offsets(self.selected.since_ms), offsets(self.selected.until_ms)

    def _plans(self, known: Sequence[PartitionToVerify]) -> list[PartitionVerificationPlan]:
        plans: list[PartitionVerificationPlan] = []
        first = 0
        for each in known:
            plan = plan_partition(each, self.selected, self.config.verification.range_bytes, first)
            first += len(plan.ranges)
            plans.append(plan)
        return plans

    def _speed(self, results: Sequence[RangeResult]) -> Speed:
        whole, cpu = sum(each.bytes for each in results), sum(each.cpu_s for each in results)
        return Speed(whole, sum(each.seconds for each in results), self.config.jobs.cores, cpu)

    def _judged(
        self,
        plans: Sequence[PartitionVerificationPlan],
        comparison: FlowComparison,
        options: Options,
    ) -> Iterator[PartitionOutcome]:
        """Yield what was found in each partition, after what differs was looked into."""
        begins = FixedBegins(comparison.positions)
        comparer = comparison.comparer(begins, options)
        try:
            for number, plan in enumerate(plans):
                self.progress("looking into differences", number, len(plans))
                if plan.whole:
                    begins.begin = None
                    work = plan.work if plan.work.compacted else _up_to_end(plan)
                    found = comparer.compare(work, lambda _: None).comparison
                    yield with_comparison(outcome_of(plan, (plan.whole,)), found, found.equal)
                    continue
                ranges, results = in_parts(plan.ranges, self._results)
                judged = self._outcome_of_ranges(plan, results.values())
                for each in suspects(ranges, results):
                    begins.begin = each.begin
                    found = comparer.compare(work_of(plan, each), lambda _: None).comparison
                    again = each.before + found.equal
                    if each.context is not None:
                        again -= results[each.context].records
                    judged = with_comparison(judged, found, again)
                yield judged
        finally:
            comparer.close()

    def _outcome_of_ranges(
        self, plan: PartitionVerificationPlan, parts: Collection[RangeResult]
    ) -> PartitionOutcome:
        """Return what the ranges say: those that are equal count, damaged ones are named."""
        results = [self._results[each.number] for each in plan.ranges]
        damaged = [each.damaged for each in results if each.damaged]
        whole = outcome_of(plan, damaged)
        return replace(
            whole,
            ranges=len(results),
            records=sum(each.records for each in parts if each.equal),
            bytes=sum(each.bytes for each in results),
            counts={outcome.DAMAGED: len(damaged)} if damaged else {},
        )

    def _remember(
        self,
        comparison: FlowComparison,
        plans: Sequence[PartitionVerificationPlan],
        transformed: Sequence[TransformOutcome],
        whole: VerificationOutcome,
    ) -> None:
        """Note how far all is equal; nothing of a run that left ranges out."""
        if self.selected.is_partial:
            return
        reader = comparison.positions.reader
        clean = {each.source for each in whole.partitions if not each.differences}
        verified: list[VerifiedUpTo | TransformVerified] = [
            _verified(self.flow.name, plan, reader.known.anchors[plan.work.source], whole.at_ms)
            for plan in plans
            if not plan.work.compacted and str(plan.work.source) in clean
        ]
        verified += [each.verified for each in transformed if each.verified is not None]
        last = None
        if self.all_topics:
            before = reader.known.verification
            good_ms = whole.at_ms if whole.verdict.good else before.good_ms if before else 0
            last = Verification(
                self.flow.name,
                whole.at_ms,
                whole.verdict.value,
                good_ms,
                whole.records,
                whole.differences,
            )
        reader.remember_verified(verified, last)


def _verified(
    flow: str, plan: PartitionVerificationPlan, anchor: Anchor, at_ms: int
) -> VerifiedUpTo:
    return VerifiedUpTo(
        flow,
        plan.work.source.topic,
        plan.work.source.partition,
        anchor.target_topic,
        plan.end.source,
        plan.end.target,
        anchor.source_topic_id,
        anchor.target_topic_id,
        incarnation_of(anchor),
        at_ms,
    )


def _up_to_end(plan: PartitionVerificationPlan) -> Work:
    """Return what is compared of a partition record by record: up to its anchor."""
    copied = replace(plan.work.copied, damaged=plan.left_out)
    return replace(plan.work, copied=copied)
