"""A cluster's topics, configs and offsets, read and changed with confluent-kafka."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from replication.adapters.admin.checked_client import CheckedClient
from replication.adapters.admin.deletions import delete_groups, delete_topics
from replication.adapters.admin.end_offsets import end_offsets
from replication.adapters.admin.kafka_acls import create_acls, delete_acls, read_acls
from replication.adapters.admin.topic_descriptions import alterations, info, settings
from replication.client.admin import Absence, TopicInfo, set_on_topic
from replication.errors import ClusterRejected

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from replication.client.acl_values import Acl
    from replication.client.admin import ConfigValue
    from replication.client.cluster_ids import Verify
    from replication.model import TopicPartition

_PATIENCE = timedelta(seconds=10)
_AT_ONCE = 500  # topics a request: answers of a large cluster stay small


class KafkaAdmin:
    """Implements ``client.admin.ClusterAdmin``. ``client`` holds librdkafka's settings.

    Every call waits for its own answer, at most ``timeout``. Raises ClusterUnavailable or
    ClusterRejected, which name the cluster's address.

    ``verify``, ``reads_any`` and ``name`` are as for CheckedClient.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        timeout: timedelta = _PATIENCE,
        *,
        verify: Verify | None = None,
        reads_any: bool = False,
        name: str = "",
    ) -> None:
        self._checked = CheckedClient(
            client, timeout.total_seconds(), verify, reads_any=reads_any, name=name
        )

    def cluster_id(self) -> str:
        """Return the id of the cluster that answers, be it the right one or not."""
        return self._checked.cluster_id()

    def reconnect(self) -> None:
        """Forget the brokers that the client has learned: the next call asks the address."""
        self._checked.reconnect()

    def require_same(self) -> None:
        """Raise WrongCluster if the address leads to another cluster."""
        self._checked.require_same()

    def broker_count(self) -> int:
        """Return how many brokers are alive."""
        return len(self._checked.cluster("counting the brokers").brokers)

    def broker_default(self, name: str) -> str | None:
        """Return a broker's value of a setting; None when the credentials may not see it."""
        broker = min(self._checked.cluster("listing the brokers").brokers)
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        try:
            with self._checked.doing("reading a broker's settings") as client:
                answers = client.describe_configs(
                    [resource], request_timeout=self._checked.timeout_s
                )
                entry = self._checked.wait(answers[resource]).get(name)
        except ClusterRejected:
            return None
        return None if entry is None else entry.value

    def topic_names(self) -> set[str]:
        """Return the names of all topics: cheaper than all that is known of them."""
        with self._checked.doing("listing the topics") as client:
            return set(self._checked.metadata(client).topics)

    def topics(self, *, another_broker: bool = False) -> dict[str, TopicInfo]:
        """Return all topics that the credentials may see, internal ones too.

        The client chooses the broker; ``PlannedCluster`` obeys ``another_broker``.
        """
        found = self.look_up(self.topic_names())
        return {name: each for name, each in found.items() if isinstance(each, TopicInfo)}

    def look_up(self, topics: Iterable[str]) -> dict[str, TopicInfo | Absence]:
        """Return what the cluster says of each topic when it is asked by name."""
        found: dict[str, TopicInfo | Absence] = {}
        for names in _slices(topics):
            found.update(dict.fromkeys(names, Absence.DELETED))
            with self._checked.doing("describing topics") as client:
                answers = client.describe_topics(
                    TopicCollection(names), request_timeout=self._checked.timeout_s
                )
                for name, answer in self._checked.present(answers, denied=Absence.DENIED):
                    found[name] = answer if isinstance(answer, Absence) else info(answer)
        return found

    def topic_configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the configs that were set on each topic, of those as in ``topic_settings``."""
        return {topic: set_on_topic(found) for topic, found in self.topic_settings(topics).items()}

    def topic_settings(self, topics: Iterable[str]) -> dict[str, dict[str, ConfigValue]]:
        """Return what may be altered of each topic, nothing of one that our user may not see.

        A topic that is gone is left out.
        """
        found: dict[str, dict[str, ConfigValue]] = {}
        for names in _slices(topics):
            resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
            with self._checked.doing("reading topic configs") as client:
                answers = client.describe_configs(
                    resources, request_timeout=self._checked.timeout_s
                )
                for resource, entries in self._checked.present(answers, denied={}):
                    found[resource.name] = settings(entries.values())
        return found

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        """Create a topic unless it is there; a replication factor of -1 is the broker's default."""
        self._create(NewTopic(name, partitions, replication_factor, config=dict(configs)))

    def would_create(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        """Raise ClusterRejected if ``create_topic`` would be; create nothing."""
        new = NewTopic(name, partitions, replication_factor, config=dict(configs))
        self._create(new, validate_only=True)

    def _create(self, new: NewTopic, *, validate_only: bool = False) -> None:
        with self._checked.doing(f"creating topic {new.topic}", changes=True) as client:
            answers = client.create_topics(
                [new], request_timeout=self._checked.timeout_s, validate_only=validate_only
            )
            try:
                self._checked.wait(answers[new.topic])
            except KafkaException as error:  # another driver, or an operator, was faster
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def grow_topic(self, name: str, total: int) -> None:
        """Raise the partition count to ``total``."""
        with self._checked.doing(
            f"increasing topic {name} to {total} partitions", changes=True
        ) as client:
            answers = client.create_partitions(
                [NewPartitions(name, total)], request_timeout=self._checked.timeout_s
            )
            self._checked.wait(answers[name])

    def delete_topics(self, names: Collection[str]) -> None:
        """Delete topics; those that do not exist are passed over."""
        with self._checked.doing(
            f"deleting topics {', '.join(sorted(names))}", changes=True
        ) as client:
            delete_topics(client, names, self._checked.timeout_s)

    def delete_groups(self, names: Collection[str]) -> None:
        """Delete consumer groups; those that do not exist are passed over."""
        with self._checked.doing(
            f"deleting groups {', '.join(sorted(names))}", changes=True
        ) as client:
            delete_groups(client, names, self._checked.timeout_s)

    def alter_configs(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """Set configs, or unset those that are None; all or none. Others stay as they are."""
        resource = ConfigResource(
            ResourceType.TOPIC, topic, incremental_configs=alterations(changes)
        )
        with self._checked.doing(f"altering configs of topic {topic}", changes=True) as client:
            answers = client.incremental_alter_configs(
                [resource], request_timeout=self._checked.timeout_s
            )
            self._checked.wait(answers[resource])

    def acls(self, *, to_change: bool = False) -> frozenset[Acl]:
        """Return all ACLs, for a caller about ``to_change`` them. Raises ClusterRejected."""
        with self._checked.doing("reading ACLs") as client:
            look = partial(self._checked.cluster, "reading ACLs")
            return read_acls(client, self._checked.timeout_s, look, to_change=to_change)

    def create_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]:
        """Create ACLs; return which were rejected, and why."""
        with self._checked.doing("creating ACLs", changes=True) as client:
            return create_acls(client, acls, self._checked.timeout_s)

    def delete_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]:
        """Delete exactly these ACLs; return which were rejected, and why."""
        with self._checked.doing("deleting ACLs", changes=True) as client:
            return delete_acls(client, acls, self._checked.timeout_s)

    def end_offsets(
        self, partitions: Iterable[TopicPartition], *, undecided: bool = False
    ) -> dict[TopicPartition, int]:
        """Return the readable end (last stable offset) of each partition that has a leader.

        With ``undecided`` the high watermark: records of open transactions are before it.
        """
        return end_offsets(self._checked, partitions, undecided=undecided)


def _slices(names: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(names)
    while part := list(islice(rest, _AT_ONCE)):
        yield part
