"""Finds the records of a source that never arrived at the target: its diverged tail.

All that was copied before the failover is known from the anchor: so many deliverable records behind
it are on the target (C). What follows them at the source is the tail. Copies that another flow has
brought to the source meanwhile are not deliverable, so they are no part of it (P2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from replication.model import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replication.offsets.counted_log import CountedLog


@dataclass(slots=True)
class TailOffsets:
    """The offsets of a tail as ranges without a gap, in order; ``end``: where its log ended."""

    ranges: list[OffsetRange] = field(default_factory=list)
    end: int = 0

    @property
    def records(self) -> int:
        return sum(each.end - each.start for each in self.ranges)

    @property
    def first(self) -> int:
        """The offset of the first record; without one, the end."""
        return self.ranges[0].start if self.ranges else self.end

    def add(self, offsets: Iterable[int]) -> None:
        """Add further offsets, in order."""
        for each in offsets:
            if self.ranges and self.ranges[-1].end == each:
                self.ranges[-1] = OffsetRange(self.ranges[-1].start, each + 1)
            else:
                self.ranges.append(OffsetRange(each, each + 1))


async def find_tail(log: CountedLog, begin: int, copied: int) -> TailOffsets:
    """Return the offsets of the records behind the first ``copied`` ones from ``begin`` on.

    Raises ClusterUnavailable, CorruptBatch.
    """
    tail, left = TailOffsets(), copied
    async for offsets in log.spans(begin):
        passed = min(left, len(offsets))
        left -= passed
        tail.add(_behind(offsets, passed))
    tail.end = max(log.end, begin)
    return tail


def _behind(offsets: Sequence[int], passed: int) -> Iterable[int]:
    return islice(offsets, passed, None)
