"""Compares ranges that differ record by record, and names what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from orchestration.flows.comparison.copy_positions import Begins, LogStarts
from orchestration.verification import outcome
from orchestration.verification.outcome import RecordDifference
from replication.model import OffsetRange
from replication.records.batch_comparison import OffsetPair
from replication.records.comparison_result import DifferenceKind, NoCounterpart, RecordPart
from replication.verification.ranges import RangeResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orchestration.flows.comparison.compared_partition import Work
    from orchestration.flows.comparison.copy_positions import CopyPosition, CopyPositions
    from orchestration.verification.partition_plan import PartitionVerificationPlan
    from replication.model import TopicPartition
    from replication.records.comparison_result import Comparison
    from replication.verification.ranges import VerifiedRange

_NAMES = {
    DifferenceKind.LOST: outcome.LOST,
    DifferenceKind.REPEATED: outcome.REPEATED,
    DifferenceKind.OUT_OF_ORDER: outcome.OUT_OF_ORDER,
    DifferenceKind.EXTRA: outcome.EXTRA,
}
_PARTS = {
    RecordPart.KEY: outcome.KEY,
    RecordPart.VALUE: outcome.VALUE,
    RecordPart.HEADERS: outcome.HEADERS,
    RecordPart.TIMESTAMP: outcome.TIMESTAMP,
}


class Suspect(NamedTuple):
    """Neighbouring ranges that differ, to be compared record by record from ``begin`` on.

    ``before``: records in them, before ``begin``, that are known to agree. ``context``: the number
    of the equal range in front, which is compared again to recognize repeated records.
    """

    begin: OffsetPair
    end: OffsetPair
    before: int = 0
    context: int | None = None


def in_parts(
    ranges: Sequence[VerifiedRange], results: Mapping[int, RangeResult]
) -> tuple[list[VerifiedRange], dict[int, RangeResult]]:
    """Return the ranges with those that were divided as their parts, and the results of all."""
    found: list[VerifiedRange] = []
    known: dict[int, RangeResult] = {}
    for each in ranges:
        result = results[each.number]
        if not result.parts:
            found.append(replace(each, number=len(known)))
            known[len(known)] = result
        for source, target, length, equal in result.parts:
            here, there = (OffsetRange(at, at + length) for at in (source, target))
            found.append(replace(each, number=len(known), here=here, there=there))
            known[len(known)] = RangeResult(len(known), equal, length if equal else 0)
    return found, known


def suspects(ranges: Sequence[VerifiedRange], results: Mapping[int, RangeResult]) -> list[Suspect]:
    """Return what is to be compared record by record, of one partition's ranges in order."""
    found: list[Suspect] = []
    previous: VerifiedRange | None = None
    open_ = False
    for each in ranges:
        result = results[each.number]
        adjoins = previous is not None and previous.here.end == each.here.start
        if not result.equal:
            end = OffsetPair(each.here.end, each.there.end)
            if open_ and adjoins:
                found[-1] = found[-1]._replace(end=end)
            else:
                found.append(_begun(each, result, previous if adjoins else None, end))
        open_ = not result.equal
        previous = each
    return found


def _begun(
    each: VerifiedRange, result: RangeResult, before: VerifiedRange | None, end: OffsetPair
) -> Suspect:
    if result.mark is not None:
        source, target, records = result.mark
        return Suspect(OffsetPair(source, target), end, records)
    if before is not None:
        return Suspect(OffsetPair(before.here.start, before.there.start), end, 0, before.number)
    return Suspect(OffsetPair(each.here.start, each.there.start), end)


@dataclass(slots=True)
class FixedBegins:
    """The positions of a flow, with begins at known places; retention may have passed them."""

    positions: CopyPositions
    begin: OffsetPair | None = None

    def look(self) -> None:
        """Read nothing: what is compared was planned before."""

    def copied(self, source: TopicPartition, target: TopicPartition) -> CopyPosition:
        """Return what the anchor said at the last look of the flow's positions."""
        return self.positions.copied(source, target)

    def begins(self, source: TopicPartition, starts: LogStarts) -> Begins:
        """Return the known places, or where both logs begin now, behind them."""
        if self.begin is None or starts.source > self.begin.source:
            return self.positions.begins(source, starts)
        if starts.target > self.begin.target:
            return self.positions.begins(source, starts)
        return Begins(*self.begin, LogStarts(*self.begin))


def work_of(plan: PartitionVerificationPlan, suspect: Suspect) -> Work:
    """Return what a comparison reads for a suspect; losses by decision are not read."""
    copied = replace(plan.work.copied, damaged=plan.left_out)
    source, target = suspect.end
    return replace(plan.work, source_end=source, target_end=target, copied=copied)


def counts_of(found: Comparison) -> dict[str, int]:
    """Return how often each kind of difference was found."""
    counts = {name: found.count(kind) for kind, name in _NAMES.items()}
    counts |= {name: found.parts[part] for part, name in _PARTS.items()}
    if not any(found.parts.values()):
        counts[outcome.DIFFERENT] = found.count(DifferenceKind.DIFFERENT)
    return {name: count for name, count in counts.items() if count}


def examples_of(found: Comparison) -> Iterator[RecordDifference]:
    """Yield the first differences of each kind."""
    for kind, finding in found.found.items():
        none: list[tuple[RecordPart, ...]] = [()] * len(finding.examples)
        parts = finding.differs or none
        for example, differs in zip(finding.examples, parts, strict=True):
            names = tuple(_PARTS[each] for each in differs) or (
                _NAMES.get(kind, outcome.DIFFERENT),
            )
            yield RecordDifference(names, example.source, example.target)


def uncounted_records(found: Comparison) -> dict[str, int]:
    """Return the records without a counterpart, by reason; offsets outside of the ranges apart."""
    return {
        why.value: count
        for why, count in found.no_counterpart.items()
        if count and why is not NoCounterpart.BEFORE_START
    }
