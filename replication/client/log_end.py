"""An end offset that is too low is asked for again before it is believed.

A leader that is new may not know yet how far its log is readable, and an answer may be a stale
one. Believed too soon it would look as if records were gone, on either side.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from replication.model import LATEST_TIMESTAMP

if TYPE_CHECKING:
    from replication.client.network import Network
    from replication.model import TopicPartition

_TIMES = 3
_PAUSE_S = 0.1


async def believed_end(network: Network, partition: TopicPartition, known: int) -> int:
    """Return the end of ``partition``; below ``known``, only if three answers say so.

    ``known`` is an end that it has had. Raises ClusterUnavailable or ClusterRejected.
    """
    end = await network.offset_at(partition, LATEST_TIMESTAMP)
    for _ in range(_TIMES - 1):
        if end >= known:
            break
        await asyncio.sleep(_PAUSE_S)
        await network.refresh([partition.topic])
        end = await network.offset_at(partition, LATEST_TIMESTAMP)
    return end
