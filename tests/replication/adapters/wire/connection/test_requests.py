"""Requests over real sockets: versions, headers, appends, and which broker is asked."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import ProduceRequest, ProduceResponse
from support.fakes.scripted_network import coordinator

from replication.adapters.wire import connect
from replication.adapters.wire.connection import dialer as module
from replication.adapters.wire.connection.connections import BrokerConnections
from replication.adapters.wire.connection.open_connection import OpenConnection, VersionRange
from replication.client.network import Ack
from replication.errors import ClusterRejected, ClusterUnavailable

FIND, PRODUCE = 10, 0
REQUEST = {"key": "t", "key_type": 1, "coordinator_keys": ["t"]}


class Brokers:
    """The far ends of the connections that are opened, the newest of each port in ``ends``."""

    def __init__(self, versions: dict[int, VersionRange]) -> None:
        self.versions, self.ends, self.refusing = versions, {}, set()
        self.opened: list[socket.socket] = []

    def open(self, host, port, _config, _timeout_s) -> OpenConnection:
        if port in self.refusing:
            raise ClusterUnavailable(f"connecting to {host}:{port}: refused")
        near, self.ends[port] = socket.socketpair()
        near.settimeout(0)
        self.opened.append(self.ends[port])
        return OpenConnection(near, self.versions, None)

    async def answer(self, port: int, response: bytes) -> bytes:
        """Return the next request, answer it with ``response`` after the correlation id."""
        loop = asyncio.get_running_loop()
        request = await loop.run_in_executor(None, self._receive, port)
        frame = request[4:8] + response
        self.ends[port].sendall(len(frame).to_bytes(4, "big") + frame)
        return request

    def _receive(self, port: int) -> bytes:
        with self.ends[port].makefile("rb") as sent:
            return sent.read(int.from_bytes(sent.read(4), "big"))


@pytest.fixture
def brokers(monkeypatch):
    made = Brokers({FIND: VersionRange(1, 4), PRODUCE: VersionRange(3, 12)})
    monkeypatch.setattr(module, "open_connection", made.open)
    yield made
    for each in made.opened:
        each.close()


def with_lines(check, *bootstrap: str) -> None:
    async def run() -> None:
        lines = BrokerConnections(bootstrap or ["b:1"], {}, "me")
        try:
            await check(lines)
        finally:
            await lines.close()

    asyncio.run(run())


@pytest.mark.parametrize(("highest", "version"), [(4, 4), (3, 3), (9, 4)])
def test_a_request_has_the_highest_version_of_both_and_a_number_of_its_own(
    brokers, highest, version
):
    response = coordinator(5)
    if version < 4:
        response = type(response)(
            throttle_time_ms=0, error_code=0, error_message="", node_id=5, host="b5", port=9092
        )
    body = b"\0" + bytes(response.encode(version=version))

    async def check(lines: BrokerConnections) -> None:
        channel = await lines.channel(-1, "call")
        numbers = []
        for _ in range(2):
            asking = asyncio.create_task(
                lines.requests.call(channel, FindCoordinatorRequest(**REQUEST), highest)
            )
            request = await brokers.answer(1, body)
            key, sent_in, number, size = struct.unpack_from(">hhih", request)
            assert (key, sent_in, request[10 : 10 + size]) == (FIND, version, b"me")
            numbers.append(number)
            answer = await asking
            found = answer.coordinators[0] if version == 4 else answer
            assert (found.node_id, found.host) == (5, "b5")
        assert numbers == [1, 2]

    with_lines(check)


def test_a_broker_without_a_version_that_we_know_is_named(brokers):
    brokers.versions = {FIND: VersionRange(5, 6)}

    async def check(lines: BrokerConnections) -> None:
        channel = await lines.channel(-1, "call")
        for known in (brokers.versions, {}):
            brokers.versions.clear()
            brokers.versions.update(known)
            with pytest.raises(ClusterRejected, match="b:1 supports no version of FindCoordinator"):
                await lines.requests.call(channel, FindCoordinatorRequest(**REQUEST), 4)

    with_lines(check)


def test_a_broker_that_is_connected_is_asked_before_others(brokers):
    async def check(lines: BrokerConnections) -> None:
        second = await lines.channel(-1, "call")
        assert await lines.any_channel() is second
        assert list(brokers.ends) == [2]

    with_lines(check, "a:1", "b:2")


def test_while_one_broker_refuses_another_is_asked_and_the_last_reason_is_raised(brokers):
    async def check(lines: BrokerConnections) -> None:
        brokers.refusing = {1}
        channel = await lines.any_channel()
        assert channel.where == "b:2"
        brokers.refusing = {1, 2}
        channel.close()
        with pytest.raises(ClusterUnavailable, match=r"connecting to [ab]:[12]: refused"):
            await lines.any_channel()

    with_lines(check, "a:1", "b:2")


def test_a_broker_that_the_metadata_does_not_name_is_an_error(brokers):
    async def check(lines: BrokerConnections) -> None:
        with pytest.raises(ClusterUnavailable, match="broker 7 is not in the cluster's metadata"):
            await lines.channel(7, "call")
        assert brokers.ends == {}

    with_lines(check)


def test_those_who_want_the_same_connection_wait_for_one(brokers):
    async def check(lines: BrokerConnections) -> None:
        found = await asyncio.gather(*(lines.channel(-1, "call") for _ in range(3)))
        assert len(set(found)) == len(brokers.opened) == 1
        other = await lines.channel(-1, "produce")
        assert other is not found[0]
        assert lines.ready(-1, "call") is found[0]

    with_lines(check)


def test_dropping_closes_the_connections_of_a_purpose_that_wait_for_a_response(brokers):
    brokers.versions.update({PRODUCE: VersionRange(0, 9)})
    failed = []

    async def check(lines: BrokerConnections) -> None:
        idle, waiting = await lines.channel(-1, "call"), await lines.channel(-1, "produce")
        waiting.request([b"?"], lambda *each: failed.append(each), 60)
        lines.drop("call")
        assert (idle.error, waiting.error) == (None, None)
        lines.drop("produce")
        assert lines.ready(-1, "call") is idle
        assert lines.ready(-1, "produce") is None
        assert len(failed) == 1

    with_lines(check)


def acked(error: int = 0, base: int = 40) -> bytes:
    topic = ProduceResponse.TopicProduceResponse
    partition = topic.PartitionProduceResponse(
        index=3, error_code=error, base_offset=base, log_append_time_ms=-1, log_start_offset=0,
        record_errors=[], error_message=None,
    )  # fmt: skip
    response = ProduceResponse(
        responses=[topic(name="orders", partition_responses=[partition])], throttle_time_ms=0
    )
    return b"\0" + bytes(response.encode(version=9))


def produced(brokers: Brokers, response: bytes, transactional_id: str = ""):
    """Append a batch; return the request as a broker decodes it, and what the callback got."""

    async def run():
        network = connect({"bootstrap.servers": "b:1"}, "me")
        got: asyncio.Queue = asyncio.Queue()
        try:
            await network.ready(-1)
            network.produce(
                -1,
                [("orders", 3, memoryview(b"batch"))],
                lambda *each: got.put_nowait(each),
                transactional_id,
            )
            request = await brokers.answer(1, response)
            return request, await asyncio.wait_for(got.get(), 10)
        finally:
            await network.close()

    return asyncio.run(run())


@pytest.mark.parametrize("transactional_id", ["", "isthmus.f.0.txn"])
def test_an_append_carries_the_batch_and_its_transactional_id(brokers, transactional_id):
    request, (acks, error) = produced(brokers, acked(), transactional_id)
    key, version, _, size = struct.unpack_from(">hhih", request)
    assert (key, version) == (PRODUCE, 9)
    body = ProduceRequest.decode(request[10 + size + 1 :], version=9)
    assert body.transactional_id == (transactional_id or None)
    assert (body.acks, body.timeout_ms) == (-1, 30_000)
    assert [
        (t.name, p.index, bytes(p.records)) for t in body.topic_data for p in t.partition_data
    ] == [("orders", 3, b"batch")]
    assert (acks, error) == ([Ack("orders", 3, 0, 40, "")], None)


def test_a_response_to_an_append_that_cannot_be_read_is_no_ack(brokers):
    _, (acks, error) = produced(brokers, acked()[:-9])
    assert acks is None
    assert isinstance(error, ClusterUnavailable)
    assert "decoding a response of b:1" in str(error)


def test_an_append_without_a_connection_fails_at_once(brokers):
    async def run():
        network = connect({"bootstrap.servers": "b:1"}, "me")
        got: asyncio.Queue = asyncio.Queue()
        network.produce(-1, [], lambda *each: got.put_nowait(each))
        assert got.empty(), "no callback runs before its request has returned"
        answer = await asyncio.wait_for(got.get(), 10)
        await network.close()
        return answer

    acks, error = asyncio.run(run())
    assert acks is None
    assert str(error) == "appending to broker -1: not connected"
    assert brokers.ends == {}
