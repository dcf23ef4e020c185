"""Both ends of a flow, what a process has read of its anchors, and who may use them now."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.preferred_replicas import Replicas
from replication.client.state_log import StateLog
from replication.copier.takeover.takeover import Takeover
from replication.provenance.producer_registry import SourceRegistry
from replication.state import PRODUCERS_TOPIC, anchors_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.client.fetch_session import FetchSession
    from replication.client.network import Network
    from replication.copier.spec import UnitSpec
    from replication.model import TopicPartition

    Connect = Callable[[Mapping[str, str], str], Network]
    _Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Connections:
    """Both ends of a flow, and what this process has read of the flow's anchors so far."""

    source: Network
    target: Network
    takeover: Takeover
    registry: SourceRegistry  # of the producer ids that append to the source
    sessions: dict[tuple[int, bool], FetchSession] = field(default_factory=dict)  # by place
    replicas: Replicas = field(default_factory=Replicas)
    checked: set[TopicPartition] = field(default_factory=set)  # whose target end was looked at


def clusters(flow: str, source: Network, target: Network, source_alias: str) -> Connections:
    """Return both ends with nothing read yet."""
    anchors = StateLog(target, anchors_topic(source_alias))
    registry = StateLog(target, PRODUCERS_TOPIC)
    takeover = Takeover(flow, target, anchors, registry, source)
    return Connections(source, target, takeover, SourceRegistry(source))


@dataclass(slots=True)
class ConnectionPool:
    """The ends that a process has open. Each is used by one unit's group of one mode at a time.

    A connection answers in order, so two of them would wait for each other's long polls.
    """

    _free: dict[_Key, list[Connections]] = field(default_factory=lambda: defaultdict(list))

    def take(self, spec: UnitSpec, connect: Connect) -> Connections:
        """Return ends that nobody uses, as they were left, or new ones."""
        free = self._free[_key(spec)]
        if free:
            return free.pop()
        name = f"isthmus-{spec.flow}{'-txn' if spec.is_transactional else ''}"
        source, target = connect(spec.source, name), connect(spec.target, name)
        return clusters(spec.flow, source, target, spec.source_alias)

    def give_back(self, spec: UnitSpec, connections: Connections, *, well: bool) -> None:
        """Let others use ``connections``. Unless all is ``well``, what was read may be what went wrong."""
        if not well:
            connections = clusters(
                spec.flow, connections.source, connections.target, spec.source_alias
            )
        self._free[_key(spec)].append(connections)

    async def close(self) -> None:
        """Close the connections of all that nobody uses."""
        for free in self._free.values():
            for connections in free:
                await connections.source.close()
                await connections.target.close()
        self._free.clear()


def _key(spec: UnitSpec) -> _Key:
    source, target = (tuple(sorted(each.items())) for each in (spec.source, spec.target))
    return spec.flow, spec.is_transactional, source, target
