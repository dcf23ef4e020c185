"""Read how many workers the group of a Kafka Connect cluster has."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from replication.adapters.wire import connect

if TYPE_CHECKING:
    from collections.abc import Mapping


def workers(properties: Mapping[str, str], group: str) -> int:
    """Return how many workers are in ``group``; ``properties`` are Java client properties.

    Raises ClusterUnavailable or ClusterRejected.
    """
    return asyncio.run(_members(properties, group))


async def _members(properties: Mapping[str, str], group: str) -> int:
    network = connect(properties, "isthmus")
    try:
        return await network.members(group)
    finally:
        await network.close()
