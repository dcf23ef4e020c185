"""Asks a cluster by librdkafka's admin client, and checks what it answers.

Each call waits for its own answer, for a limited time; the client's errors become ours; and no
answer of another cluster than the right one is used.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from replication.adapters.admin.first_login import require_login
from replication.adapters.admin.kafka_errors import NO_BROKER, ReportedErrors, our_errors, quiet
from replication.adapters.admin.partition_leaders import PartitionLeaders
from replication.adapters.auth.client_settings import RenewedClient, explained
from replication.adapters.auth.reached_clusters import reached_by
from replication.errors import ClusterUnavailable, WrongCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from concurrent.futures import Future

    from confluent_kafka.admin import ClusterMetadata

    from replication.client.cluster_ids import Verify
    from replication.model import TopicPartition

Answer = TypeVar("Answer")
_NOTICE_S = 2.0  # after which a call that is not answered looks whether the login is refused
# A topic may go, or have no leader for a while, between our question and the answer.
_ABSENT = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._NOENT,  # none of the requested partitions has a leader
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        # Client and broker know of different leaders: the client keeps a stale one for minutes, and
        # a broker hears that it leads a moment after others list it.
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    }
)


class CheckedClient:
    """An admin client that is made on first use; ``settings`` are librdkafka's.

    ``verify`` raises WrongCluster for the id of another cluster. It is called after each answer,
    before anybody uses it, and before each change; with ``reads_any`` only before changes. (Brokers
    of two clusters behind the addresses of one, at the same time, are not noticed: the client tells
    not which of them has answered.) Errors show ``name``, the cluster's in the file, if it is
    given, beside the address.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        timeout_s: float,
        verify: Verify | None,
        *,
        reads_any: bool,
        name: str = "",
    ) -> None:
        address = settings["bootstrap.servers"]
        self.address = f"{name} ({address})" if name else address
        self.timeout_s = timeout_s
        self._settings = settings
        self._verify = verify
        self._reads_any = reads_any
        self._visible_topic = ""  # that ``cluster`` names; empty: none is known
        self._complaints = ReportedErrors()
        self._clients = RenewedClient(settings, self._connected, is_refused=self._complaints.refuse)
        # By client: what a former one learns late is not known to its successor.
        self._leaders: WeakKeyDictionary[AdminClient, PartitionLeaders] = WeakKeyDictionary()

    def _connected(self, client: Mapping[str, Any]) -> AdminClient:
        require_login(self._settings)
        # Else a question about a topic that is not there would make the broker create it.
        made = AdminClient({**quiet(client, self._complaints), "allow.auto.create.topics": False})
        self._leaders[made] = PartitionLeaders()
        return made

    def cluster_id(self) -> str:
        """Return the id of the cluster that answers, be it the right one or not."""
        cluster_id = str(self.cluster("reading the cluster id").cluster_id)
        if self._verify is not None:
            try:
                self._verify(cluster_id)
            except WrongCluster:  # it knows the other cluster's brokers, and asks them for ever
                self.reconnect()
        return cluster_id

    def reconnect(self) -> None:
        """Forget the brokers that the client has learned: the next call asks the address."""
        self._clients.close()

    def require_same(self) -> None:
        """Raise WrongCluster if the address leads to another cluster."""
        if self._verify is not None:
            self._verify(self.cluster_id())

    def cluster(self, doing: str) -> ClusterMetadata:
        """Return what the cluster says of itself, be it the right one or not.

        Raises ClusterUnavailable where it lists no broker that is alive. librdkafka (2.16) ends
        the process where DescribeCluster is answered so, as by a broker that has just started; a
        metadata request that names a topic, or asks for all, tells the same (decision 0033).
        """
        with self._asking(doing) as client:
            found = self.metadata(client, *filter(None, [self._visible_topic]))
            self._leaders[client].learn(found, found.topics)  # the client knows no other ones now
        if not found.brokers:
            raise ClusterUnavailable(f"{doing} at {self.address}: {NO_BROKER}")
        reached_by(self._settings).learn(str(found.cluster_id))
        return found

    @contextmanager
    def doing(self, doing: str, *, changes: bool = False) -> Iterator[AdminClient]:
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

        def reported_errors() -> ReportedErrors:
            if client is not None:
                client.poll(0)  # this is what calls error_cb
            return self._complaints

        refusals, errors = self._clients.ended_by_refusal(), explained(self._settings)
        with errors, refusals, our_errors(f"{doing} at {self.address}", reported_errors):
            client = self._clients.get()
            yield client
        self._complaints.forget()  # it answers again: old complaints explain nothing

    def wait(self, answer: Future[Answer]) -> Answer:
        """Return the answer of a call, or raise its error."""
        limit_s = self.timeout_s + 1  # the client's own limit comes first
        error = self._unless_refused(answer.exception, limit_s, TimeoutError)
        if isinstance(error, KafkaException):
            # Raised itself it would hold the future, which holds it: the client would live on.
            raise KafkaException(*error.args)
        return answer.result()

    def metadata(self, client: AdminClient, *topic: str) -> ClusterMetadata:
        """Return the cluster's metadata, of one topic or of all; the client keeps it."""
        found = self._unless_refused(
            lambda limit_s: client.list_topics(*topic, timeout=limit_s),
            self.timeout_s,
            KafkaException,
        )
        self._note_visible(found)
        return found

    def _note_visible(self, found: ClusterMetadata) -> None:
        """Know a topic that our user may see: brokers log each request for any other one."""
        named = found.topics.get(self._visible_topic)
        if named is None or named.error is not None:
            visible = [name for name, each in found.topics.items() if each.error is None]
            otherwise = self._visible_topic if named is None else ""
            smallest = min(visible, key=lambda e: len(found.topics[e].partitions), default="")
            self._visible_topic = smallest or otherwise

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

    def present(
        self, answers: Mapping[Any, Future[Answer]], denied: Answer | None = None
    ) -> Iterator[tuple[Any, Answer]]:
        """Yield the answers, without those that say that the thing is not there (any more).

        ``denied``: the answer for a topic that our user may not describe; None: it is an error.
        """
        for about, future in answers.items():
            try:
                yield about, self.wait(future)
            except KafkaException as error:
                code = error.args[0].code()
                if code == KafkaError.TOPIC_AUTHORIZATION_FAILED and denied is not None:
                    yield about, denied
                elif code not in _ABSENT:
                    raise

    def led(
        self, client: AdminClient, partitions: Collection[TopicPartition], *, anew: bool = False
    ) -> list[TopicPartition]:
        """Return the partitions that have a leader; ``anew``: what is known of it was wrong."""
        return self._leaders[client].of(partitions, partial(self.metadata, client), anew=anew)
