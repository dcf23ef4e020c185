"""The outcome of a partition: from its plan, and with what comparisons of its parts found. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchestration.verification.differences import counts_of, examples_of, uncounted_records
from orchestration.verification.outcome import MISSING, PartitionOutcome, RecordDifference
from replication.records.batch_comparison import OffsetPair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestration.flows.comparison.compared_partition import Work
    from orchestration.verification.partition_plan import PartitionVerificationPlan
    from replication.records.comparison_result import Comparison


def unplanned(work: Work) -> PartitionOutcome | None:
    """Return why a partition cannot be planned; None: it can."""
    none = PartitionOutcome(str(work.source), str(work.target), OffsetPair(0, 0), OffsetPair(0, 0))
    if work.copied.source is None:
        waits = not work.target_end or work.copied.remark.startswith("the flow has")
        if not work.records and not work.target_end:
            return none
        return replace(none, not_verified=work.copied.remark or "not copied yet", waits=waits)
    if not work.on_target:
        if not work.copied.source:
            return none
        found = RecordDifference((MISSING,), 0, None)
        return replace(none, counts={MISSING: 1}, examples=(found,))
    return None


def outcome_of(plan: PartitionVerificationPlan, remarks: Sequence[str]) -> PartitionOutcome:
    """Return the outcome of a partition of which nothing was compared yet."""
    work = plan.work
    halted = [f"copying has halted: {work.copied.halted}"] if work.copied.halted else []
    left = sum(each.end - each.start for each in plan.left_out)
    more = [f"{left:,} offsets were left out by a decision: isthmus losses FILE"] if left else []
    return PartitionOutcome(
        str(work.source),
        str(work.target),
        plan.begin,
        plan.end,
        remarks=(*remarks, *halted, *more),
        continues=plan.continues,
        skipped=plan.skipped,
    )


def with_comparison(judged: PartitionOutcome, found: Comparison, records: int) -> PartitionOutcome:
    """Return an outcome with what a comparison record by record found."""
    return replace(
        judged,
        records=judged.records + records,
        counts=_sum(judged.counts, counts_of(found)),
        no_counterpart=_sum(judged.no_counterpart, uncounted_records(found)),
        examples=(*judged.examples, *examples_of(found)),
    )


def _sum(one: Mapping[str, int], two: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + two.get(name, 0) for name in (*one, *two)}
