"""What a look asks: state topics of a target, end offsets of a source, processes of this host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.client.admin import Absence, TopicInfo
    from replication.model import TopicPartition
    from replication.settings.flow_settings import Flow
    from replication.state import ClusterIds, Stored
    from replication.supervision.driver_supervision import Application


class ObservedStore(Protocol):
    """Isthmus' own topics on a target; see ``adapters.topics.state_store``."""

    def read(self, topic: str, kind: type[Stored] | None = None) -> Mapping[bytes, Stored]:
        """Return the newest record of every key, of one ``kind`` if that is given.

        Raises ClusterUnavailable.
        """

    def write(self, topic: str, *records: Stored) -> None:
        """Write the records and wait until they are acked. Raises ClusterUnavailable."""

    def ensure_topics(self, source: str) -> None:
        """Create the topics of the flows from ``source`` if they are not there."""

    def cluster_id(self) -> str:
        """Return the id of the cluster that answers."""

    def reconnect(self) -> None:
        """Forget the brokers that it has learned: they are another cluster's."""


class Ends(Protocol):
    """End offsets of a source; see ``adapters.admin.kafka_admin``."""

    def cluster_id(self) -> str:
        """Return the id of the cluster that answers."""

    def reconnect(self) -> None:
        """Forget the brokers that it has learned: they are another cluster's."""

    def look_up(self, topics: Iterable[str]) -> Mapping[str, TopicInfo | Absence]:
        """Return what the cluster says of each topic when it is asked by name."""

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the readable end of each partition that has a leader."""


class ClusterClients(Protocol):
    """Clients of a flow's two clusters."""

    def store(self, flow: Flow) -> ObservedStore: ...

    def source(self, flow: Flow) -> Ends: ...


class Processes(Protocol):
    """The local processes of an application; see orchestration.services.launcher."""

    def watcher_alive(self, app: Application) -> bool: ...

    def driver_alive(self, app: Application) -> bool: ...

    def stopped_ms(self, app: Application) -> int: ...

    def cluster_ids(self, app: Application, flow: Flow) -> ClusterIds: ...
