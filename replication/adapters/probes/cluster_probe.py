"""Asks a cluster for its disks, quotas, clock and record times, and for our rights."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from kafka.protocol.broker_version_data import infer_broker_version_from_api_versions

from replication.adapters.auth.client_config import to_kafka_python
from replication.adapters.probes import probe_requests
from replication.adapters.wire.connection.broker_address import address
from replication.adapters.wire.connection.connections import BrokerConnections
from replication.adapters.wire.coordinator_search import (
    FIND_COORDINATOR,
    CoordinatorType,
    find_coordinators,
)
from replication.client.acl_values import CLUSTER, GROUP, TOPIC
from replication.client.cluster_facts import (
    ClusterFacts,
    GrantedOperations,
    LogDir,
    Quota,
    RecordTimes,
)
from replication.client.error_codes import ErrorCode, named_error
from replication.errors import ClusterRejected, ReplicationError
from replication.model import MAX_TIMESTAMP, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence

    from replication.client.acl_values import Resource

_METADATA, _CLUSTER, _LOG_DIRS, _QUOTAS, _QUORUM = 12, 1, 4, 1, 1  # highest versions
_GROUPS, _OFFSETS = 5, 7
_AT_ONCE = 500  # topics a request: responses stay small
_COORDINATION = {  # the topics of coordinators
    CoordinatorType.GROUP: "__consumer_offsets",
    CoordinatorType.TRANSACTION: "__transaction_state",
}
_NONE: frozenset[str] = frozenset()


class ClusterProbe:
    """A cluster that is asked a few times; ``properties`` are Java client properties.

    Use it as a context manager. Raises ClusterUnavailable or ClusterRejected.
    """

    def __init__(self, properties: Mapping[str, str], client_id: str = "isthmus-doctor") -> None:
        config = to_kafka_python(properties)
        self._connections = BrokerConnections(config["bootstrap_servers"], config, client_id)
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._connections.close())
        self._loop.close()

    def facts(self) -> ClusterFacts:
        """Return what the cluster says of itself."""
        return self._loop.run_until_complete(self._facts())

    def overview(self) -> ClusterFacts:
        """Return what ``facts`` does, without disks and quotas: two requests."""
        return self._loop.run_until_complete(self._overview())

    def log_dirs(self) -> tuple[LogDir, ...]:
        """Return the log directories of all brokers."""
        return self._loop.run_until_complete(self._all_log_dirs())

    def grants(self, resources: Iterable[Resource]) -> tuple[GrantedOperations, ...]:
        """Return what our user may do with these resources, all of them literal names."""
        return self._loop.run_until_complete(self._grants(tuple(dict.fromkeys(resources))))

    def times(self, topics: Iterable[str]) -> dict[TopicPartition, RecordTimes]:
        """Return the times of the oldest and the newest record of each partition of ``topics``."""
        return self._loop.run_until_complete(self._times(tuple(topics)))

    # -- the cluster -------------------------------------------------------------------------

    async def _facts(self) -> ClusterFacts:
        found = await self._overview()
        unknown = dict(found.unknown)
        return replace(
            found,
            log_dirs=await _answer_or_unknown("disks", self._log_dirs(found.brokers), (), unknown),
            quotas=await _answer_or_unknown("quotas", self._quotas(), (), unknown),
            unknown=unknown,
        )

    async def _overview(self) -> ClusterFacts:
        answer = await self._metadata(())
        brokers = {each.node_id: (each.host, each.port) for each in answer.brokers}
        unknown: dict[str, str] = {}
        leader, ahead_ms = await _answer_or_unknown("clock", self._clock(), (None, None), unknown)
        channel = await self._connections.any_channel()
        versions = {key: tuple(each) for key, each in channel.connection.versions.items()}
        return ClusterFacts(
            str(answer.cluster_id),
            {node: address(*where) for node, where in sorted(brokers.items())},
            clock_ahead_ms=ahead_ms,
            unknown=unknown,
            controller=leader,
            version=tuple(infer_broker_version_from_api_versions(versions)),
        )

    async def _all_log_dirs(self) -> tuple[LogDir, ...]:
        return await self._log_dirs(each.node_id for each in (await self._metadata(())).brokers)

    async def _log_dirs(self, brokers: Iterable[int]) -> tuple[LogDir, ...]:
        found: list[LogDir] = []
        for node in sorted(brokers):
            answer = await self._ask(probe_requests.log_dirs(), _LOG_DIRS, node)
            _raise(answer.error_code, "reading log directories needs DESCRIBE on the cluster")
            found += probe_requests.read_log_dirs(node, answer)
        if not found:  # how brokers before 3.2 refuse it
            raise ClusterRejected("reading log directories needs DESCRIBE on the cluster")
        return tuple(found)

    async def _quotas(self) -> tuple[Quota, ...]:
        answer = await self._ask(probe_requests.quotas(), _QUOTAS)
        _raise(answer.error_code, "reading quotas needs DESCRIBE_CONFIGS on the cluster")
        return tuple(probe_requests.read_quotas(answer))

    async def _clock(self) -> tuple[int | None, int | None]:
        """Return the leading controller, and how far its clock is ahead of ours in ms."""
        began = time.time()
        answer = await self._ask(probe_requests.quorum(), _QUORUM)
        middle_ms = int((began + time.time()) * 500)
        _raise(answer.error_code, "reading the controller's clock needs DESCRIBE on the cluster")
        leader, theirs = probe_requests.read_leader(answer)
        return leader, None if theirs is None else theirs - middle_ms

    # -- rights ------------------------------------------------------------------------------

    async def _grants(self, resources: Sequence[Resource]) -> tuple[GrantedOperations, ...]:
        topics = [each for each in resources if each.kind == TOPIC]
        found: list[GrantedOperations] = []
        for some in _slices(topics):
            answer = await self._metadata([each.name for each in some])
            operations = {each.name: _allowed(each) for each in answer.topics}
            found += [GrantedOperations(each, operations.get(each.name)) for each in some]
        for each in resources:
            if each.kind == CLUSTER:
                found.append(GrantedOperations(each, await self._on_cluster()))
            elif each.kind != TOPIC:
                found.append(GrantedOperations(each, await self._on_coordinated(each)))
        return tuple(found)

    async def _on_cluster(self) -> frozenset[str] | None:
        answer = await self._ask(probe_requests.cluster(), _CLUSTER)
        if answer.error_code:
            return None
        return probe_requests.operations(answer.authorized_operations)

    async def _on_coordinated(self, resource: Resource) -> frozenset[str] | None:
        """Ask about a group, or whether a transactional id may be described, as WRITE implies.

        A broker does not tell whether a transactional id may be written.
        """
        is_group = resource.kind == GROUP
        kind = CoordinatorType.GROUP if is_group else CoordinatorType.TRANSACTION
        if not await self._has_coordinators(_COORDINATION[kind]):
            return None
        request = find_coordinators(kind, [resource.name])
        (found,) = (await self._ask(request, FIND_COORDINATOR)).coordinators
        if _is_denied(found.error_code):
            return _NONE
        if found.error_code:
            return None
        if not is_group:
            return frozenset({"DESCRIBE"})
        self._connections.brokers.setdefault(found.node_id, (found.host, found.port))
        answer = await self._ask(probe_requests.groups([resource.name]), _GROUPS, found.node_id)
        return _allowed(answer.groups[0])

    async def _has_coordinators(self, topic: str) -> bool:
        """Say whether the topic that coordinators need exists: a search for one would create it."""
        (found,) = (await self._metadata([topic])).topics
        return bool(found.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    # -- records -----------------------------------------------------------------------------

    async def _times(self, topics: Sequence[str]) -> dict[TopicPartition, RecordTimes]:
        leaders: dict[int, list[TopicPartition]] = defaultdict(list)
        for some in _slices(topics):
            answer = await self._metadata(some)
            for topic in answer.topics:
                for each in topic.partitions:
                    if each.leader_id >= 0:
                        part = TopicPartition(topic.name, each.partition_index)
                        leaders[each.leader_id].append(part)
        oldest = await self._timestamps(leaders, probe_requests.FIRST_TIMESTAMP)
        newest = await self._timestamps(leaders, MAX_TIMESTAMP)
        parts = (part for each in leaders.values() for part in each)
        return {each: RecordTimes(oldest.get(each), newest.get(each)) for each in parts}

    async def _timestamps(
        self, leaders: Mapping[int, Iterable[TopicPartition]], which: int
    ) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        for node, parts in leaders.items():
            by_topic: dict[str, list[int]] = defaultdict(list)
            for each in parts:
                by_topic[each.topic].append(each.partition)
            answer = await self._ask(probe_requests.times(by_topic, which), _OFFSETS, node)
            found |= {
                TopicPartition(topic.name, each.partition_index): int(each.timestamp)
                for topic in answer.topics
                for each in topic.partitions
                if not each.error_code and each.timestamp >= 0
            }
        return found

    async def _metadata(self, topics: Sequence[str]) -> Any:
        answer = await self._ask(probe_requests.metadata(topics), _METADATA)
        self._connections.learn({each.node_id: (each.host, each.port) for each in answer.brokers})
        return answer

    async def _ask(self, request: Any, highest: int, node: int | None = None) -> Any:
        channel = await (
            self._connections.any_channel()
            if node is None
            else self._connections.channel(node, "call")
        )
        return await self._connections.requests.call(channel, request, highest)


async def _answer_or_unknown(
    what: str, asked: Coroutine[Any, Any, Any], otherwise: Any, unknown: dict[str, str]
) -> Any:
    """Return an answer; ``otherwise`` where there is none, and note why not."""
    try:
        return await asked
    except ReplicationError as error:
        unknown[what] = str(error)
        return otherwise


def _raise(code: int, needs: str) -> None:
    if code:
        raise ClusterRejected(needs if _is_denied(code) else named_error(code))


def _is_denied(code: int) -> bool:
    return code in {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }


def _allowed(answer: Any) -> frozenset[str] | None:
    """Return the operations in an answer about a topic or a group."""
    if _is_denied(answer.error_code):
        return _NONE
    if answer.error_code:
        return None
    return probe_requests.operations(answer.authorized_operations)


def _slices(names: Sequence[Any]) -> Iterator[list[Any]]:
    rest = iter(names)
    while part := list(islice(rest, _AT_ONCE)):
        yield part
