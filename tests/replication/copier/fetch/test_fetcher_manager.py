"""Which broker each partition is fetched from, and what a fetcher is told when it starts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.copier.partition_copies import a_partition, a_start

from replication.client.fetch_values import Leader
from replication.client.preferred_replicas import Replicas
from replication.copier.fetch import fetcher_manager as module
from replication.copier.fetch.fetcher_manager import FetcherKey, FetcherManager
from replication.model import NO_LEADER_EPOCH


class Idle:
    """A fetcher that fetches nothing; ``failure`` ends it."""

    made: dict[tuple[int, bool], Idle]

    def __init__(self, node, first, request, shared, options) -> None:
        self.request, self.options = request, options
        self.ending: asyncio.Future = asyncio.get_running_loop().create_future()
        self.is_over = False
        self.made[node, first] = self

    async def run(self) -> None:
        try:
            await self.ending
        finally:
            self.is_over = True


class Source:
    """Brokers 1 and 2; ``leaders``: by partition number."""

    def __init__(self) -> None:
        self.leaders: dict[int, Leader] = {0: Leader(1, 5), 1: Leader(2, 6)}
        self.dropped: list[str] = []

    def leader(self, partition):
        return self.leaders.get(partition.partition)

    def drop(self, line: str) -> None:
        self.dropped.append(line)


@pytest.fixture
def made(monkeypatch):
    """Return the fetchers that were made, by node and whether they are of priority topics."""
    found = Idle.made = {}
    monkeypatch.setattr(module, "Fetcher", Idle)
    return found


def managed(check, isolation: str = "read_committed") -> None:
    """Let ``check`` work with a manager, its source and the failures that it reports."""
    copying = SimpleNamespace(
        client_rack="", bytes_per_second=0, buffer_bytes=64 << 20, isolation=isolation
    )
    source, failures = Source(), []
    connections = SimpleNamespace(source=source, replicas=Replicas(""), sessions={})
    recoveries = SimpleNamespace(fail=failures.append)

    async def run() -> None:
        manager = FetcherManager(
            SimpleNamespace(copying=copying), connections, None, None, recoveries
        )
        try:
            await check(manager, source, failures)
        finally:
            await manager.stop()

    asyncio.run(run())


def a_copy(number: int = 0, *, first: bool = False):
    partition = a_partition(a_start(number))
    partition.plan = replace(partition.plan, first=first)
    return partition


@pytest.mark.parametrize(("isolation", "number"), [("read_committed", 1), ("read_uncommitted", 0)])
def test_a_fetcher_has_the_isolation_the_session_and_the_connection_of_its_broker(
    made, isolation, number
):
    async def check(manager, _source, _failures) -> None:
        for each in (a_copy(0), a_copy(0, first=True)):
            manager.assign(each)
        manager.start()
        assert sorted(made) == [(1, False), (1, True)]
        for (node, first), fetcher in made.items():
            options, key = fetcher.options, FetcherKey(node, first)
            assert options.isolation == number
            assert options.session is manager.connections.sessions[key]
            assert options.line == ("fetch first" if first else "fetch")

    managed(check, isolation)


def test_a_partition_whose_leader_moved_is_fetched_from_the_new_one_alone(made):
    async def check(manager, source, _failures) -> None:
        moved, stays = a_copy(0), a_copy(1)
        for each in (moved, stays):
            manager.assign(each)
        manager.start()
        former = made[1, False]
        await asyncio.sleep(0)  # it begins
        source.leaders[0] = Leader(2, 7)
        manager.assign(moved)
        manager.start()
        await asyncio.sleep(0)
        assert list(made[2, False].request.partitions) == [stays, moved]
        assert not former.request.partitions
        await asyncio.sleep(0)
        assert former.is_over
        assert sorted(made) == [(1, False), (2, False)], "no other one was made"

    managed(check)


def test_a_partition_is_fetched_from_its_preferred_replica_and_without_a_leader_from_nobody(made):
    async def check(manager, _source, _failures) -> None:
        near, lost = a_copy(0), a_copy(3)
        manager.connections.replicas.prefer(near.source, 9, module.time.monotonic())
        for each in (near, lost):
            manager.assign(each)
        manager.start()
        assert list(made) == [(9, False)]
        assert manager._leader_epoch(near) == 5
        assert manager._leader_epoch(lost) == NO_LEADER_EPOCH

    managed(check)


@pytest.mark.usefixtures("made")
def test_a_priority_topic_counts_as_behind_until_its_first_response_and_only_once():
    async def check(manager, source, _failures) -> None:
        urgent, other = a_copy(0, first=True), a_copy(1)
        for each in (urgent, other):
            manager.assign(each)
        behind = manager._throttle.behind
        assert behind == {urgent}
        behind.clear()  # its first response has come
        source.leaders = {0: Leader(2, 7), 1: Leader(1, 7)}
        for each in (urgent, other):
            manager.assign(each)
        assert behind == set(), "it moved, and is no further behind for that"
        behind.add(urgent)
        manager.unassign(urgent)
        assert behind == set(), "it would hold all others back for ever"

    managed(check)


def test_what_leaves_before_its_fetcher_started_leaves_nothing_to_start(made):
    async def check(manager, _source, _failures) -> None:
        partition = a_copy()
        manager.assign(partition)
        manager.unassign(partition)
        manager.start()
        assert made == {}

    managed(check)


def test_a_fetcher_that_fails_ends_the_unit_and_one_that_is_not_needed_does_not(made):
    async def check(manager, _source, failures) -> None:
        fails, leaves = a_copy(0), a_copy(1)
        for each in (fails, leaves):
            manager.assign(each)
        manager.start()
        manager.unassign(leaves)
        manager.start()
        problem = RuntimeError("a bug")
        made[1, False].ending.set_exception(problem)
        for _ in range(4):
            await asyncio.sleep(0)
        assert failures == [problem]

    managed(check)


@pytest.mark.usefixtures("made")
def test_at_the_end_the_connections_of_all_fetchers_are_closed():
    sources = []

    async def check(manager, source, _failures) -> None:
        manager.assign(a_copy())
        manager.start()
        sources.append(source)

    managed(check)
    assert set(sources[0].dropped) >= {"fetch"}
    assert None not in sources[0].dropped
