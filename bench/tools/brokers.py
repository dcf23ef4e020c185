"""The two clusters of the benchmark, and their admin calls."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tenacity
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bench.tools.tls import TlsCluster
from bench.tools.tool_config import SOURCE, TARGET
from chaos.proxy import Proxy
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.local_network import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_HEAP = "1g"
_HOST = "127.0.0.1"
_PASSING = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)


def _is_passing(error: BaseException) -> bool:
    """Return whether a retry helps; a new partition has no leader yet."""
    return isinstance(error, KafkaException) and error.args[0].code() in _PASSING


@dataclass(frozen=True, slots=True)
class Brokers:
    """Source and target, a broker each; ``_proxies`` stand before their second listeners.

    ``security``: lines of a tool's file with which it comes over TLS; none: in plain text.
    """

    source: str
    target: str
    _admins: tuple[AdminClient, AdminClient]
    _proxies: tuple[Proxy, Proxy]
    security: Mapping[str, str]
    _target: LocalCluster

    @contextlib.contextmanager
    def target_stopped(self) -> Iterator[Path]:
        """Stop the target's broker for a while; yield the directory of its logs."""
        self._target.stop(grace_s=60)
        yield self._target.home / "broker-1" / "data"
        self._target.start()

    @contextlib.contextmanager
    def far(self, one_way_s: float) -> Iterator[tuple[str, str]]:
        """Yield addresses of source and target with that latency."""
        for each in self._proxies:
            each.weather.delay_s = one_way_s
        source, target = (f"{host}:{port}" for host, port in (p.address for p in self._proxies))
        yield source, target

    def create(self, topics: Iterable[str], partitions: int) -> None:
        """Create topics on the source."""
        topics_to_create = [NewTopic(topic, partitions, 1) for topic in topics]
        for answer in self._admins[0].create_topics(topics_to_create).values():
            answer.result(30)

    def delete(self, prefix: str) -> None:
        """Delete the topics with a name that holds ``prefix``, on both sides."""
        for admin in self._admins:
            if found := [name for name in admin.list_topics(timeout=30).topics if prefix in name]:
                for answer in admin.delete_topics(found).values():
                    with contextlib.suppress(KafkaException):  # a tool may have been faster
                        answer.result(30)

    def has_copy(self, topic: str) -> bool:
        """Return whether the target has the topic."""
        return topic in self._admins[1].list_topics(timeout=30).topics

    @tenacity.retry(
        retry=tenacity.retry_if_exception(_is_passing),
        wait=tenacity.wait_fixed(0.05),
        stop=tenacity.stop_after_delay(30),
        reraise=True,
    )
    def copied(self, topic: str, partitions: int) -> int:
        """Return how many offsets the target's partitions hold in total."""
        end = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the client's own omission
        specs = {TopicPartition(topic, each): end for each in range(partitions)}
        # The client's own search for leaders may end the process: see docs/decisions/0032.
        self._admins[1].list_topics(topic, timeout=30)
        answers = self._admins[1].list_offsets(specs, request_timeout=10)
        return sum(answer.result(15).offset for answer in answers.values())


@contextlib.contextmanager
def running(directory: Path, *, quick: bool = False, tls: bool = False) -> Iterator[Brokers]:
    """Run two clusters; both are gone afterwards.

    With ``quick`` they start sooner and run slower: nothing may be measured. With ``tls`` tools
    come over TLS to both.
    """
    security: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        clusters, proxies = [], []
        for name, outside in zip((SOURCE, TARGET), free_ports(2), strict=True):
            proxy = Proxy((_HOST, outside))
            stack.callback(proxy.close)
            front = (outside, proxy.address[1])
            kind = TlsCluster if tls else LocalCluster
            cluster = kind(name, directory, heap=_HEAP, quick=quick, fronts=(front,))
            stack.callback(cluster.destroy)
            cluster.start()
            if isinstance(cluster, TlsCluster):
                security |= cluster.settings(name)
            proxies.append(proxy)
            clusters.append(cluster)
        source, target = (each.bootstrap_servers for each in clusters)
        admins = (_admin(source), _admin(target))
        yield Brokers(source, target, admins, (proxies[0], proxies[1]), security, clusters[1])


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
