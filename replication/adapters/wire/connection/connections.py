"""The connections to one cluster: opened on first use, closed when a request times out."""

from __future__ import annotations

import asyncio
import functools
import time
from typing import TYPE_CHECKING, Any

from kafka.protocol.metadata import MetadataRequest

from replication.adapters.wire.connection.broker_address import address, split_address
from replication.adapters.wire.connection.channel import Channel
from replication.adapters.wire.connection.dialer import Dialer
from replication.adapters.wire.connection.requests import CALL_S, Requests
from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replication.adapters.wire.connection.open_connection import OpenConnection
    from replication.client.cluster_ids import Verify

_METADATA = 12
_SWEEP_S = 1.0


class BrokerConnections:
    """One connection per broker and purpose. Negative node numbers are the bootstrap addresses."""

    def __init__(
        self,
        bootstrap: Sequence[str],
        config: Mapping[str, Any],
        client_id: str,
        verify: Verify | None = None,
    ) -> None:
        """``verify`` raises WrongCluster for the id of another cluster."""
        self.brokers = _numbered(bootstrap)
        self.requests = Requests(client_id)
        self._verify = verify
        self._bootstrap = config.get("bootstrap_servers")  # as last read
        self._dialer = Dialer(config, client_id)
        self._channels: dict[tuple[int, str], Channel] = {}
        self._dialing: dict[tuple[int, str], asyncio.Task[Channel]] = {}
        self._sweeper: asyncio.Task[None] | None = None

    def learn(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """Note the brokers of a metadata response; keep the bootstrap addresses."""
        bootstrap = {node: address for node, address in self.brokers.items() if node < 0}
        self.brokers = {**brokers, **bootstrap}

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

    def pause_s(self, node: int, purpose: str) -> float:
        """Return for how many seconds a connection may not be used; not more than 0: it may be."""
        channel = self._channels.get((node, purpose))
        return 0.0 if channel is None else channel.pause_s(time.monotonic())

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
        self._dialer.close()

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
        config = await self._dialer.settings()
        self._learn_bootstrap(config.get("bootstrap_servers"))
        if node not in self.brokers:
            raise ClusterUnavailable(f"broker {node} is not in the cluster's metadata")
        host, port = self.brokers[node]
        return await self._dialer.open(config, host, port), address(host, port)

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
        if self._verify is None:
            return channel
        try:
            async with asyncio.timeout(CALL_S):  # the sweeper does not know the channel yet
                answer = await self.requests.call(channel, MetadataRequest(topics=[]), _METADATA)
            self._verify(str(answer.cluster_id))
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
            for channel in [each for each in self._channels.values() if each.overdue(now)]:
                self._give_up(channel, now)
            for key, channel in list(self._channels.items()):
                if channel.error is None and channel.is_ending(now):
                    dialing = self._begin_dial(*key)
                    dialing.add_done_callback(functools.partial(_postpone_if_failed, channel))

    def _give_up(self, overdue: Channel, now: float) -> None:
        """Close a connection without a response, and idle ones that were silent for as long.

        What has silenced it may have silenced them: else each would cost its next request the
        whole time limit, one after the other. Those with requests get little more time.
        """
        since = overdue.oldest_sent_at or now
        overdue.close(ClusterUnavailable(f"{overdue.where}: no response in time"))
        for each in list(self._channels.values()):
            if not each.is_silent_since(since):
                continue
            if each.open_requests:
                each.hurry(now)
            else:
                each.close()


def _retrieve(dialing: asyncio.Task[Channel]) -> None:
    """Take the error of a dial whose callers were all cancelled: asyncio logs what nobody takes."""
    if not dialing.cancelled():
        dialing.exception()


def _postpone_if_failed(channel: Channel, dialing: asyncio.Task[Channel]) -> None:
    """Keep the channel without a next connection for a while: logins that fail may lock a user."""
    if not dialing.cancelled() and dialing.exception() is not None:
        channel.session.postpone_renewal(time.monotonic())


def _numbered(bootstrap: Sequence[str]) -> dict[int, tuple[str, int]]:
    return {number - len(bootstrap): split_address(each) for number, each in enumerate(bootstrap)}
