"""Run ``copier.takeover.fencing_probe`` on a flow's target, over connections of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from replication.adapters.wire import connect
from replication.copier.takeover.fencing_probe import missing_guarantees

if TYPE_CHECKING:
    from replication.settings.flow_settings import Flow


def probe_target(flow: Flow) -> str:
    """Return which guarantees that appends need the target lacks; see ``copier.takeover``."""
    return asyncio.run(_probe(flow))


async def _probe(flow: Flow) -> str:
    network = connect(flow.clients.target_producer, f"isthmus-{flow.name}-probe")
    try:
        return await missing_guarantees(network, f"isthmus.{flow.name}.probe")
    finally:
        await network.close()
