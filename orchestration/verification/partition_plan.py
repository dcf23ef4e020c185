"""Which ranges of a partition are compared, and why it cannot be. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.offsets.offset_map import sync_points_of
from replication.records.batch_comparison import OffsetPair
from replication.verification.range_plan import plan_paired_ranges
from replication.verification.ranges import VerifiedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestration.flows.comparison.compared_partition import Work
    from orchestration.flows.comparison.compared_span import Span
    from replication.model import OffsetRange
    from replication.state import Anchor, OffsetPoint, VerifiedUpTo
    from replication.verification.range_plan import PairedRange

_START = OffsetPair(0, 0)
_LEAST_RECORDS = 1_000  # of a range, however large they are
_UNKNOWN_SIZE = 1_000  # bytes of a record, where none was copied yet


@dataclass(frozen=True, slots=True)
class Selected:
    """What of a flow a run verifies. By default what was copied since the last good run."""

    full: bool = False  # all that both clusters hold
    since_ms: int | None = None  # only ranges with records from then on
    until_ms: int | None = None  # only ranges with records before
    sample: float = 1.0  # share of the ranges
    seed: int = 0  # of the sample

    @property
    def is_partial(self) -> bool:
        """Whether ranges are left out: then nothing is noted as verified."""
        return self.since_ms is not None or self.until_ms is not None or self.sample < 1


class PartitionToVerify(NamedTuple):
    """A partition that is copied, and all that is known of it."""

    work: Work
    span: Span
    anchor: Anchor
    points: Iterable[OffsetPoint]
    verified: VerifiedUpTo | None = None
    left_out: tuple[OffsetRange, ...] = ()
    own: bool = False
    committed: bool = True  # of the source
    times: tuple[int | None, int | None] = (None, None)  # source offsets of ``since``, ``until``


@dataclass(frozen=True, slots=True)
class PartitionVerificationPlan:
    """``whole``: it can only be compared record by record, all of it; says why."""

    work: Work
    begin: OffsetPair = _START
    end: OffsetPair = _START
    ranges: tuple[VerifiedRange, ...] = ()
    left_out: tuple[OffsetRange, ...] = field(default=(), repr=False)
    whole: str = ""
    continues: bool = False  # behind what an earlier run verified
    skipped: int = 0  # ranges that were not chosen


def plan_partition(
    known: PartitionToVerify, selected: Selected, range_bytes: int, first: int
) -> PartitionVerificationPlan:
    """Return the ranges of one partition, numbered from ``first`` on."""
    work, span, anchor = known.work, known.span, known.anchor
    end = OffsetPair(anchor.source or 0, anchor.target or 0)
    if work.compacted:
        return PartitionVerificationPlan(
            work, end=end, left_out=known.left_out, whole="compared by key"
        )
    if span.known.source_deleted or span.known.target_deleted:
        why = "where retention left the first records is unknown: compared record by record"
        return PartitionVerificationPlan(work, end=end, left_out=known.left_out, whole=why)
    begins, verified = OffsetPair(*span.begins), known.verified
    continues = not selected.full and verified is not None and is_valid(verified, anchor, begins)
    begin = OffsetPair(verified.source, verified.target) if continues and verified else begins
    points = sync_points_of(known.points, anchor)
    most = max(_LEAST_RECORDS, range_bytes // _mean_size(anchor))
    all_ranges = plan_paired_ranges(begin, points, most)
    chosen = _chosen(all_ranges, selected, known.times)
    ranges = tuple(
        VerifiedRange(
            number,
            work.source,
            work.target,
            each.here,
            each.there,
            known.committed,
            each.transactional or work.copied.transactional,
            known.own,
            known.left_out,
            anchor.origins,
            each.straight,
        )
        for number, each in enumerate(chosen, first)
    )
    skipped = len(all_ranges) - len(chosen)
    return PartitionVerificationPlan(
        work, begin, end, ranges, known.left_out, "", continues, skipped
    )


def is_valid(verified: VerifiedUpTo, anchor: Anchor, begins: OffsetPair) -> bool:
    """Say whether a partition's verified position is of this copy, and not deleted since."""
    same = (
        verified.target_topic == anchor.target_topic
        and verified.source_topic_id == anchor.source_topic_id
        and verified.target_topic_id == anchor.target_topic_id
        and verified.era == incarnation_of(anchor)
    )
    reached = OffsetPair(verified.source, verified.target)
    end = OffsetPair(anchor.source or 0, anchor.target or 0)
    return same and all(a <= b <= c for a, b, c in zip(begins, reached, end, strict=True))


def incarnation_of(anchor: Anchor) -> int:
    """Return which start of the copy an anchor belongs to."""
    return anchor.run[0] if anchor.run is not None else 0


def _mean_size(anchor: Anchor) -> int:
    return max(1, anchor.bytes // anchor.records) if anchor.records else _UNKNOWN_SIZE


def _chosen(
    all_ranges: Sequence[PairedRange], selected: Selected, times: tuple[int | None, int | None]
) -> list[PairedRange]:
    since, until = times
    within = [
        each
        for each in all_ranges
        if (since is None or each.here.end > since) and (until is None or each.here.start < until)
    ]
    if selected.sample >= 1 or not within:
        return within
    chance = random.Random(f"{selected.seed}/{within[0].here.start}")  # noqa: S311 - no secret
    found = [each for each in within if chance.random() < selected.sample]
    return found or [chance.choice(within)]
