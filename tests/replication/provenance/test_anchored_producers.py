"""A registry of producer ids that has lost entries: completed from the anchors, or contradicted."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.fakes.memory_network import MemoryCluster

from replication.client.state_topic.state_log import StateLog
from replication.errors import ClusterUnavailable
from replication.provenance.anchored_producers import AnchoredProducers
from replication.provenance.producer_registry import SourceRegistry
from replication.state import PRODUCERS_TOPIC, Anchor, Claim, ProducerEntry, anchors_topic

ENTRY = ProducerEntry(5, "A->B", "a", "isthmus.A->B.0", 1000, 1, ("a",), "A")
FORMER = replace(ENTRY, producer_id=6, transactional_id="isthmus.A->B.1")
ANCHOR = Anchor(
    "A->B", "t", 0, "t", 9, 9, appenders=(("isthmus.A->B.0", 5),), run=(1001, 0, 0, 0, 0)
)


async def look_up(registry: list, anchors: list, *ids: int) -> SourceRegistry:
    cluster = MemoryCluster("b")
    if registry:
        await StateLog(cluster, PRODUCERS_TOPIC).append(registry)
    if anchors:
        await StateLog(cluster, anchors_topic("A")).append(anchors)
    found = SourceRegistry(cluster, anchored=AnchoredProducers(cluster))
    await found.look_up(ids)
    return found


def test_invariant_p1_an_id_of_a_former_unit_that_the_registry_lost_is_known_from_the_anchors():
    """BL-219."""
    registry = asyncio.run(look_up([ENTRY], [ENTRY, FORMER, ANCHOR], 5, 6, 7))
    assert registry.origins.entries == {5: ENTRY, 6: FORMER}
    assert registry.origins.unknown([5, 6, 7]) == set()


def test_invariant_p1_a_registry_that_is_gone_is_known_from_the_anchors():
    registry = asyncio.run(look_up([], [ENTRY, ANCHOR], 5))
    assert registry.origins.entries == {5: ENTRY}


@pytest.mark.parametrize(
    ("registry", "anchors", "why"),
    [
        pytest.param([], [ANCHOR], r"the producer id 5 \(isthmus.A->B.0\) of t-0", id="gone"),
        pytest.param([FORMER], [ANCHOR], "the producer id 5", id="an appender is missing"),
        pytest.param(
            [FORMER], [Claim("A->B", "t", 1, ANCHOR.appenders)], "id 5 .* of t-1", id="a claimant"
        ),
        pytest.param(
            [replace(ENTRY, at_ms=70_000)], [ANCHOR], "oldest entry is newer than its copy of t-0",
            id="written again after a loss",
        ),
    ],
)  # fmt: skip
def test_invariant_p1_nothing_counts_as_local_while_entries_are_known_to_be_missing(
    registry, anchors, why
):
    """BL-219."""
    with pytest.raises(ClusterUnavailable, match=rf"b has lost entries: A->B has copied .*{why}"):
        asyncio.run(look_up(registry, anchors, 9))


def test_a_registry_that_was_restored_is_believed_at_the_next_look():
    async def twice():
        cluster = MemoryCluster("b")
        await StateLog(cluster, anchors_topic("A")).append([ANCHOR])
        registry = SourceRegistry(cluster, anchored=AnchoredProducers(cluster))
        with pytest.raises(ClusterUnavailable):
            await registry.look_up([9])
        await StateLog(cluster, PRODUCERS_TOPIC).append([ENTRY])
        await registry.look_up([9])
        return registry.origins.unknown([5, 9])

    assert asyncio.run(twice()) == set()


def test_where_a_flow_was_granted_no_producer_id_nothing_is_missing():
    anchor = replace(ANCHOR, appenders=(("", -1),))
    asyncio.run(look_up([], [anchor], 9))


def test_anchors_that_our_user_may_not_see_are_left_out():
    async def look():
        cluster = MemoryCluster("b")
        await StateLog(cluster, anchors_topic("A")).append([ANCHOR])
        cluster.hidden = {anchors_topic("A")}
        await SourceRegistry(cluster, anchored=AnchoredProducers(cluster)).look_up([9])

    asyncio.run(look())
