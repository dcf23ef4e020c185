"""A cluster's topics, configs and offsets, read and changed with confluent-kafka."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from replication.adapters.admin.deletions import delete_groups, delete_topics
from replication.adapters.admin.first_login import require_login
from replication.adapters.admin.kafka_acls import create_acls, delete_acls, read_acls
from replication.adapters.admin.kafka_errors import ReportedErrors, our_errors, quiet
from replication.adapters.admin.topic_descriptions import alterations, info, settings
from replication.adapters.auth.client_settings import RenewedClient, explained
from replication.adapters.auth.reached_clusters import reached_by
from replication.client.admin import Absence, TopicInfo, set_on_topic
from replication.errors import ClusterRejected, WrongCluster
from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from concurrent.futures import Future

    from confluent_kafka.admin import ClusterMetadata, DescribeClusterResult

    from replication.client.acl_values import Acl
    from replication.client.admin import ConfigValue
    from replication.client.cluster_ids import Verify

Answer = TypeVar("Answer")
_PATIENCE = timedelta(seconds=10)
_NOTICE_S = 2.0  # after which a call that is not answered looks whether the login is refused
_AT_ONCE = 500  # topics a request: answers of a large cluster stay small
# A topic may go, or have no leader for a while, between our question and the answer.
# The client's metadata of leaders is stale, and it does not refresh it by itself for minutes.
_STALE = frozenset({KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH})
_ABSENT = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._NOENT,  # none of the requested partitions has a leader
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
    }
)


class KafkaAdmin:
    """Implements ``client.admin.Cluster``. ``client`` holds librdkafka's settings.

    Every call waits for its own answer, at most ``timeout``. Raises ClusterUnavailable or
    ClusterRejected, which name the cluster's address.

    ``verify`` raises WrongCluster for the id of another cluster. It is called after each answer,
    before anybody uses it, and before each change; with ``reads_any`` only before changes. (Brokers
    of two clusters behind the addresses of one, at the same time, are not noticed: the client tells
    not which of them has answered.)
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        timeout: timedelta = _PATIENCE,
        *,
        verify: Verify | None = None,
        reads_any: bool = False,
    ) -> None:
        self._settings = client
        self._verify = verify
        self._reads_any = reads_any
        self._address = client["bootstrap.servers"]
        self._timeout_s = timeout.total_seconds()
        self._complaints = ReportedErrors()
        self._clients = RenewedClient(client, self._connected, is_refused=self._complaints.refuse)
        self._informed = False  # the client knows a topic

    def _connected(self, client: Mapping[str, Any]) -> AdminClient:
        require_login(self._settings)
        self._informed = False
        # Else a question about a topic that is not there would make the broker create it.
        return AdminClient({**quiet(client, self._complaints), "allow.auto.create.topics": False})

    def cluster_id(self) -> str:
        """Return the id of the cluster that answers, be it the right one or not."""
        heard = str(self._cluster("reading the cluster id").cluster_id)
        if self._verify is not None:
            try:
                self._verify(heard)
            except WrongCluster:  # it knows the other cluster's brokers, and asks them for ever
                self.reconnect()
        return heard

    def reconnect(self) -> None:
        """Forget the brokers that the client has learned: the next call asks the address."""
        self._clients.close()

    def require_same(self) -> None:
        """Raise WrongCluster if the address leads to another cluster."""
        if self._verify is not None:
            self._verify(self.cluster_id())

    def broker_count(self) -> int:
        """Return how many brokers are alive."""
        return len(self._cluster("counting the brokers").nodes)

    def broker_default(self, name: str) -> str | None:
        """Return a broker's value of a setting; None when the credentials may not see it."""
        broker = min(each.id for each in self._cluster("listing the brokers").nodes)
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        try:
            with self._doing("reading a broker's settings") as client:
                answers = client.describe_configs([resource], request_timeout=self._timeout_s)
                entry = self._wait(answers[resource]).get(name)
        except ClusterRejected:
            return None
        return None if entry is None else entry.value

    def topic_names(self) -> set[str]:
        """Return the names of all topics: cheaper than all that is known of them."""
        with self._doing("listing the topics") as client:
            return set(self._metadata(client).topics)

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
            with self._doing("describing topics") as client:
                answers = client.describe_topics(
                    TopicCollection(names), request_timeout=self._timeout_s
                )
                for name, answer in self._present(answers, denied=Absence.DENIED):
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
            with self._doing("reading topic configs") as client:
                answers = client.describe_configs(resources, request_timeout=self._timeout_s)
                for resource, entries in self._present(answers, denied={}):
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
        with self._doing(f"creating topic {new.topic}", changes=True) as client:
            answers = client.create_topics(
                [new], request_timeout=self._timeout_s, validate_only=validate_only
            )
            try:
                self._wait(answers[new.topic])
            except KafkaException as error:  # another driver, or an operator, was faster
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def grow_topic(self, name: str, total: int) -> None:
        """Raise the partition count to ``total``."""
        with self._doing(f"increasing topic {name} to {total} partitions", changes=True) as client:
            answers = client.create_partitions(
                [NewPartitions(name, total)], request_timeout=self._timeout_s
            )
            self._wait(answers[name])

    def delete_topics(self, names: Collection[str]) -> None:
        """Delete topics; those that do not exist are passed over."""
        with self._doing(f"deleting topics {', '.join(sorted(names))}", changes=True) as client:
            delete_topics(client, names, self._timeout_s)

    def delete_groups(self, names: Collection[str]) -> None:
        """Delete consumer groups; those that do not exist are passed over."""
        with self._doing(f"deleting groups {', '.join(sorted(names))}", changes=True) as client:
            delete_groups(client, names, self._timeout_s)

    def alter_configs(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """Set configs, or unset those that are None; all or none. Others stay as they are."""
        resource = ConfigResource(
            ResourceType.TOPIC, topic, incremental_configs=alterations(changes)
        )
        with self._doing(f"altering configs of topic {topic}", changes=True) as client:
            answers = client.incremental_alter_configs([resource], request_timeout=self._timeout_s)
            self._wait(answers[resource])

    def acls(self, *, to_change: bool = False) -> frozenset[Acl]:
        """Return all ACLs, for a caller about ``to_change`` them. Raises ClusterRejected."""
        with self._doing("reading ACLs") as client:
            return read_acls(client, self._timeout_s, to_change=to_change)

    def create_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]:
        """Create ACLs; return which were rejected, and why."""
        with self._doing("creating ACLs", changes=True) as client:
            return create_acls(client, acls, self._timeout_s)

    def delete_acls(self, acls: Iterable[Acl]) -> Mapping[Acl, str]:
        """Delete exactly these ACLs; return which were rejected, and why."""
        with self._doing("deleting ACLs", changes=True) as client:
            return delete_acls(client, acls, self._timeout_s)

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the readable end (last stable offset) of each partition that has a leader.

        Once the client has seen a partition without a leader it keeps to that for minutes, so
        a missing one makes it refresh its metadata.
        """
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call] # missing in the stubs
        specs = {ClientPartition(*each): latest for each in partitions}
        if not specs:
            return {}
        with self._doing("reading end offsets") as client:
            self._await_metadata(client, next(iter(specs)).topic)
            try:
                found = self._list_offsets(client, specs)
            except KafkaException as error:
                if error.args[0].code() not in _STALE:
                    raise
                found = {}
            if len(found) < len(specs):
                self._metadata(client)  # renews what it knows
                found = self._list_offsets(client, specs)
            return found

    def _await_metadata(self, client: AdminClient, topic: str) -> None:
        """Wait until the client knows a topic, once.

        Else it searches for the leaders, and a search that comes while it changes from the
        bootstrap connection to the broker's own is lost and repeated 3 s later (librdkafka 2.16).
        """
        if not self._informed:
            self._metadata(client, topic)
            self._informed = True

    def _list_offsets(
        self, client: AdminClient, specs: dict[ClientPartition, OffsetSpec]
    ) -> dict[TopicPartition, int]:
        answers = client.list_offsets(
            specs,
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=self._timeout_s,
        )
        return {
            TopicPartition(each.topic, each.partition): answer.offset
            for each, answer in self._present(answers)
        }

    def _cluster(self, doing: str) -> DescribeClusterResult:
        with self._asking(doing) as client:
            answers: Future[DescribeClusterResult] = client.describe_cluster(
                request_timeout=self._timeout_s
            )
            found = self._wait(answers)
        reached_by(self._settings).heard(str(found.cluster_id))
        return found

    @contextmanager
    def _doing(self, doing: str, *, changes: bool = False) -> Iterator[AdminClient]:
        """Ask, and use no answer of another cluster; if it ``changes`` one, look before."""
        if changes:
            self.require_same()
        with self._asking(doing) as client:
            yield client
        if not (changes or self._reads_any):
            self.require_same()

    @contextmanager
    def _asking(self, doing: str) -> Iterator[AdminClient]:
        client: AdminClient | None = None

        def heard() -> ReportedErrors:
            if client is not None:
                client.poll(0)  # this is what calls error_cb
            return self._complaints

        refusals, errors = self._clients.ended_by_refusal(), explained(self._settings)
        with errors, refusals, our_errors(f"{doing} at {self._address}", heard):
            client = self._clients.get()
            yield client
        self._complaints.forget()  # it answers again: old complaints explain nothing

    def _wait(self, answer: Future[Answer]) -> Answer:
        limit_s = self._timeout_s + 1  # the client's own limit comes first
        error = self._unless_refused(answer.exception, limit_s, TimeoutError)
        if isinstance(error, KafkaException):
            # Raised itself it would hold the future, which holds it: the client would live on.
            raise KafkaException(*error.args)
        return answer.result()

    def _metadata(self, client: AdminClient, *topic: str) -> ClusterMetadata:
        return self._unless_refused(
            lambda limit_s: client.list_topics(*topic, timeout=limit_s),
            self._timeout_s,
            KafkaException,
        )

    def _unless_refused(
        self, ask: Callable[[float], Answer], limit_s: float, unanswered: type[Exception]
    ) -> Answer:
        """Return what ``ask`` returns within so many seconds; once it is asked a second time.

        Between that it raises TimeoutError where the login is refused meanwhile: the client would
        go on for all of the time, and try again at each broker every second.
        """
        first_s = min(_NOTICE_S, limit_s)
        try:
            return ask(first_s)
        except unanswered:
            client = self._clients.made
            if client is not None and self._complaints.refuse(client):
                raise TimeoutError from None
            if first_s == limit_s:
                raise
        return ask(limit_s - first_s)

    def _present(
        self, answers: Mapping[Any, Future[Answer]], denied: Answer | None = None
    ) -> Iterator[tuple[Any, Answer]]:
        """Yield the answers, without those that say that the thing is not there (any more).

        ``denied``: the answer for a topic that our user may not describe; None: it is an error.
        """
        for about, future in answers.items():
            try:
                yield about, self._wait(future)
            except KafkaException as error:
                code = error.args[0].code()
                if code == KafkaError.TOPIC_AUTHORIZATION_FAILED and denied is not None:
                    yield about, denied
                elif code not in _ABSENT:
                    raise


def _slices(names: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(names)
    while part := list(islice(rest, _AT_ONCE)):
        yield part
