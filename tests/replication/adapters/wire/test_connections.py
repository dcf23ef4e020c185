"""Connections whose SASL session ends are replaced in time, and requests keep their order."""

from __future__ import annotations

import asyncio
import socket
import time
from types import SimpleNamespace

import pytest

from replication.adapters.wire import channel as channel_module
from replication.adapters.wire import connections as module
from replication.adapters.wire.connections import BrokerConnections
from replication.adapters.wire.open_connection import OpenConnection
from replication.client.cluster_ids import FlowClusters
from replication.errors import WrongCluster

SOON_S, LATER_S = 10.0, 3600.0  # until the session ends


class Lives(list[float]):
    """How long each session lasts, in s; ``far``: the other ends of their sockets."""

    far: list[socket.socket]


@pytest.fixture
def dialed(monkeypatch):
    """Dial one end of a pair of sockets; ``lives`` says how long each of the sessions lasts."""
    lives, far = Lives(), []
    lives.far = far

    def dial(_host, _port, _config, _timeout_s):
        near, other = socket.socketpair()
        near.settimeout(0)
        far.append(other)
        return OpenConnection(near, {}, time.monotonic() + lives.pop(0))

    monkeypatch.setattr(module, "open_connection", dial)
    monkeypatch.setattr(module, "_SWEEP_S", 0.01)
    yield lives
    for each in far:
        each.close()


def with_lines(check) -> None:
    async def run() -> None:
        lines = BrokerConnections(["broker:9092"], {}, "test")
        try:
            await check(lines)
        finally:
            await lines.close()

    asyncio.run(run())


def test_an_idle_line_is_replaced_before_its_session_ends(dialed):
    dialed += [SOON_S, LATER_S]

    async def check(lines: BrokerConnections) -> None:
        first = await lines.channel(-1, "produce")
        await asyncio.sleep(0.2)
        second = lines.ready(-1, "produce")
        assert second is not None
        assert second is not first
        assert first.error is not None  # it is closed, and nothing waits for the collector

    with_lines(check)


def test_a_line_with_open_requests_is_kept_for_what_follows_them(dialed):
    dialed += [SOON_S, LATER_S, LATER_S]

    async def check(lines: BrokerConnections) -> None:
        first = await lines.channel(-1, "produce")
        first.request([b"1234"], lambda *_: None, 60)
        await asyncio.sleep(0.1)
        assert await lines.channel(-1, "produce") is first
        assert lines.lasting(-1, "produce") is first

    with_lines(check)


def test_a_response_of_2_gb_is_refused_before_memory_is_taken_for_it(dialed, monkeypatch):
    dialed += [LATER_S]
    taken = []
    monkeypatch.setattr(channel_module._NewBuffer, "view", lambda _, size: taken.append(size))

    async def check(lines: BrokerConnections) -> None:
        channel = await lines.channel(-1, "call")
        failed = asyncio.get_running_loop().create_future()
        channel.request([b"1234"], lambda _, error: failed.set_result(error), 60)
        dialed.far[-1].sendall((2**31 - 1).to_bytes(4, "big"))
        error = await asyncio.wait_for(failed, 5)
        assert str(error) == (
            "connection to broker:9092: a response of 2,147,483,647 bytes was announced"
        )

    with_lines(check)
    assert taken == []


def test_a_connection_whose_oldest_request_is_overdue_is_closed(dialed):
    dialed += [LATER_S, LATER_S]

    async def check(lines: BrokerConnections) -> None:
        late, other = await lines.channel(-1, "call"), await lines.channel(-1, "produce")
        failed: asyncio.Queue = asyncio.Queue()
        late.request([b"1234"], lambda *each: failed.put_nowait(each), 0.02)
        other.request([b"1234"], lambda *_: None, 60)
        frame, error = await asyncio.wait_for(failed.get(), 10)
        assert (frame, str(error)) == (None, "broker:9092: no response in time")
        assert lines.ready(-1, "call") is None
        assert lines.ready(-1, "produce") is other

    with_lines(check)


def test_attempts_pause_longer_each_time_and_end_after_15_s(monkeypatch):
    now, pauses = [100.0], []

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        now[0] += pause_s

    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module.asyncio, "sleep", sleep)

    async def run() -> list[int]:
        return [each async for each in module.attempts()]

    numbers = asyncio.run(run())
    assert pauses[:7] == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0]
    assert set(pauses[7:]) == {1.0}
    assert numbers == list(range(len(pauses) + 1))
    assert 15 < sum(pauses) < 16.1


def test_bl_223_a_connection_is_used_only_if_it_leads_to_the_right_cluster(dialed, monkeypatch):
    dialed += [LATER_S] * 3
    clusters = iter(["id-b", "id-a"])

    async def call(_channel, _request, _highest):
        return SimpleNamespace(cluster_id=next(clusters))

    async def check(lines: BrokerConnections) -> None:
        await lines.channel(-1, "unasked")  # of which no cluster is known any is right
        lines.verify = FlowClusters("A->B", "id-a", "id-b").verify_source
        monkeypatch.setattr(lines, "call", call)
        with pytest.raises(WrongCluster, match="source A is now the cluster with id id-b"):
            await lines.channel(-1, "fetch")
        assert lines.ready(-1, "fetch") is None
        assert await lines.channel(-1, "fetch") is lines.ready(-1, "fetch")

    with_lines(check)
