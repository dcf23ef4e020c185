"""Which ranges of a partition are compared, and why it cannot be. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.offsets.offset_map import sync_points_of
from replication.records.batch_comparison import Place
from replication.verification.range_plan import plan_stretches
from replication.verification.ranges import VerifiedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestration.flows.comparison.compared_partition import Work
    from orchestration.flows.comparison.compared_span import Span
    from replication.model import OffsetRange
    from replication.state import Anchor, OffsetPoint, VerifiedUpTo
    from replication.verification.range_plan import Stretch

_START = Place(0, 0)
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


class KnownPartition(NamedTuple):
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
class PartitionPlan:
    """``whole``: it can only be compared record by record, all of it; says why."""

    work: Work
    begin: Place = _START
    end: Place = _START
    ranges: tuple[VerifiedRange, ...] = ()
    left_out: tuple[OffsetRange, ...] = field(default=(), repr=False)
    whole: str = ""
    continues: bool = False  # behind what an earlier run verified
    skipped: int = 0  # ranges that were not chosen


def plan_partition(
    known: KnownPartition, selected: Selected, range_bytes: int, first: int
) -> PartitionPlan:
    """Return the ranges of one partition, numbered from ``first`` on."""
    work, span, anchor = known.work, known.span, known.anchor
    end = Place(anchor.source or 0, anchor.target or 0)
    if work.compacted:
        return PartitionPlan(work, end=end, left_out=known.left_out, whole="compared by key")
    if span.known.source_deleted or span.known.target_deleted:
        why = "where retention left the first records is not known: compared record by record"
        return PartitionPlan(work, end=end, left_out=known.left_out, whole=why)
    begins, verified = Place(*span.begins), known.verified
    continues = not selected.full and verified is not None and is_valid(verified, anchor, begins)
    begin = Place(verified.source, verified.target) if continues and verified else begins
    points = sync_points_of(known.points, anchor)
    most = max(_LEAST_RECORDS, range_bytes // _mean_size(anchor))
    stretches = plan_stretches(begin, points, most)
    chosen = _chosen(stretches, selected, known.times)
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
    skipped = len(stretches) - len(chosen)
    return PartitionPlan(work, begin, end, ranges, known.left_out, "", continues, skipped)


def is_valid(verified: VerifiedUpTo, anchor: Anchor, begins: Place) -> bool:
    """Say whether a partition's verified position is of this copy, and not deleted since."""
    same = (
        verified.target_topic == anchor.target_topic
        and verified.source_topic_id == anchor.source_topic_id
        and verified.target_topic_id == anchor.target_topic_id
        and verified.era == era_of(anchor)
    )
    reached = Place(verified.source, verified.target)
    end = Place(anchor.source or 0, anchor.target or 0)
    return same and all(a <= b <= c for a, b, c in zip(begins, reached, end, strict=True))


def era_of(anchor: Anchor) -> int:
    """Return which start of the copy an anchor belongs to."""
    return anchor.run[0] if anchor.run is not None else 0


def _mean_size(anchor: Anchor) -> int:
    return max(1, anchor.bytes // anchor.records) if anchor.records else _UNKNOWN_SIZE


def _chosen(
    stretches: Sequence[Stretch], selected: Selected, times: tuple[int | None, int | None]
) -> list[Stretch]:
    since, until = times
    within = [
        each
        for each in stretches
        if (since is None or each.here.end > since) and (until is None or each.here.start < until)
    ]
    if selected.sample >= 1 or not within:
        return within
    chance = random.Random(f"{selected.seed}/{within[0].here.start}")  # noqa: S311 - no secret
    found = [each for each in within if chance.random() < selected.sample]
    return found or [chance.choice(within)]
