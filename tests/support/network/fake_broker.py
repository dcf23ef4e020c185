"""A broker of one node on a real socket, which answers as a test wants: honestly, or with lies.

Requests are decoded and responses encoded by kafka-python, so both of our client libraries talk to
it. ``broken_servers`` has what is no broker at all.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import uuid
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Self

from kafka.protocol.admin import (
    DescribeAclsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    ListGroupsRequest,
)
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
)
from kafka.protocol.producer import ProduceRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from replication.client.error_codes import ErrorCode
from replication.model import TopicPartition
from replication.records.batch import walk
from support.fakes.memory_network import Log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_REQUESTS = {
    each.API_KEY: each
    for each in (
        ApiVersionsRequest,
        DescribeAclsRequest,
        DescribeClusterRequest,
        DescribeConfigsRequest,
        FetchRequest,
        FindCoordinatorRequest,
        ListGroupsRequest,
        ListOffsetsRequest,
        MetadataRequest,
        ProduceRequest,  # librdkafka fetches format 2 only where it could produce it
        SaslAuthenticateRequest,
        SaslHandshakeRequest,
    )
}
_HIGHEST = {FetchRequest: 16, ListOffsetsRequest: 7, MetadataRequest: 12, ApiVersionsRequest: 3}
NODE = 1
EPOCH = 7  # of every leader
_SECURITY_DISABLED = 54
_SASL_AUTHENTICATION_FAILED = 58
_POLL_S = 0.02  # between two looks of a Fetch that waits for records


class Hangup(Exception):
    """A lie raises it to close the connection without a response."""


class Raw(bytes):
    """A lie returns the whole frame with its size, as it goes over the wire."""

    __slots__ = ()


class FakeBroker:
    """Serves ``logs``; a request class's lie is called with a request and its honest response.

    It returns a response, ``Raw`` bytes, or None: there is none, now or ever. ``asked`` lists the
    requests as they were decoded, each with the moment in s.
    """

    def __init__(self, *partitions: TopicPartition, name: str = "fake") -> None:
        self.cluster_id = name
        self.logs: dict[TopicPartition, Log] = {each: Log() for each in partitions}
        self.lies: dict[type, Callable[[Any, Any], Any]] = {}
        self.asked: list[tuple[float, Any]] = []
        self.others: dict[int, tuple[str, int]] = {}  # brokers that metadata names beside this one
        self.leader = NODE  # of all partitions; -1: they have none
        self.password = b""  # that logins with SASL/PLAIN come with
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._accepted: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._closed = threading.Event()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in list(self._accepted):
            _close(each)
        for each in self._threads:
            each.join(5)

    def requests(self, kind: type) -> list[Any]:
        return [each for _, each in self.asked if isinstance(each, kind)]

    def topic_id(self, topic: str) -> uuid.UUID:
        return uuid.uuid5(uuid.NAMESPACE_DNS, topic)

    def _start(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            self._accepted.append(near)
            self._start(self._serve, near)

    def _serve(self, near: socket.socket) -> None:
        try:
            while True:
                size = int.from_bytes(_exactly(near, 4), "big")
                if (response := self._answer(_exactly(near, size))) is not None:
                    near.sendall(response)
        except (OSError, EOFError, Hangup):
            _close(near)

    def _answer(self, frame: bytes) -> bytes | None:
        kind = _REQUESTS[int.from_bytes(frame[:2], "big")]
        version = int.from_bytes(frame[2:4], "big")
        request = kind.decode(frame, version=version, header=True)
        request.API_VERSION = version
        self.asked.append((time.monotonic(), request))
        response = getattr(self, f"_{kind.name.removesuffix('Request')}")(request)
        if kind in self.lies:
            response = self.lies[kind](request, response)
        if response is None or isinstance(response, Raw):
            return response
        response.API_VERSION = version
        response.with_header(correlation_id=request.header.correlation_id)
        encoded: bytes = response.encode(header=True, framed=True)
        return encoded

    # -- honest responses ----------------------------------------------------------------------

    def _ApiVersions(self, request: Any) -> Any:  # noqa: N802 -- the request's name, as below
        response = _response(request)
        return response(
            error_code=0,
            api_keys=[
                response.ApiVersion(
                    api_key=key,
                    min_version=0,
                    max_version=_HIGHEST.get(kind, kind.max_version),
                )
                for key, kind in _REQUESTS.items()
            ],
            throttle_time_ms=0,
        )

    def _SaslHandshake(self, request: Any) -> Any:  # noqa: N802
        return _response(request)(error_code=0, mechanisms=["PLAIN"])

    def _SaslAuthenticate(self, request: Any) -> Any:  # noqa: N802
        is_right = request.auth_bytes.split(b"\0")[-1] == self.password
        return _response(request)(
            error_code=0 if is_right else _SASL_AUTHENTICATION_FAILED,
            error_message=None if is_right else "Authentication failed: Invalid password",
            auth_bytes=b"",
            session_lifetime_ms=0,
        )

    def _Metadata(self, request: Any) -> Any:  # noqa: N802
        response = _response(request)
        topics = defaultdict(list)
        for each in self.logs:
            topics[each.topic].append(each.partition)
        expected = topics if request.topics is None else [each.name for each in request.topics]
        brokers = {NODE: ("127.0.0.1", self.port), **self.others}
        return response(
            throttle_time_ms=0,
            cluster_id=self.cluster_id,
            controller_id=NODE,
            brokers=[
                response.MetadataResponseBroker(node_id=node, host=host, port=port, rack=None)
                for node, (host, port) in brokers.items()
            ],
            topics=[self._topic(response, name, topics.get(name)) for name in expected],
        )

    def _topic(self, response: Any, name: str, partitions: Iterable[int] | None) -> Any:
        topic = response.MetadataResponseTopic
        return topic(
            error_code=0 if partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            name=name,
            topic_id=self.topic_id(name),
            is_internal=False,
            partitions=[
                topic.MetadataResponsePartition(
                    error_code=0 if self.leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE,
                    partition_index=each,
                    leader_id=self.leader,
                    leader_epoch=EPOCH,
                    replica_nodes=[NODE],
                    isr_nodes=[NODE],
                    offline_replicas=[],
                )
                for each in partitions or ()
            ],
        )

    def _ListOffsets(self, request: Any) -> Any:  # noqa: N802
        response = _response(request)
        topic = response.ListOffsetsTopicResponse
        return response(
            throttle_time_ms=0,
            topics=[
                topic(
                    name=asked.name,
                    partitions=[
                        self._offset(topic, TopicPartition(asked.name, each.partition_index), each)
                        for each in asked.partitions
                    ],
                )
                for asked in request.topics
            ],
        )

    def _offset(self, topic: Any, partition: TopicPartition, asked: Any) -> Any:
        log = self.logs.get(partition)
        return topic.ListOffsetsPartitionResponse(
            partition_index=partition.partition,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if log is None else 0,
            timestamp=-1,
            offset=-1 if log is None else log.end if asked.timestamp == -1 else log.start,
            leader_epoch=EPOCH,
        )

    def _Fetch(self, request: Any) -> Any:  # noqa: N802
        response = _response(request)
        deadline = time.monotonic() + request.max_wait_ms / 1000
        while True:
            version = request.API_VERSION
            answers = [self._fetched(response, each, version) for each in request.topics]
            has_news = any(p.records or p.error_code for each in answers for p in each.partitions)
            if has_news or time.monotonic() >= deadline or self._closed.wait(_POLL_S):
                return response(throttle_time_ms=0, error_code=0, session_id=0, responses=answers)

    def _fetched(self, response: Any, asked: Any, version: int) -> Any:
        named = {self.topic_id(each.topic): each.topic for each in self.logs}
        topic = asked.topic if version < 13 else named.get(asked.topic_id, "")
        answer = response.FetchableTopicResponse
        return answer(
            topic=topic,
            topic_id=self.topic_id(topic),
            partitions=[
                self._records(answer, TopicPartition(topic, each.partition), each.fetch_offset)
                for each in asked.partitions
            ],
        )

    def _records(self, answer: Any, partition: TopicPartition, offset: int) -> Any:
        log = self.logs.get(partition, Log())
        is_in = log.start <= offset <= log.end
        batches = [each for each in log.batches if _last(each) >= offset] if is_in else []
        return answer.PartitionData(
            partition_index=partition.partition,
            error_code=0 if is_in else ErrorCode.OFFSET_OUT_OF_RANGE,
            high_watermark=log.end,
            last_stable_offset=log.end,
            log_start_offset=log.start,
            aborted_transactions=None,
            preferred_read_replica=-1,
            records=b"".join(batches),
        )

    def _Produce(self, _request: Any) -> Any:  # noqa: N802
        raise Hangup

    def _FindCoordinator(self, request: Any) -> Any:  # noqa: N802
        response = _response(request)
        address = {"node_id": NODE, "host": "127.0.0.1", "port": self.port}
        keys = request.coordinator_keys or [request.key]
        found = [
            response.Coordinator(key=each, error_code=0, error_message="", **address)
            for each in keys
        ]
        return response(
            throttle_time_ms=0, error_code=0, error_message="", coordinators=found, **address
        )

    def _ListGroups(self, request: Any) -> Any:  # noqa: N802
        return _response(request)(throttle_time_ms=0, error_code=0, groups=[])

    def _DescribeCluster(self, request: Any) -> Any:  # noqa: N802
        response = _response(request)
        here = response.DescribeClusterBroker(
            broker_id=NODE, host="127.0.0.1", port=self.port, rack=None, is_fenced=False
        )
        return response(
            throttle_time_ms=0,
            error_code=0,
            error_message=None,
            endpoint_type=1,
            cluster_id=self.cluster_id,
            controller_id=NODE,
            brokers=[here],
        )

    def _DescribeConfigs(self, request: Any) -> Any:  # noqa: N802
        response = _response(request)
        return response(
            throttle_time_ms=0,
            results=[
                response.DescribeConfigsResult(
                    error_code=0,
                    error_message=None,
                    resource_type=each.resource_type,
                    resource_name=each.resource_name,
                    configs=[],
                )
                for each in request.resources
            ],
        )

    def _DescribeAcls(self, request: Any) -> Any:  # noqa: N802
        return _response(request)(
            throttle_time_ms=0,
            error_code=_SECURITY_DISABLED,
            error_message="no authorizer",
            resources=[],
        )


def _response(request: Any) -> Any:
    return request.header.get_response_class()[None]


def _exactly(near: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        part = near.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return bytes(found)


def _last(batch: bytes) -> int:
    (found,) = walk(memoryview(batch))
    return found.last


def _close(near: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other end has closed it
        near.shutdown(socket.SHUT_RDWR)
    near.close()
