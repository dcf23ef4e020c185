"""Assign partitions to fetchers: one fetcher per source broker, another for priority topics."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.client.fetch_session import FetchOptions, FetchSession
from replication.copier.fetch.buffer_pool import BufferPool, buffers_for
from replication.copier.fetch.fetch_request import FetchRequest
from replication.copier.fetch.fetch_response import FetcherContext
from replication.copier.fetch.fetcher import Fetcher
from replication.copier.fetch.throttle import Throttle
from replication.model import NO_LEADER_EPOCH, IsolationLevel

if TYPE_CHECKING:
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.partition.recovery_queue import RecoveryQueue
    from replication.copier.produce.producers import Producers
    from replication.copier.produce.sender import Sender
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections

_MOST_FETCHED = 4 << 20  # bytes of one partition in one response


class FetcherKey(NamedTuple):
    """A fetcher's broker; priority topics have a connection of their own to each broker."""

    node: int
    first: bool

    @property
    def line(self) -> str:
        """Name of its connection: priority topics must not wait behind a long poll."""
        return "fetch first" if self.first else "fetch"


class _RunningFetcher(NamedTuple):
    fetcher: Fetcher
    task: asyncio.Task[None]


@dataclass(slots=True)
class FetcherManager:
    """Runs one fetcher for each key that partitions are fetched from."""

    spec: UnitSpec
    connections: Connections
    sender: Sender
    producers: Producers
    recoveries: RecoveryQueue
    _throttle: Throttle = field(init=False)
    _shared: FetcherContext = field(init=False)
    _requests: dict[FetcherKey, FetchRequest] = field(default_factory=dict)
    _fetchers: dict[FetcherKey, _RunningFetcher] = field(default_factory=dict)
    _keys: dict[PartitionCopy, FetcherKey] = field(default_factory=dict)

    def __post_init__(self) -> None:
        connections = self.connections
        self._throttle = Throttle(self.spec.copying.bytes_per_second)
        self._shared = FetcherContext(
            connections.source,
            self._isolation is IsolationLevel.READ_COMMITTED,
            BufferPool(),
            self._throttle,
            connections.replicas,
            self.sender,
            self.producers,
            self._on_moved,
        )

    def assign(self, partition: PartitionCopy) -> None:
        """Assign the partition to the fetcher of its leader, or of its preferred replica."""
        leader = self.connections.source.leader(partition.source)
        if leader is None:
            return
        replica = self.connections.replicas.of(partition.source, time.monotonic())
        key = FetcherKey(leader.node if replica is None else replica, partition.plan.first)
        former = self._keys.get(partition)
        if former == key:
            return
        if former is not None:
            self._requests[former].leave(partition)
        self._keys[partition] = key
        if key not in self._requests:
            session = self.connections.sessions.setdefault(key, FetchSession())
            self._requests[key] = FetchRequest(session, self._leader_epoch)
        self._requests[key].join(partition)
        if partition.plan.first and former is None:
            self._throttle.behind.add(partition)  # until its first response shows its lag

    def limit(self, rate: int) -> None:
        """Fetch at most ``rate`` bytes a second from now on; 0: no limit."""
        if rate != self._throttle.rate:
            self._throttle.rate = rate
            self.start()

    def unassign(self, partition: PartitionCopy) -> None:
        """Stop fetching the partition."""
        key = self._keys.pop(partition, None)
        if key is not None:
            self._requests[key].leave(partition)
            self._throttle.behind.discard(partition)
            self._shared.suspects.forget(partition)
            self._shared.moved_at.pop(partition, None)

    def _leader_epoch(self, partition: PartitionCopy) -> int:
        """Return the leader epoch in our metadata: a broker with another one rejects the Fetch."""
        leader = self.connections.source.leader(partition.source)
        return NO_LEADER_EPOCH if leader is None else leader.epoch

    def start(self) -> None:
        """Start missing fetchers, cancel those without partitions, divide the buffer memory."""
        for key in [key for key, each in self._requests.items() if not each.partitions]:
            del self._requests[key]
            if (idle := self._fetchers.pop(key, None)) is not None:
                idle.task.cancel()
        count, most = buffers_for(self.spec.copying.buffer_bytes, max(1, len(self._requests)))
        self._shared.buffers.resize(count, most)
        for key, fetch_request in self._requests.items():
            if key not in self._fetchers:
                fetcher = Fetcher(*key, fetch_request, self._shared, FetchOptions())
                task = asyncio.create_task(fetcher.run())
                task.add_done_callback(self._on_ended)
                self._fetchers[key] = _RunningFetcher(fetcher, task)
            options = self._options(key, fetch_request.session, most)
            self._fetchers[key].fetcher.options = options

    @property
    def _isolation(self) -> IsolationLevel:
        return IsolationLevel.of(self.spec.copying.isolation)

    def _options(self, key: FetcherKey, session: FetchSession, most: int) -> FetchOptions:
        options = FetchOptions(
            max_bytes=most,
            partition_bytes=min(_MOST_FETCHED, most),
            isolation=self._isolation,
            session=session,
            line=key.line,
        )
        return self._throttle.limited(options)

    def _on_moved(self, partition: PartitionCopy) -> None:
        self.assign(partition)
        asyncio.get_running_loop().call_soon(self.start)

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            self.recoveries.fail(failure)

    async def stop(self) -> None:
        """Stop all fetching, and close the connections on which a response is outstanding."""
        tasks = [each.task for each in self._fetchers.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for line in {key.line for key in self._fetchers}:
            self.connections.source.drop(line)
        self._fetchers.clear()
