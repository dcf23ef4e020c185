"""End offset of a partition, confirmed by a second request when it is lower than expected.

A new leader may not know yet how far its log is readable, and a response may be stale. Trusted too
soon, it would look as if records were lost, at the source or on the target.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from replication.model import LATEST_TIMESTAMP

if TYPE_CHECKING:
    from replication.client.network import Network
    from replication.model import TopicPartition

_REQUESTS = 3
_PAUSE_S = 0.1


async def confirmed_end(network: Network, partition: TopicPartition, known: int) -> int:
    """Return the end offset of ``partition``; below ``known``, only if three responses agree.

    ``known`` is an end that it has had. Raises ClusterUnavailable or ClusterRejected.
    """
    end = await network.offset_at(partition, LATEST_TIMESTAMP)
    for _ in range(_REQUESTS - 1):
        if end >= known:
            break
        await asyncio.sleep(_PAUSE_S)
        await network.refresh([partition.topic])
        end = await network.offset_at(partition, LATEST_TIMESTAMP)
    return end
