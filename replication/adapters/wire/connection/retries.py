"""Which errors of coordinators and leaders pass, and the pauses between attempts of a request.

Batches are sent again by ``replication.copier.produce.sender``, with pauses of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COORDINATOR_MOVED = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
TRY_AGAIN = COORDINATOR_MOVED | {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.OFFSET_NOT_AVAILABLE,
}


async def attempts() -> AsyncIterator[int]:
    """Yield attempt numbers with growing pauses between: 20 ms, doubling to 1 s, 15 s in all."""
    pause, deadline = 0.02, time.monotonic() + 15
    for number in itertools.count():
        yield number
        if time.monotonic() > deadline:
            return
        await asyncio.sleep(pause)
        pause = min(pause * 2, 1.0)
