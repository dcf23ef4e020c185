"""Connections are opened with the present settings, and replaced before their session ends."""

from __future__ import annotations

import asyncio
import gc
import socket
import time
from types import SimpleNamespace

import pytest

from replication.adapters.auth import client_settings, logins
from replication.adapters.auth.client_config import to_kafka_python
from replication.adapters.wire.connection import connections, dialer, responses, session
from replication.adapters.wire.connection.connections import BrokerConnections
from replication.adapters.wire.connection.open_connection import OpenConnection
from replication.client.cluster_ids import FlowClusters
from replication.errors import ClusterRejected, ClusterUnavailable, WrongCluster

LATER_S = 3600.0  # until the session ends


class Lives(list[float]):
    """How long each session lasts, in s; ``far``: the other ends of their sockets.

    ``asked``: host, port and settings of each login; ``refuse``: that many of them fail first.
    """

    far: list[socket.socket]
    asked: list[tuple]
    refuse = 0
    problem: Exception = ClusterRejected("authenticating at broker:9092: wrong password")

    def receive(self, number: int) -> bytes:
        """Return what has arrived over a connection, the first is 0."""
        self.far[number].settimeout(0.1)
        try:
            return self.far[number].recv(100)
        except TimeoutError:
            return b""

    def respond(self, number: int, body: bytes) -> None:
        self.far[number].sendall(len(body).to_bytes(4, "big") + body)


@pytest.fixture
def dialed(monkeypatch):
    """Dial one end of a pair of sockets; ``lives`` says how long each of the sessions lasts."""
    lives, far = Lives(), []
    lives.far, lives.asked = far, []

    def dial(*asked):
        lives.asked.append(asked)
        if lives.refuse:
            lives.refuse -= 1
            raise lives.problem
        near, other = socket.socketpair()
        near.settimeout(0)
        far.append(other)
        return OpenConnection(near, {}, time.monotonic() + lives.pop(0))

    monkeypatch.setattr(dialer, "open_connection", dial)
    monkeypatch.setattr(connections, "_SWEEP_S", 0.01)
    monkeypatch.setattr(session, "_LEAST_PAUSE_S", 0.05)
    monkeypatch.setattr(session, "_TOO_LATE_S", 0.0)
    yield lives
    for each in far:
        each.close()


def with_lines(check, verify=None) -> None:
    async def run() -> None:
        lines = BrokerConnections(["broker:9092"], {}, "test", verify)
        try:
            await check(lines)
        finally:
            await lines.close()

    asyncio.run(run())


async def until(holds) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 -- what is waited for sets no event
            await asyncio.sleep(0.005)


def noted(responses: list, name: str):
    return lambda frame, error: responses.append((name, error or bytes(frame)))


def test_bl_237_an_idle_connection_is_replaced_before_its_session_ends(dialed):
    dialed += [LATER_S, LATER_S]

    async def check(lines: BrokerConnections) -> None:
        channel = await lines.channel(-1, "produce")
        first = channel.connection
        assert 0.59 * LATER_S < channel.session.renew_at - time.monotonic() <= 0.8 * LATER_S
        channel.session.renew_at = 0.0
        await until(lambda: channel.connection is not first)
        assert first.sock.fileno() == -1  # it is closed, and nothing waits for the collector
        assert lines.ready(-1, "produce") is channel
        responses = []
        channel.request([b"ask"], noted(responses, "a"), 60)
        assert dialed.receive(1) == b"ask"
        dialed.respond(1, b"yes")
        await until(lambda: responses == [("a", b"yes")])

    with_lines(check)


async def changing(lines: BrokerConnections):
    """Return a channel that waits for a response to change its connection, and what it got.

    A request is open, and another waits for the next connection.
    """
    channel, responses = await lines.channel(-1, "produce"), []
    channel.request([b"a"], noted(responses, "a"), 60)
    channel.session.renew_at = 0.0
    await until(lambda: channel._successor is not None)
    channel.request([b"b"], noted(responses, "b"), 60)
    return channel, responses


def test_bl_237_a_busy_connection_is_replaced_between_two_requests_in_their_order(dialed):
    dialed += [LATER_S, LATER_S]

    async def check(lines: BrokerConnections) -> None:
        channel, responses = await changing(lines)
        channel.request([b"c"], noted(responses, "c"), 60)
        assert (dialed.receive(0), dialed.receive(1)) == (b"a", b"")  # b and c wait for a
        assert channel.open_requests == 3
        dialed.respond(0, b"A")
        await until(lambda: responses == [("a", b"A")])
        assert dialed.receive(1) == b"bc"
        dialed.respond(1, b"B")
        dialed.respond(1, b"C")
        await until(lambda: responses == [("a", b"A"), ("b", b"B"), ("c", b"C")])

    with_lines(check)


def test_requests_that_wait_for_the_next_connection_fail_with_the_former_one(dialed):
    dialed += [LATER_S, LATER_S]

    async def check(lines: BrokerConnections) -> None:
        _, responses = await changing(lines)
        dialed.far[0].close()
        await until(lambda: len(responses) == 2)
        assert [name for name, _ in responses] == ["a", "b"]
        assert lines.ready(-1, "produce") is None

    with_lines(check)


def test_bl_237_a_session_takes_one_login_however_many_requests_it_serves(dialed):
    dialed += [LATER_S, LATER_S]

    async def check(lines: BrokerConnections) -> None:
        channel = await lines.channel(-1, "call")
        channel.session.renew_at = 0.0
        for _ in range(50):
            assert await lines.channel(-1, "call") is channel
            await asyncio.sleep(0.01)
        assert len(dialed.asked) == 2

    with_lines(check)


@pytest.mark.parametrize(
    "problem", [Lives.problem, ClusterUnavailable("connecting to broker:9092: refused")]
)
def test_a_login_that_fails_is_tried_again_before_the_session_ends_but_not_at_once(dialed, problem):
    dialed += [4.0, LATER_S]
    dialed.problem = problem

    async def check(lines: BrokerConnections) -> None:
        channel = await lines.channel(-1, "call")
        first, dialed.refuse = channel.connection, 1
        channel.session.renew_at, since = 0.0, time.monotonic()
        await until(lambda: channel.connection is not first)
        assert time.monotonic() - since > 1.0  # a third of the session's four seconds
        assert len(dialed.asked) == 3
        assert channel.error is None

    with_lines(check)


def test_a_connection_tells_the_broker_whose_it_is(dialed):
    dialed += [LATER_S]

    async def check(lines: BrokerConnections) -> None:
        await lines.channel(-1, "call")
        assert dialed.asked[0][2]["client_id"] == "test"

    with_lines(check)


def test_where_any_broker_may_answer_one_that_is_connected_is_asked(dialed):
    dialed += [LATER_S, LATER_S]

    async def check(lines: BrokerConnections) -> None:
        lines.learn({1: ("b1", 9092), 2: ("b2", 9092)})
        first = await lines.any_channel()
        assert dialed.asked[0][:2] == ("b2", 9092), "a broker before a bootstrap address"
        first.close()
        second = await lines.channel(1, "call")
        assert await lines.any_channel() is second
        assert len(dialed.asked) == 2

    with_lines(check)


def test_an_idle_connection_whose_session_has_ended_is_not_used_again(dialed, monkeypatch):
    dialed += [0.2, LATER_S]
    monkeypatch.setattr(session, "_RENEW_AT", (999.0, 999.0))

    async def check(lines: BrokerConnections) -> None:
        first = await lines.channel(-1, "call")
        await until(lambda: lines.ready(-1, "call") is None)
        assert first.error is not None
        assert await lines.channel(-1, "call") is not first

    with_lines(check)


def test_a_login_that_is_refused_after_one_that_worked_may_work_later(dialed, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(logins, "time", SimpleNamespace(monotonic=lambda: now[0]))
    dialed += [LATER_S, LATER_S]

    async def check(lines: BrokerConnections) -> None:
        dialed.refuse = 1
        with pytest.raises(ClusterRejected, match="wrong password"):
            await lines.channel(-1, "call")
        now[0] += 1
        await lines.channel(-1, "call")
        dialed.refuse = 1
        for _ in range(3):
            with pytest.raises(ClusterUnavailable, match="wrong password"):
                await lines.channel(-1, "produce")
        assert len(dialed.asked) == 3  # not at once again

    with_lines(check)


def test_bl_228_each_connection_is_opened_with_the_settings_of_its_time(
    dialed, tmp_path, monkeypatch
):
    monkeypatch.setattr(client_settings, "_LOOK_EVERY_S", 0.0)
    dialed += [LATER_S, LATER_S]

    def write(servers: str, password: str) -> None:
        (tmp_path / "servers").write_text(servers)
        (tmp_path / "pw").write_text(password)

    write("old:9092", "old")
    kind = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
    config = to_kafka_python({
        "bootstrap.servers": f"${{dir:{tmp_path}:servers}}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'a.PlainLoginModule required username="me" '
        f'password="${{dir:{tmp_path}:pw}}";',
        "config.providers": "dir",
        "config.providers.dir.class": kind,
    })  # fmt: skip

    async def check() -> None:
        lines = BrokerConnections(config["bootstrap_servers"], config, "test")
        try:
            await lines.channel(-1, "call")
            write("new:9093", "new")
            await lines.channel(-1, "produce")
        finally:
            await lines.close()

    asyncio.run(check())
    assert [(host, port, used["sasl_plain_password"]) for host, port, used, _ in dialed.asked] == [
        ("old", 9092, "old"),
        ("new", 9093, "new"),
    ]


def test_a_response_of_2_gb_is_refused_before_memory_is_taken_for_it(dialed, monkeypatch):
    dialed += [LATER_S]
    taken = []
    monkeypatch.setattr(responses.NewBuffer, "view", lambda _, size: taken.append(size))

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


def test_what_was_silent_for_as_long_as_an_overdue_connection_is_not_waited_for(dialed):
    """After an outage that no end of a connection shows, each would cost the whole time limit."""
    dialed += [LATER_S] * 4

    async def check(lines: BrokerConnections) -> None:
        late, idle, busy, alive = [await lines.channel(-1, each) for each in "abcd"]
        answered, failed = asyncio.Event(), asyncio.Event()
        late.request([b"1234"], lambda *_: failed.set(), 1.0)
        busy.request([b"1234"], lambda *_: None, 60)
        alive.request([b"1234"], lambda *_: answered.set(), 60)
        dialed.respond(3, b"response")
        await asyncio.wait_for(answered.wait(), 10)
        assert not busy.overdue(time.monotonic() + 11)
        await asyncio.wait_for(failed.wait(), 10)
        assert [lines.ready(-1, each) for each in "abcd"] == [None, None, busy, alive]
        assert idle.error is not None
        assert busy.overdue(time.monotonic() + 11)

    with_lines(check)


def test_bl_223_a_connection_is_used_only_if_it_leads_to_the_right_cluster(dialed, monkeypatch):
    dialed += [LATER_S] * 3
    clusters = iter(["id-b", "id-a"])

    async def call(_channel, _request, _highest):
        return SimpleNamespace(cluster_id=next(clusters))

    async def unasked(lines: BrokerConnections) -> None:
        await lines.channel(-1, "fetch")  # any cluster is right

    async def check(lines: BrokerConnections) -> None:
        monkeypatch.setattr(lines.requests, "call", call)
        with pytest.raises(WrongCluster, match="source A is now the cluster with id id-b"):
            await lines.channel(-1, "fetch")
        assert lines.ready(-1, "fetch") is None
        assert await lines.channel(-1, "fetch") is lines.ready(-1, "fetch")

    with_lines(unasked)
    with_lines(check, FlowClusters("A->B", "id-a", "id-b").verify_source)


def test_a_dial_that_fails_after_its_caller_was_cancelled_leaves_no_error_behind(dialed, caplog):
    dialed.refuse = 1

    async def check(lines: BrokerConnections) -> None:
        asked = asyncio.create_task(lines.channel(-1, "call"))
        await asyncio.sleep(0)
        (dialing,) = lines._dialing.values()
        asked.cancel()
        await asyncio.wait([dialing])
        del dialing
        gc.collect()

    with_lines(check)
    assert caplog.messages == []
