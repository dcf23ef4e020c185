"""Ask what the source holds, for lanes whose position it has refused: that answer does not say."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from replication.copier.disbelief import believed_end
from replication.copier.outcomes import Remedy, Trouble, out_of_range
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import EARLIEST_TIMESTAMP, OffsetAndEpoch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.copier.lane import Lane
    from replication.copier.network import Network

_LOCATE_S = 5.0


async def locate(source: Network, lanes: Iterable[Lane]) -> list[Trouble]:
    """Return what to make of each lane's position."""
    return await asyncio.gather(*(_located(source, each) for each in lanes))


async def _located(source: Network, lane: Lane) -> Trouble:
    try:
        async with asyncio.timeout(_LOCATE_S):
            end = await believed_end(source, lane.source, lane.position)
            start = await source.offset_at(lane.source, EARLIEST_TIMESTAMP)
    except (TimeoutError, ClusterUnavailable, ClusterRejected) as problem:
        return Trouble(Remedy.RETRY, str(problem) or "the source does not return its offset range")
    if start <= lane.position <= end:  # then what it could not find is our leader epoch
        lane.taken = OffsetAndEpoch(lane.position)
    return out_of_range(lane.position, start, end)
