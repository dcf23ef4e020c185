"""Whether a cluster has a registry of producer ids, and when that is believed."""

from __future__ import annotations

import asyncio

import pytest
from support.fakes.memory_network import MemoryCluster

from replication.client.state_topic.state_log import StateLog
from replication.errors import ClusterUnavailable
from replication.provenance import producer_registry
from replication.provenance.producer_registry import SourceRegistry
from replication.state import PRODUCERS_TOPIC, ProducerEntry


class Lagging(MemoryCluster):
    """Lists no registry before so many metadata requests."""

    asks = 0

    async def refresh(self, topics) -> None:
        await super().refresh(topics)
        self.asks -= 1

    def topic_id(self, topic: str) -> bytes | None:
        return None if topic == PRODUCERS_TOPIC and self.asks > 0 else super().topic_id(topic)


@pytest.fixture(autouse=True)
def quickly(monkeypatch) -> None:
    monkeypatch.setattr(producer_registry, "_PAUSE_S", 0.001)


async def with_an_entry() -> Lagging:
    cluster = Lagging()
    entry = ProducerEntry(5, "C->A", "c", "isthmus.C->A.0", 0, 1, ("c",), "C")
    await StateLog(cluster, PRODUCERS_TOPIC).append([entry])
    return cluster


def test_invariant_p1_a_registry_that_is_not_shown_at_once_is_asked_for_again():
    async def read():
        cluster = await with_an_entry()
        cluster.asks = 3
        found = SourceRegistry(cluster)
        await found.look_up([5], needed=True)
        return found.origins.entries

    assert asyncio.run(read()).keys() == {5}


@pytest.mark.parametrize("exists", [True, False], ids=["known to exist", "seen before"])
def test_invariant_p1_a_registry_that_was_there_is_never_taken_for_none(exists):
    async def read():
        cluster = await with_an_entry()
        found = SourceRegistry(cluster, exists=exists)
        if not exists:
            await found.look_up([6])
        cluster.asks = 1000
        with pytest.raises(ClusterUnavailable, match="is no longer listed"):
            await found.look_up([7])
        return found.origins.unknown([7])

    assert asyncio.run(read()) == {7}


def test_where_nobody_has_copied_to_all_is_born_there():
    async def read():
        cluster = Lagging()
        cluster.asks = 1000
        found = SourceRegistry(cluster)
        await found.look_up([5], needed=True)
        return found.origins.unknown([5])

    assert asyncio.run(read()) == set()
