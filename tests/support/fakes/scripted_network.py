"""A cluster whose responses a test writes: requests and responses go through their wire format."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse

from replication.adapters.wire.network import WireNetwork

_Coordinator = FindCoordinatorResponse.Coordinator


def coordinator(node: int, key: str = "t", error: int = 0) -> Any:
    """Return a response of FindCoordinator; the host is named after the node."""
    found = _Coordinator(
        key=key, node_id=node, host=f"b{node}", port=9092, error_code=error, error_message=""
    )
    return FindCoordinatorResponse(throttle_time_ms=0, coordinators=[found])


class ScriptedNetwork(WireNetwork):
    """``responses`` holds, by request, responses and errors in order: the last one is repeated.

    ``sent`` lists the node, or None for any, and the request as a broker decodes it.
    """

    def __init__(self) -> None:
        super().__init__({"bootstrap_servers": ["bootstrap:9092"]}, "test")
        self.responses: dict[type, list[Any]] = defaultdict(list)
        self.responses[FindCoordinatorRequest] = [coordinator(5)]
        self.sent: list[tuple[int | None, Any]] = []

    def requests(self, kind: type) -> list[Any]:
        return [request for _, request in self.sent if isinstance(request, kind)]

    def nodes(self, kind: type) -> list[int | None]:
        return [node for node, request in self.sent if isinstance(request, kind)]

    async def _call(self, node: int | None, request: Any, highest: int) -> Any:
        kind = type(request)
        self.sent.append((node, kind.decode(request.encode(version=highest), version=highest)))
        listed = self.responses[kind]
        response = listed.pop(0) if len(listed) > 1 else listed[0]
        if isinstance(response, Exception):
            raise response
        if callable(response):
            response = response(node, self.sent[-1][1])
        return type(response).decode(response.encode(version=highest), version=highest)


async def three_attempts():
    """Stand in for ``connections.attempts``: three, without pauses."""
    for number in range(3):
        yield number
