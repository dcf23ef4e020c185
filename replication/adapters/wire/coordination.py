"""Requests to transaction coordinators: producer ids, adding partitions, ending transactions."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import DescribeTransactionsRequest, ListTransactionsRequest
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)

from replication.adapters.wire.connection.retries import COORDINATOR_MOVED, TRY_AGAIN, attempts
from replication.adapters.wire.coordinator_search import (
    FIND_COORDINATOR,
    CoordinatorType,
    find_coordinators,
)
from replication.client.error_codes import ErrorCode, named_error
from replication.client.network import Fenced, NotGranted
from replication.errors import ClusterRejected, ClusterUnavailable, ReplicationError
from replication.model import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerIdAndEpoch, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from replication.adapters.wire.connection.connections import BrokerConnections

    Call = Callable[[int | None, Any, int], Awaitable[Any]]  # node, request, highest version

_TRANSACTION_TIMEOUT_MS = 10_000
_FENCED = {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED}
_NOT_GRANTED = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
_PARTITION_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
}
_UNKNOWN_ID = {ErrorCode.TRANSACTIONAL_ID_NOT_FOUND}
_MARKER_PAUSE_S, _MARKER_TRIES = 0.002, 20  # until the last transaction's markers are written
_Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic


class Coordination:
    """The transaction coordinators of one cluster. ``call`` sends a request to a broker.

    In these versions a producer keeps its epoch from one transaction to the next, and brokers
    accept its plain appends in between; brokers with transaction.version 2 still support them.
    """

    def __init__(self, connections: BrokerConnections, call: Call) -> None:
        self._connections = connections
        self._call = call
        self._coordinators: dict[str, int] = {}

    async def init(self, transactional_id: str) -> ProducerIdAndEpoch:
        """Return the producer with a new epoch. Raises NotGranted where the target grants none."""
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
        )
        answer = await self._request(transactional_id, request, 4, lambda each: {each.error_code})
        return _granted(answer)

    async def current(self, transactional_id: str) -> ProducerIdAndEpoch | None:
        """Return the producer that holds the id; None: the id is not known, or not any more."""
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        answer = await self._request(
            transactional_id,
            request,
            0,
            lambda each: {e.error_code for e in each.transaction_states} - _UNKNOWN_ID,
        )
        found = next(iter(answer.transaction_states), None)
        if found is None:
            raise ClusterUnavailable(f"describing {transactional_id}: the response is empty")
        if found.error_code:
            return None
        return ProducerIdAndEpoch(int(found.producer_id), int(found.producer_epoch))

    async def init_plain(self) -> ProducerIdAndEpoch:
        """Return a producer id without a transactional id. Raises NotGranted if none is granted."""
        request = InitProducerIdRequest(
            transactional_id=None,
            transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
        )
        async for _ in attempts():
            answer = await self._call(None, request, 4)
            if answer.error_code == ErrorCode.NONE:
                return _granted(answer)
            if answer.error_code not in TRY_AGAIN:
                raise _problem("requesting a producer id", {answer.error_code})
        raise ClusterUnavailable("requesting a producer id: no broker answered")

    async def add(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> Mapping[TopicPartition, int]:
        """Add partitions to the transaction; return the error codes of rejected ones."""
        listed = itertools.groupby(sorted(partitions), key=lambda each: each.topic)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                _Topic(name=name, partitions=[each.partition for each in group])
                for name, group in listed
            ],
        )
        answer = await self._request(
            transactional_id,
            request,
            3,
            lambda each: set(_errors(each).values()) - _PARTITION_ERRORS,
        )
        errors = _errors(answer)
        if not errors.keys() >= set(partitions):
            raise ClusterUnavailable(f"{transactional_id}: the response lacks some partitions")
        return {partition: code for partition, code in errors.items() if code}

    async def end(
        self, transactional_id: str, producer: ProducerIdAndEpoch, *, commit: bool
    ) -> None:
        request = EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        await self._request(transactional_id, request, 3, lambda each: {each.error_code})

    async def transactional_ids(self, producer_ids: Collection[int]) -> dict[int, str]:
        """Return the transactional ids of those producer ids that have one that our user may see.

        Each broker knows those that it coordinates (KIP-664). One before 3.0, or one that does not
        answer, adds none: the answer is for people alone.
        """

        async def of(node: int) -> dict[int, str]:
            request = ListTransactionsRequest(
                state_filters=[], producer_id_filters=sorted(producer_ids)
            )
            try:
                answer = await self._call(node, request, 0)
            except ReplicationError:
                return {}
            return {each.producer_id: each.transactional_id for each in answer.transaction_states}

        nodes = [each for each in self._connections.brokers if each >= 0]
        found = await asyncio.gather(*map(of, nodes))
        return {number: name for each in found for number, name in each.items()}

    async def _request(
        self,
        transactional_id: str,
        request: Any,
        highest: int,
        errors_of: Callable[[Any], set[int]],
    ) -> Any:
        """Send a request to the coordinator until the response is final."""
        errors: set[int] = set()
        problem: ClusterUnavailable | None = None
        doing = f"{request.name.removesuffix('Request')} for {transactional_id}"
        async for _ in attempts():
            try:
                answer = await self._send(transactional_id, request, highest, errors_of)
            except ClusterUnavailable as error:
                problem = error
                self._coordinators.pop(transactional_id, None)
                continue
            errors = errors_of(answer) - {ErrorCode.NONE}
            if not errors:
                return answer
            if errors - TRY_AGAIN:
                break
            if errors & COORDINATOR_MOVED:
                self._coordinators.pop(transactional_id, None)
        if not errors and problem is not None:
            raise ClusterUnavailable(f"{doing}: {problem}") from problem
        raise _problem(doing, errors)

    async def _send(
        self,
        transactional_id: str,
        request: Any,
        highest: int,
        errors_of: Callable[[Any], set[int]],
    ) -> Any:
        """Send once; retry while only the last transaction's markers are missing."""
        for _ in range(_MARKER_TRIES):
            node = await self._coordinator(transactional_id)
            answer = await self._call(node, request, highest)
            if errors_of(answer) - {ErrorCode.NONE} != {ErrorCode.CONCURRENT_TRANSACTIONS}:
                break
            await asyncio.sleep(_MARKER_PAUSE_S)
        return answer

    async def _coordinator(self, transactional_id: str) -> int:
        known = self._coordinators.get(transactional_id)
        if known is not None:
            return known
        request = find_coordinators(CoordinatorType.TRANSACTION, [transactional_id])
        answer = await self._call(None, request, FIND_COORDINATOR)
        found = next(iter(answer.coordinators), None)
        if found is None:
            raise ClusterUnavailable("the response names no coordinator")
        if found.error_code:
            raise _problem(f"finding the coordinator of {transactional_id}", {found.error_code})
        self._connections.brokers.setdefault(found.node_id, (found.host, found.port))
        self._coordinators[transactional_id] = found.node_id
        return int(found.node_id)


def _granted(answer: Any) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(int(answer.producer_id), int(answer.producer_epoch))


def _problem(doing: str, errors: set[int]) -> ClusterRejected | ClusterUnavailable:
    """Return the exception for a coordinator's final errors."""
    message = f"{doing}: {', '.join(map(named_error, sorted(errors))) or 'no answer'}"
    if errors & _FENCED:
        return Fenced(message)
    if errors & _NOT_GRANTED:
        return NotGranted(message)
    return ClusterRejected(message) if errors - TRY_AGAIN else ClusterUnavailable(message)


def _errors(answer: Any) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, each.partition_index): int(each.partition_error_code)
        for topic in answer.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    }
