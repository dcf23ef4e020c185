"""Interfaces to a cluster's topics, configs and ACLs and to Isthmus' state topics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from replication.client.acl_values import Acl
    from replication.model import TopicPartition
    from replication.settings.flow_settings import Flow
    from replication.state import Stored


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic as its cluster reports it."""

    name: str
    topic_id: str  # hex of its UUID
    partitions: int
    replicas: int = 0  # of the partition that has the fewest; 0: not reported


class SetBy(StrEnum):
    """Where the value of a topic's config comes from."""

    TOPIC = "topic"  # set on this topic
    BROKERS = "brokers"  # set for all topics while the brokers run
    FILE = "file"  # a broker's properties file
    DEFAULT = "default"  # built in


class Absence(StrEnum):
    """Why a cluster does not show a topic to our user."""

    DELETED = "deleted"  # it does not exist
    DENIED = "denied"  # our user may not describe it, whether it exists or not


class ConfigValue(NamedTuple):
    """A config value of a topic, and where it is set."""

    value: str
    set_by: SetBy


def set_on_topic(settings: Mapping[str, ConfigValue]) -> dict[str, str]:
    """Return the values that were set on the topic itself."""
    return {name: each.value for name, each in settings.items() if each.set_by is SetBy.TOPIC}


class ClusterAdmin(Protocol):
    """The cluster requests of planning and status; see adapters.admin.kafka_admin."""

    def cluster_id(self) -> str:
        """Return the cluster's own id."""

    def broker_count(self) -> int:
        """Return how many brokers are alive."""

    def broker_default(self, name: str) -> str | None:
        """Return a broker's value of a config; None when the credentials may not see it."""

    def topics(self, *, another_broker: bool = False) -> Mapping[str, TopicInfo]:
        """Return all topics that the credentials may see, internal ones too.

        A broker answers from its own copy of the metadata, which may be old or still empty;
        ``another_broker``: do not ask the one that answered last.
        """

    def look_up(self, topics: Iterable[str]) -> Mapping[str, TopicInfo | Absence]:
        """Return what the cluster says of each topic when it is asked by name."""

    def topic_settings(self, topics: Iterable[str]) -> Mapping[str, Mapping[str, ConfigValue]]:
        """Return all configs of each topic that may be altered and are no secrets.

        A topic that our user may not describe has none; one that does not exist is left out.
        """

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        """Create a topic unless it exists. Raises ClusterRejected."""

    def would_create(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        """Raise ClusterRejected if ``create_topic`` would; create nothing (validateOnly)."""

    def grow_topic(self, name: str, total: int) -> None:
        """Raise the partition count to ``total``."""

    def alter_configs(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """Set configs, or unset those that are None; all or none. Others stay as they are."""

    def acls(self, *, to_change: bool = False) -> Collection[Acl]:
        """Return all ACLs. Raises ClusterRejected when our user may not see, or change, them.

        Without an authorizer: raises NoAuthorizer if ``to_change``, else returns none.
        """

    def create_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]:
        """Create ACLs; return the rejected ones with the reason."""

    def delete_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]:
        """Delete exactly these ACLs; return the rejected ones with the reason."""

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the readable end (last stable offset) of each partition that has a leader."""


class Records(Protocol):
    """Isthmus' own topics on one cluster; see adapters.topics.state_store."""

    def read(self, topic: str) -> Mapping[bytes, Stored]:
        """Return the newest record of every key; empty when the topic does not exist."""

    def read_all(self, topics: Collection[str]) -> Iterable[Stored]:
        """Return the newest record of every key of several topics that exist."""

    def write(self, topic: str, *records: Stored) -> None:
        """Write in order and wait until it is acked."""

    def ensure_topics(self, source: str) -> None:
        """Create the state topics of the flows from ``source`` that do not exist yet.

        Raises ClusterRejected where an existing one would lose state (its cleanup.policy) or may
        not be created, ClusterUnavailable where the target does not answer.
        """


class Clients(Protocol):
    """The clients of a file's flows, created on first use."""

    def source(self, flow: Flow) -> ClusterAdmin: ...

    def target(self, flow: Flow) -> ClusterAdmin: ...

    def store(self, flow: Flow) -> Records: ...
