"""Ask a flow's target whether it fences, over connections of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from replication.adapters.wire import connect
from replication.copier.takeover.fencing_probe import missing_guarantees

if TYPE_CHECKING:
    from replication.settings.sections import Flow


def ask_target(flow: Flow) -> str:
    """Return the missing guarantee, or empty; see copier.takeover.fencing_probe."""
    return asyncio.run(_ask(flow))


async def _ask(flow: Flow) -> str:
    network = connect(flow.clients.target_producer, f"isthmus-{flow.name}-probe")
    try:
        return await missing_guarantees(network, f"isthmus.{flow.name}.probe")
    finally:
        await network.close()
