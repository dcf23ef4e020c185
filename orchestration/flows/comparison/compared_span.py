"""From which offsets on two logs are compared, and what stands before them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestration.flows.comparison.copy_positions import LogStarts
from replication.records.comparison_result import NoCounterpart, PartitionFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestration.flows.comparison.compared_partition import Work
    from orchestration.flows.comparison.copy_positions import Begins
    from replication.records.comparison_result import Comparison


@dataclass(frozen=True, slots=True)
class Span:
    """``no_counterpart`` counts the offsets before ``begins``, which are not compared."""

    starts: LogStarts  # the first offsets of both logs
    begins: LogStarts  # the first ones that are compared
    known: PartitionFacts
    no_counterpart: Mapping[NoCounterpart, int]


def span_of(work: Work, starts: LogStarts, begins: Begins | None) -> Span:
    """Return the span of a partition; ``begins`` None: every record of both logs is compared.

    A begin that is unknown, or a compacted log in which offsets say little, is left to the
    comparison: it finds the first records that agree.
    """
    known = PartitionFacts(work.copied.source, work.source_end)
    if begins is None:
        return Span(starts, starts, known, {})
    started = LogStarts(
        _within(starts.source, begins.start.source, work.source_end),
        _within(starts.target, begins.start.target, work.target_end),
    )
    source, target = started
    if begins.source is None or work.compacted:
        known = replace(known, target_deleted=starts.target)
    else:
        source = _within(started.source, begins.source, work.source_end)
    if begins.target is None or work.compacted:
        known = replace(known, source_deleted=starts.source)
    else:
        target = _within(started.target, begins.target, work.target_end)
    return Span(
        starts,
        LogStarts(source, target),
        known,
        {
            NoCounterpart.BEFORE_START: sum(started) - sum(starts),
            NoCounterpart.DELETED_ON_TARGET: source - started.source,
            NoCounterpart.DELETED_ON_SOURCE: target - started.target,
        },
    )


def is_explained(span: Span, found: Comparison) -> bool:
    """Say whether retention, as of ``span``, may have caused one of the first differences found."""
    if span.known.source_deleted or span.known.target_deleted:
        return True
    examples = (each for finding in found.found.values() for each in finding.examples)
    return any(
        _before(each.source, span.begins.source) or _before(each.target, span.begins.target)
        for each in examples
    )


def _before(offset: int | None, begin: int) -> bool:
    return offset is not None and offset < begin


def _within(least: int, offset: int, end: int) -> int:
    """Return the offset, not below ``least`` and not above ``end`` unless ``least`` is."""
    return max(least, min(offset, end))
