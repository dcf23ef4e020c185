"""Counts the members of a group of any protocol, Kafka Connect's worker groups included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from replication.adapters.wire.connections import COORDINATOR_MOVED, attempts
from replication.client.error_codes import ErrorCode
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from replication.adapters.wire.connections import BrokerConnections

_GROUP = 0  # key_type of FindCoordinator


async def members(
    connections: BrokerConnections,
    call: Callable[[int | None, Any, int], Awaitable[Any]],
    group: str,
) -> int:
    """Return the number of members. Raises ClusterRejected if our user may not describe it."""
    async for _ in attempts():
        request = FindCoordinatorRequest(key=group, key_type=_GROUP, coordinator_keys=[group])
        found = (await call(None, request, 4)).coordinators[0]
        error = found.error_code
        if not error:
            connections.brokers.setdefault(found.node_id, (found.host, found.port))
            request = DescribeGroupsRequest(groups=[group], include_authorized_operations=False)
            described = (await call(found.node_id, request, 5)).groups[0]
            error = described.error_code
            if error in {ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND}:
                return len(described.members)
        if error not in COORDINATOR_MOVED:
            raise ClusterRejected(f"describing group {group}: error {error}")
    raise ClusterUnavailable(f"describing group {group}: its coordinator is not ready")
