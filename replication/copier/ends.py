"""Both ends of a flow, and what a process has read of its anchors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.logs import StateLog
from replication.copier.registry import SourceRegistry
from replication.copier.replicas import Replicas
from replication.copier.takeover import Takeover
from replication.state import PRODUCERS_TOPIC, anchors_topic

if TYPE_CHECKING:
    from replication.copier.network import Network
    from replication.copier.session import FetchSession
    from replication.model import TopicPartition


@dataclass(frozen=True, slots=True)
class Clusters:
    """Both ends of a flow, and what this process has read of the flow's anchors so far."""

    source: Network
    target: Network
    takeover: Takeover
    registry: SourceRegistry  # of the producer ids that append to the source
    sessions: dict[tuple[int, bool], FetchSession] = field(default_factory=dict)  # by place
    replicas: Replicas = field(default_factory=Replicas)
    checked: set[TopicPartition] = field(default_factory=set)  # whose target end was looked at


def clusters(flow: str, source: Network, target: Network, source_alias: str) -> Clusters:
    """Return both ends with nothing read yet."""
    anchors = StateLog(target, anchors_topic(source_alias))
    registry = StateLog(target, PRODUCERS_TOPIC)
    takeover = Takeover(flow, target, anchors, registry)
    return Clusters(source, target, takeover, SourceRegistry(source))
