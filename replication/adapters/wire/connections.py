"""The connections to one cluster: opened on first use, closed when a request times out.

Each connection is opened with the settings of that moment: passwords, certificates and addresses
may have changed since the process started.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kafka.protocol.metadata import MetadataRequest

from replication.adapters.auth.client_settings import explained, read_now
from replication.adapters.auth.logins import Logins
from replication.adapters.wire import api_messages, framing
from replication.adapters.wire.channel import Channel
from replication.adapters.wire.open_connection import (
    NO_VERSION,
    OpenConnection,
    address,
    open_connection,
)
from replication.client.error_codes import ErrorCode
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from concurrent.futures import Future

    from replication.adapters.wire.channel import Buffer, OnResponse
    from replication.client.cluster_ids import Verify

_Response = TypeVar("_Response")
CALL_S = 30.0
COORDINATOR_MOVED = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
TRY_AGAIN = COORDINATOR_MOVED | {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.OFFSET_NOT_AVAILABLE,
}
_DIAL_S = 10.0
_METADATA = 12
_LAST_CORRELATION = (1 << 31) - 1
_SWEEP_S = 1.0


class Framed(NamedTuple):
    """A request of ``framing``; its response is received into ``into``, if that is given."""

    key: int
    version: int
    body: Sequence[bytes | memoryview]
    into: Buffer | None = None


class BrokerConnections:
    """One connection per broker and purpose. Negative node numbers are the bootstrap addresses."""

    def __init__(self, bootstrap: Sequence[str], config: Mapping[str, Any], client_id: str) -> None:
        self.brokers = _numbered(bootstrap)
        self.throttled_ms = 0  # for which the brokers have throttled us, over all connections
        self.verify: Verify | None = None  # raises WrongCluster for the id of another cluster
        self._config = config
        self._bootstrap = config.get("bootstrap_servers")  # as last read
        self._client_id = client_id
        self._logins = Logins()
        self._channels: dict[tuple[int, str], Channel] = {}
        self._dialing: dict[tuple[int, str], asyncio.Task[Channel]] = {}
        self._correlation = 0
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="dial")
        self._sweeper: asyncio.Task[None] | None = None

    def learn(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """Note the brokers of a metadata response; keep the bootstrap addresses."""
        stay = {node: address for node, address in self.brokers.items() if node < 0}
        self.brokers = {**brokers, **stay}

    def ready(self, node: int, purpose: str) -> Channel | None:
        """Return the open channel, or None; never opens one."""
        channel = self._channels.get((node, purpose))
        if channel is None or channel.error is not None:
            return None
        if channel.has_ended(time.monotonic()) and not channel.open_requests:
            channel.close()
            return None
        return channel

    async def channel(self, node: int, purpose: str) -> Channel:
        """Return an open channel; open one if there is none."""
        channel = self.ready(node, purpose)
        if channel is not None:
            return channel
        return await asyncio.shield(self._begin_dial(node, purpose))

    def _begin_dial(self, node: int, purpose: str) -> asyncio.Task[Channel]:
        key = (node, purpose)
        if key not in self._dialing:
            self._dialing[key] = asyncio.create_task(self._dial(node, purpose))
            self._dialing[key].add_done_callback(_retrieve)
        return self._dialing[key]

    async def any_channel(self) -> Channel:
        """Return a channel to any broker, connected ones first. Raises the last broker's error."""
        problem: Exception = ClusterUnavailable("no broker is reachable")
        for node in sorted(
            self.brokers, key=lambda each: (self.ready(each, "call") is None, -each)
        ):
            try:
                return await self.channel(node, "call")
            except (ClusterUnavailable, ClusterRejected) as error:
                problem = error
        raise problem

    async def call(self, channel: Channel, request: Any, highest: int) -> Any:
        """Send a kafka-python request, in the highest version that both sides support.

        While the broker throttles us the request waits.
        Raises ClusterUnavailable for a response that is damaged, ClusterRejected where the broker
        has no version from the request's ``min_version`` to ``highest``.
        """
        low, high = channel.connection.versions.get(request.API_KEY, NO_VERSION)
        version = min(highest, high)
        if version < max(low, request._min_version or 0):
            raise ClusterRejected(
                f"{channel.where} supports no version of {request.name} that Isthmus supports"
            )
        correlation = self._next_correlation()
        raw = api_messages.encode(request, version, correlation, self._client_id)
        frame: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        await self.rest(channel)
        on_response = _matched(channel, correlation, functools.partial(settle, frame))
        channel.request([raw], on_response, CALL_S)
        try:
            answer = api_messages.decode(request, await frame)
        except ValueError as damage:
            raise malformed(channel, damage) from damage
        self.throttle(channel, getattr(answer, "throttle_time_ms", None) or 0)
        return answer

    def throttle(self, channel: Channel, for_ms: int) -> None:
        """Obey the throttle time of a response."""
        if for_ms > 0:
            self.throttled_ms += for_ms
            channel.throttle(for_ms, time.monotonic())

    async def rest(self, channel: Channel) -> None:
        """Wait until the broker reads requests of this connection again."""
        if (pause_s := channel.pause_s(time.monotonic())) > 0:
            await asyncio.sleep(pause_s)

    def pause_s(self, node: int, purpose: str) -> float:
        """Return for how many seconds a connection may not be used; not more than 0: it may be."""
        channel = self._channels.get((node, purpose))
        return 0.0 if channel is None else channel.pause_s(time.monotonic())

    def send(
        self, channel: Channel, request: Framed, on_response: OnResponse, timeout_s: float
    ) -> None:
        """Send a request of ``framing``; ``on_response`` is called as ``Channel.request`` says."""
        correlation = self._next_correlation()
        head = framing.request_head(request.key, request.version, correlation, self._client_id)
        size = len(head) + sum(map(len, request.body))
        buffers = [size.to_bytes(4, "big") + head, *request.body]
        matched = _matched(channel, correlation, on_response)
        channel.request(buffers, matched, timeout_s, request.into)

    def _next_correlation(self) -> int:
        """Return the next correlation id; it is a signed number of four bytes, and wraps."""
        self._correlation = (self._correlation + 1) & _LAST_CORRELATION
        return self._correlation

    def drop(self, purpose: str) -> None:
        """Close the channels of ``purpose`` that have an open request."""
        for key, channel in list(self._channels.items()):
            if key[1] == purpose and channel.open_requests:
                del self._channels[key]
                channel.close()

    async def close(self) -> None:
        """Close everything."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for task in list(self._dialing.values()):
            task.cancel()
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _dial(self, node: int, purpose: str) -> Channel:
        try:
            connection, where = await self._open(node)
            channel = await self._verified(Channel(connection, where))
            former = self.ready(node, purpose)
            if former is not None:
                former.succeed(channel.detach(), where)
                return former
            self._channels[node, purpose] = channel
            if self._sweeper is None:
                self._sweeper = asyncio.create_task(self._sweep())
            return channel
        finally:
            del self._dialing[node, purpose]

    async def _open(self, node: int) -> tuple[OpenConnection, str]:
        """Connect and log in with the present settings; return the connection and its address."""
        config = await self._in_thread(read_now, self._config)
        self._learn_bootstrap(config.get("bootstrap_servers"))
        if node not in self.brokers:
            raise ClusterUnavailable(f"broker {node} is not in the cluster's metadata")
        host, port = self.brokers[node]

        def log_in(present: Mapping[str, Any]) -> OpenConnection:
            settings = {**present, "client_id": self._client_id}
            return open_connection(host, port, settings, _DIAL_S)

        with explained(self._config):
            opened = await self._in_thread(self._logins.attempt, config, log_in)
        return opened, address(host, port)

    async def _in_thread(self, work: Callable[..., _Response], *arguments: Any) -> _Response:
        running = self._threads.submit(work, *arguments)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            running.add_done_callback(_close_unused)  # the thread still runs
            raise

    def _learn_bootstrap(self, bootstrap: Sequence[str] | None) -> None:
        """Replace the bootstrap addresses if those of the settings have changed."""
        if bootstrap is None or bootstrap == self._bootstrap:
            return
        self._bootstrap = bootstrap
        learnt = {node: each for node, each in self.brokers.items() if node >= 0}
        self.brokers = {**learnt, **_numbered(bootstrap)}

    async def _verified(self, channel: Channel) -> Channel:
        """Return ``channel`` if it leads to the right cluster, which stays so while it is open.

        Not only Metadata responses tell: a broker's address may lead to another cluster's broker,
        which would take appends to a topic of the same name.
        """
        if self.verify is None:
            return channel
        try:
            async with asyncio.timeout(CALL_S):  # the sweeper does not know the channel yet
                answer = await self.call(channel, MetadataRequest(topics=[]), _METADATA)
            self.verify(str(answer.cluster_id))
        except TimeoutError as late:
            channel.close()
            raise ClusterUnavailable(f"{channel.where}: no response in time") from late
        except BaseException:
            channel.close()
            raise
        return channel

    async def _sweep(self) -> None:
        """Close connections whose oldest request timed out: half-open ones report no error.

        Replace those whose SASL session ends soon, so that no request meets its end.
        """
        while True:
            await asyncio.sleep(_SWEEP_S)
            now = time.monotonic()
            for key, channel in list(self._channels.items()):
                if channel.overdue(now):
                    channel.close(ClusterUnavailable(f"{channel.where}: no response in time"))
                elif channel.error is None and channel.is_ending(now):
                    dialing = self._begin_dial(*key)
                    dialing.add_done_callback(functools.partial(_postpone_if_failed, channel))


def settle(
    future: asyncio.Future[_Response], answer: _Response | None, error: Exception | None
) -> None:
    """Complete a future with a response or an error."""
    if future.done():
        return
    if answer is None:
        future.set_exception(error or ClusterUnavailable("no answer"))
    else:
        future.set_result(answer)


def malformed(channel: Channel, problem: Exception) -> ClusterUnavailable:
    """Return the error for a response that cannot be decoded."""
    return ClusterUnavailable(f"decoding a response of {channel.where}: {problem}")


def _matched(channel: Channel, correlation: int, on_response: OnResponse) -> OnResponse:
    """Return ``on_response`` for responses to this request alone; another's ends the connection.

    All later ones would be taken for responses to the wrong requests, too.
    """
    wanted = correlation.to_bytes(4, "big")

    def take(frame: memoryview | None, error: Exception | None) -> None:
        if frame is not None and frame[:4] != wanted:
            error = ClusterUnavailable(
                f"connection to {channel.where}: a response to another request"
            )
            channel.close(error)
            frame = None
        on_response(frame, error)

    return take


async def attempts() -> AsyncIterator[int]:
    """Yield attempt numbers with growing pauses between: 20 ms, doubling to 1 s, 15 s in all."""
    pause, deadline = 0.02, time.monotonic() + 15
    for number in itertools.count():
        yield number
        if time.monotonic() > deadline:
            return
        await asyncio.sleep(pause)
        pause = min(pause * 2, 1.0)


def _retrieve(dialing: asyncio.Task[Channel]) -> None:
    """Take the error of a dial whose callers were all cancelled: asyncio logs what nobody takes."""
    if not dialing.cancelled():
        dialing.exception()


def _postpone_if_failed(channel: Channel, dialing: asyncio.Task[Channel]) -> None:
    """Keep the channel without a next connection for a while: logins that fail may lock a user."""
    if not dialing.cancelled() and dialing.exception() is not None:
        channel.postpone_renewal(time.monotonic())


def _close_unused(running: Future[Any]) -> None:
    """Close a connection whose caller was cancelled."""
    if running.cancelled() or running.exception() is not None:
        return
    if isinstance(opened := running.result(), OpenConnection):
        opened.sock.close()


def split_address(text: str) -> tuple[str, int]:
    """Return host and port of ``host:port``; an IPv6 address loses its brackets."""
    host, _, port = text.strip().rpartition(":")
    return host.strip("[]"), int(port)


def _numbered(bootstrap: Sequence[str]) -> dict[int, tuple[str, int]]:
    return {number - len(bootstrap): split_address(each) for number, each in enumerate(bootstrap)}
