"""How fast a flow copies, from two looks at its counters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.state import Anchor


@dataclass(frozen=True, slots=True)
class Sample:
    """Counters at one moment; they count since the flow's first start."""

    at_ms: int = 0
    records: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Rate:
    records_s: float = 0.0
    bytes_s: float = 0.0


def sample(anchors: Iterable[Anchor], at_ms: int) -> Sample:
    """Return the sum of the counters that the anchors carry."""
    found = list(anchors)
    return Sample(at_ms, sum(each.records for each in found), sum(each.bytes for each in found))


def rate(before: Sample | None, after: Sample) -> Rate | None:
    """Return the mean rate between two samples. None: there is no stretch to measure over.

    A counter that went back (anchors were deleted) also gives None, not a negative rate.
    """
    if before is None or after.at_ms <= before.at_ms or after.records < before.records:
        return None
    seconds = (after.at_ms - before.at_ms) / 1000
    return Rate(
        (after.records - before.records) / seconds, max(0, after.bytes - before.bytes) / seconds
    )
