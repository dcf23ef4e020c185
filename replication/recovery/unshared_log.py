"""Up to where a copy holds records of its flow alone: no client of the target wrote before.

A group whose position is not behind the first record of others has none of them to read again,
whatever it has read of their copies at the source. That is known without the source. Where target
offsets and copied records grow together between two sync points, nothing of others is between them;
the rest is read.
"""

from __future__ import annotations

from contextlib import aclosing
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replication.offsets.counted_log import CountedLog
    from replication.offsets.offset_map import SyncPoint
    from replication.state import Anchor


async def unshared_end(others: CountedLog, sync_points: Sequence[SyncPoint], anchor: Anchor) -> int:
    """Return the first target offset of a record that is not the flow's, or where the log ends.

    ``others`` counts the records of others on the target. Records that filled a topic of the source
    anew come there from the target as well, whoever wrote them once. Raises ClusterUnavailable,
    CorruptBatch.
    """
    if anchor.own_from:
        return 0
    for begin, end in _doubtful(sync_points):
        async with aclosing(others.spans(begin, end)) as spans:
            async for offsets in spans:
                return offsets[0]
    return others.end


def _doubtful(sync_points: Sequence[SyncPoint]) -> Iterator[tuple[int, int | None]]:
    """Yield the ranges in which records of others may be, in order; None: up to the log's end."""
    if not sync_points:
        yield 0, None
        return
    first, last = sync_points[0], sync_points[-1]
    if first.target:
        yield 0, first.target
    for low, high in pairwise(sync_points):
        if high.target - low.target != high.records - low.records:
            yield low.target, high.target
    yield last.target, None
