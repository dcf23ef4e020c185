"""What a cluster's metadata and ListOffsets responses lead to."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from support.fakes.scripted_network import ScriptedNetwork, three_attempts

from replication.adapters.wire import list_offsets as module
from replication.client.error_codes import ErrorCode
from replication.client.fetch_values import Leader
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import EARLIEST_LOCAL_TIMESTAMP, TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
ID = uuid.UUID(int=7)
_Topic = MetadataResponse.MetadataResponseTopic
_Partition = _Topic.MetadataResponsePartition
_Offsets = ListOffsetsResponse.ListOffsetsTopicResponse
_Offset = _Offsets.ListOffsetsPartitionResponse


def metadata(*leaders: tuple[TopicPartition, int, int], brokers=(1, 2), error=0, name="a"):
    """Return a response about one topic; ``leaders``: partition, node and leader epoch."""
    partitions = [
        _Partition(
            error_code=0,
            partition_index=where.partition,
            leader_id=node,
            leader_epoch=epoch,
            replica_nodes=[],
            isr_nodes=[],
            offline_replicas=[],
        )
        for where, node, epoch in leaders
    ]
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=[
            MetadataResponse.MetadataResponseBroker(node_id=n, host=f"b{n}", port=90, rack=None)
            for n in brokers
        ],
        cluster_id="cluster-1",
        controller_id=1,
        topics=[
            _Topic(
                error_code=error, name=name, topic_id=ID, is_internal=False, partitions=partitions
            )
        ],
    )


def offsets(*listed: tuple[TopicPartition, int, int]) -> ListOffsetsResponse:
    """Return a response; ``listed``: partition, error and offset."""
    return ListOffsetsResponse(
        throttle_time_ms=0,
        topics=[
            _Offsets(
                name=where.topic,
                partitions=[
                    _Offset(
                        partition_index=where.partition,
                        error_code=error,
                        timestamp=-1,
                        offset=offset,
                        leader_epoch=0,
                    )
                ],
            )
            for where, error, offset in listed
        ],
    )


@pytest.fixture
def network(monkeypatch) -> ScriptedNetwork:
    monkeypatch.setattr(module, "attempts", three_attempts)
    return ScriptedNetwork()


def refreshed(network: ScriptedNetwork, *responses, topics=("a",)) -> None:
    for each in responses:
        network.responses[MetadataRequest] = [each]
        asyncio.run(network.refresh(topics))


def test_a_refresh_asks_for_its_topics_once_each_and_creates_none(network):
    refreshed(network, metadata((A0, 1, 4)), topics=["b", "a", "b"])
    (asked,) = network.requests(MetadataRequest)
    assert [each.name for each in asked.topics] == ["a", "b"]
    assert not asked.allow_auto_topic_creation


def test_a_refresh_learns_the_cluster_its_brokers_leaders_and_topic_ids(network):
    refreshed(network, metadata((A0, 1, 4), (A1, -1, 4)))
    assert network.cluster_id == "cluster-1"
    assert network._connections.brokers == {
        1: ("b1", 90),
        2: ("b2", 90),
        -1: ("bootstrap", 9092),
    }
    assert network.leader(A0) == Leader(1, 4)
    assert network.leader(A1) is None
    assert network.topic_id("a") == ID.bytes


def test_a_refresh_forgets_what_its_topics_have_no_longer_and_nothing_of_others(network):
    refreshed(network, metadata((A0, 1, 4), (A1, 2, 4)))
    refreshed(network, metadata((B0, 2, 1), name="b"), topics=["b"])
    gone = metadata(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refreshed(network, gone)
    assert [network.leader(each) for each in (A0, A1, B0)] == [None, None, Leader(2, 1)]
    assert (network.topic_id("a"), network.topic_id("b")) == (None, ID.bytes)


def test_a_topic_is_denied_until_a_refresh_shows_it(network):
    refreshed(network, metadata(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert (network.denied("a"), network.denied("b")) == (True, False)
    refreshed(network, metadata((A0, 1, 4)))
    assert not network.denied("a")


def test_a_leader_that_a_broker_names_counts_if_it_is_newer_and_known(network):
    refreshed(network, metadata((A0, 1, 4)))
    assert not network.learn(A0, Leader(2, 4))
    assert not network.learn(A0, Leader(3, 5)), "its address is not known"
    assert network.leader(A0) == Leader(1, 4)
    assert network.learn(A0, Leader(2, 5))
    assert network.learn(A1, Leader(2, 0))
    assert (network.leader(A0), network.leader(A1)) == (Leader(2, 5), Leader(2, 0))


def test_offsets_of_one_leader_are_asked_for_in_one_request(network):
    refreshed(network, metadata((A0, 1, 4), (A1, 1, 4)))
    refreshed(network, metadata((B0, 2, 1), name="b"), topics=["b"])

    def answer(node, request):
        asked = [
            TopicPartition(t.name, p.partition_index) for t in request.topics for p in t.partitions
        ]
        return offsets(*((each, 0, 100 * node + each.partition) for each in asked))

    network.responses[ListOffsetsRequest] = [answer]

    async def ask() -> list[int]:
        return await asyncio.gather(*(network.offset_at(each, -2) for each in (A1, B0, A0)))

    assert asyncio.run(ask()) == [101, 200, 100]
    assert sorted(network.nodes(ListOffsetsRequest)) == [1, 2]
    first = next(each for node, each in network.sent if node == 1)
    assert (first.replica_id, first.isolation_level) == (-1, 0)
    assert [(t.name, [p.partition_index for p in t.partitions]) for t in first.topics] == [
        ("a", [0, 1])
    ]
    assert {p.timestamp for t in first.topics for p in t.partitions} == {-2}


def test_offsets_at_two_times_are_two_requests(network):
    refreshed(network, metadata((A0, 1, 4)))
    network.responses[ListOffsetsRequest] = [
        lambda _, asked: offsets((A0, 0, -asked.topics[0].partitions[0].timestamp))
    ]

    async def ask() -> list[int]:
        return await asyncio.gather(network.offset_at(A0, -1), network.offset_at(A0, -2))

    assert asyncio.run(ask()) == [1, 2]


def test_the_start_on_the_brokers_own_disk_is_asked_in_a_version_that_knows_it(network):
    refreshed(network, metadata((A0, 1, 4)))
    network.responses[ListOffsetsRequest] = [offsets((A0, 0, 9))]
    assert asyncio.run(network.offset_at(A0, EARLIEST_LOCAL_TIMESTAMP)) == 9
    assert asyncio.run(network.offset_at(A0, -2)) == 9
    assert [each.API_VERSION for each in network.requests(ListOffsetsRequest)] == [8, 7]


def test_an_offset_is_asked_of_the_new_leader_when_the_leader_moved(network):
    refreshed(network, metadata((A0, 1, 4)))
    network.responses[MetadataRequest] = [metadata((A0, 2, 5))]
    moved = offsets((A0, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1))
    network.responses[ListOffsetsRequest] = [moved, offsets((A0, 0, 9))]
    assert asyncio.run(network.offset_at(A0, -1)) == 9
    assert network.nodes(ListOffsetsRequest) == [1, 2]


def test_without_a_leader_metadata_is_asked_for_until_there_is_one(network):
    network.responses[MetadataRequest] = [metadata((A0, -1, 4)), metadata((A0, 1, 5))]
    network.responses[ListOffsetsRequest] = [offsets((A0, 0, 9))]
    assert asyncio.run(network.offset_at(A0, -1)) == 9
    assert len(network.requests(MetadataRequest)) == 2


def test_a_partition_that_never_has_a_leader_is_unavailable(network):
    network.responses[MetadataRequest] = [metadata((A0, -1, 4))]
    with pytest.raises(ClusterUnavailable, match="an offset of a-0: the leader does not answer"):
        asyncio.run(network.offset_at(A0, -1))
    assert network.requests(ListOffsetsRequest) == []


@pytest.mark.parametrize(
    ("response", "code"),
    [(offsets((A0, ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1)), 29), (offsets((A1, 0, 5)), 3)],
    ids=["not authorized", "left out of the response"],
)
def test_a_partition_of_which_no_offset_is_told_is_an_error(network, response, code):
    refreshed(network, metadata((A0, 1, 4)))
    network.responses[ListOffsetsRequest] = [response]
    with pytest.raises(ClusterRejected, match=f"requesting an offset of a-0: error {code}"):
        asyncio.run(network.offset_at(A0, -1))


def test_an_error_of_a_request_reaches_everyone_who_waits_for_it(network):
    refreshed(network, metadata((A0, 1, 4), (A1, 1, 4)))
    network.responses[ListOffsetsRequest] = [ClusterUnavailable("broker 1 is silent")]

    async def ask() -> list[object]:
        asking = (network.offset_at(each, -1) for each in (A0, A1))
        return await asyncio.gather(*asking, return_exceptions=True)

    assert [str(each) for each in asyncio.run(ask())] == ["broker 1 is silent"] * 2
    assert len(network.requests(ListOffsetsRequest)) == 1


@pytest.mark.parametrize(("error", "listed"), [(0, {"a"}), (29, set())])
def test_all_topics_are_listed_that_our_user_may_describe(error, listed):
    network = ScriptedNetwork()
    network.responses[MetadataRequest] = [metadata((A0, 1, 5), error=error)]
    assert asyncio.run(network.topic_names()) == listed
    (request,) = network.requests(MetadataRequest)
    assert (request.topics, request.allow_auto_topic_creation) == (None, False)
