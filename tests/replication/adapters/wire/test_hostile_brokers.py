"""A broker that hangs up, sends garbage or the wrong response: one error, bounded memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest
from support.network.fake_broker import FakeBroker, Hangup, Raw
from support.records.record_batches import a_batch

from replication.adapters.admin.planned_cluster import PlannedCluster
from replication.adapters.wire import api_messages, connect, fetch_produce_codec
from replication.adapters.wire.connection import connections
from replication.adapters.wire.connection.channel import Channel
from replication.adapters.wire.connection.connections import BrokerConnections
from replication.adapters.wire.connection.open_connection import OpenConnection
from replication.adapters.wire.connection.requests import Framed
from replication.client.fetch_session import FetchOptions
from replication.client.fetch_values import FetchBuffer
from replication.client.network import PartitionReader
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import EARLIEST_LOCAL_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition

T = TopicPartition("orders", 0)
MB = 1 << 20
ASKS = {
    "refresh": (MetadataRequest, lambda network: network.refresh([T.topic])),
    "topic names": (MetadataRequest, lambda network: network.topic_names()),
    "offset": (ListOffsetsRequest, lambda network: network.offset_at(T, LATEST_TIMESTAMP)),
    "fetch": (
        FetchRequest,
        lambda network: PartitionReader(network, T, "x").fetch(0, FetchOptions()),
    ),
    "groups": (ListGroupsRequest, lambda network: network.groups.listed()),
    "members": (FindCoordinatorRequest, lambda network: network.members("g")),
}


def body(request, content: bytes) -> Raw:
    head = request.header.correlation_id.to_bytes(4, "big")
    return Raw((4 + len(content)).to_bytes(4, "big") + head + content)


def hangs_up(*_):
    raise Hangup


def another(request, honest):
    request.header.correlation_id += 1
    return honest


LIES = {
    "hangs up": (hangs_up, "the broker closed the connection"),
    "2 GB": (
        lambda *_: Raw((2**31 - 1).to_bytes(4, "big") + bytes(100)),
        "a response of 2,147,483,647 bytes was announced",
    ),
    "nothing": (lambda *_: Raw(bytes(4)), "decoding a response of|a response to another request"),
    "garbage": (lambda request, _: body(request, b"\xff" * 3000), "decoding a response of"),
    "short": (lambda request, _: body(request, b"\x01\x00"), "decoding a response of"),
    "nulls": (
        lambda request, _: body(request, bytes(300)),
        "decoding a response of|the response lacks the partition",
    ),
    "of another request": (another, "a response to another request"),
}


@pytest.fixture(scope="module")
def broker():
    with FakeBroker(T) as fake:
        fake.logs[T].append(a_batch(0, [b"a"]))
        yield fake


def ask(broker: FakeBroker, how, lies=()) -> object:
    """Ask honestly who leads, and then with ``lies``."""

    async def run() -> object:
        network = connect({"bootstrap.servers": broker.address}, "test")
        try:
            await network.refresh([T.topic])
            broker.lies = dict(lies)
            return await how(network)
        finally:
            broker.lies = {}
            await network.close()

    return asyncio.run(run())


@pytest.mark.parametrize("how", ASKS)
@pytest.mark.parametrize("lie", LIES)
def test_each_request_ends_with_one_error_that_names_the_broker(broker, how, lie):
    kind, asking = ASKS[how]
    answer, reason = LIES[lie]
    with pytest.raises(ClusterUnavailable, match=reason) as raised:
        ask(broker, asking, {kind: answer})
    assert broker.address in str(raised.value) or str(T) in str(raised.value)


def test_an_honest_broker_is_understood(broker):
    assert ask(broker, ASKS["offset"][1]) == 1
    assert ask(broker, ASKS["topic names"][1]) == {"orders"}
    assert bytes(ask(broker, ASKS["fetch"][1]).records) == a_batch(0, [b"a"])


def test_a_fetch_response_with_another_partition_is_not_taken_for_ours(broker):
    def other(_, honest):
        honest.responses[0].partitions[0].partition_index = 3
        return honest

    with pytest.raises(ClusterUnavailable, match="fetching orders-0: the response lacks"):
        ask(broker, ASKS["fetch"][1], {FetchRequest: other})


def test_the_admin_client_names_the_cluster_beside_its_address(broker):
    broker.lies = {MetadataRequest: hangs_up}
    cluster = PlannedCluster({"bootstrap.servers": broker.address}, name="east")
    cluster._checked.timeout_s = 1.0
    try:
        with pytest.raises(ClusterUnavailable) as raised:
            cluster.cluster_id()
    finally:
        broker.lies = {}
        cluster.close()
    assert f"at east ({broker.address}): " in str(raised.value)


REQUESTS = [
    MetadataRequest(topics=None),
    ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=[]),
    OffsetFetchRequest(groups=[], require_stable=True),
    ListGroupsRequest(states_filter=[], types_filter=[]),
    FindCoordinatorRequest(key="g", key_type=0, coordinator_keys=["g"]),
]


@given(st.sampled_from(REQUESTS), st.binary(max_size=300))
def test_whatever_a_response_contains_decoding_it_raises_value_error_at_most(request_, content):
    versions = {MetadataRequest: 12, ListOffsetsRequest: 7, OffsetFetchRequest: 8}
    api_messages.encode(request_, versions.get(type(request_), 4), 1, "test")
    with contextlib.suppress(ValueError):
        api_messages.decode(request_, memoryview(b"\0\0\0\1\0" + content))


@given(st.binary(max_size=300))
def test_whatever_a_fetch_or_produce_response_contains_it_is_decoded_or_malformed(content):
    for decode in (fetch_produce_codec.fetch_response, fetch_produce_codec.produce_response):
        with contextlib.suppress(*fetch_produce_codec.MALFORMED):
            decode(memoryview(content))


def test_a_number_of_more_than_five_bytes_is_malformed():
    frame = memoryview(b"\xff" * 100_000)
    with pytest.raises(ValueError, match="a number of more than 32 bits"):
        fetch_produce_codec.read_uvarint(frame, 0)


def with_channel(check) -> None:
    async def run() -> None:
        near, far = socket.socketpair()
        near.settimeout(0)
        channel = Channel(OpenConnection(near, {}, None), "b1:9092")
        try:
            await check(channel, far)
        finally:
            channel.close()
            far.close()

    asyncio.run(run())


async def asked(channel: Channel, buffer: FetchBuffer | None) -> asyncio.Future:
    done = asyncio.get_running_loop().create_future()
    channel.request([b"?"], lambda *each: done.set_result(each), 60, buffer)
    return done


def test_memory_is_taken_as_bytes_arrive_and_not_as_they_are_announced():
    async def check(channel: Channel, far: socket.socket) -> None:
        buffer = FetchBuffer()
        await asked(channel, buffer)
        far.sendall((900 * MB).to_bytes(4, "big") + bytes(100))
        async with asyncio.timeout(10):
            while not buffer.memory:  # noqa: ASYNC110 -- what is waited for sets no event
                await asyncio.sleep(0.001)
        assert len(buffer.memory) <= 20 * MB

    with_channel(check)


@pytest.mark.parametrize("known", [0, 80 * MB])
def test_a_large_response_arrives_whole(known):
    content = os.urandom(40 * MB)

    async def check(channel: Channel, far: socket.socket) -> None:
        done = await asked(channel, FetchBuffer(bytearray(known)))
        frame = len(content).to_bytes(4, "big") + content
        await asyncio.get_running_loop().run_in_executor(None, far.sendall, frame)
        found, error = await done
        assert error is None
        assert bytes(found) == content

    with_channel(check)


def test_a_response_that_is_no_fetch_response_may_have_100_mb():
    async def check(channel: Channel, far: socket.socket) -> None:
        done = await asked(channel, None)
        far.sendall((101 * MB).to_bytes(4, "big"))
        _, error = await done
        assert str(error) == (
            "connection to b1:9092: a response of 105,906,176 bytes was announced"
        )

    with_channel(check)


def test_correlation_ids_wrap_before_they_exceed_four_bytes():
    async def check(channel: Channel, far: socket.socket) -> None:
        connections = BrokerConnections(["b1:9092"], {}, "c")
        connections.requests._correlation = (1 << 31) - 2
        for expected in ((1 << 31) - 1, 0, 1):
            connections.requests.send(channel, Framed(1, 13, [b"x"]), lambda *_: None, 60)
            assert int.from_bytes(far.recv(100)[8:12], "big") == expected
        await connections.close()

    with_channel(check)


def test_a_broker_that_knows_no_tiered_storage_is_not_asked_for_its_local_log(broker):
    """Its highest version of ListOffsets is 7."""

    def local_start(network):
        return network.offset_at(T, EARLIEST_LOCAL_TIMESTAMP)

    with pytest.raises(ClusterRejected, match="supports no version of ListOffsetsRequest"):
        ask(broker, local_start)


def test_a_broker_that_throttles_is_asked_again_when_that_is_over():
    """Not by a lie: ``request_percentage`` quotas throttle any request."""

    def throttling(_request, honest):
        honest.throttle_time_ms = 300
        return honest

    async def run(broker: FakeBroker) -> tuple[int, list[float]]:
        network = connect({"bootstrap.servers": broker.address}, "test")
        try:
            for _ in range(2):
                await network.refresh([T.topic])
            asked = [at for at, each in broker.asked if isinstance(each, MetadataRequest)]
            return network.throttled_ms, asked
        finally:
            await network.close()

    with FakeBroker(T) as broker:  # no other one: clients of other tests may still ask it
        broker.lies[MetadataRequest] = throttling
        throttled_ms, (first, second) = asyncio.run(run(broker))
    assert throttled_ms == 600
    assert second - first > 0.25


def test_a_broker_that_is_silent_before_it_says_which_cluster_it_is_of_is_not_waited_for(
    monkeypatch,
):
    """The network is gone between the login and the first response: the connection is half open."""
    monkeypatch.setattr(connections, "CALL_S", 0.3)
    with FakeBroker(T) as broker:
        broker.lies[MetadataRequest] = lambda *_: None
        network = connect({"bootstrap.servers": broker.address}, "us", lambda _: None)

        async def asked_twice() -> None:
            for _ in range(2):  # the second time by another connection
                with pytest.raises(ClusterUnavailable, match="no response in time"):
                    await network.refresh([T.topic])
            await network.close()

        asyncio.run(asyncio.wait_for(asked_twice(), 10))
