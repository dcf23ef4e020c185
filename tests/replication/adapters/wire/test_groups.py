"""Consumer groups as their coordinators report them, and commits that coordinators reject."""

from __future__ import annotations

import asyncio

import pytest
from kafka.protocol.admin import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafka.protocol.consumer import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest, MetadataResponse
from support.fakes.scripted_network import ScriptedNetwork, coordinator, three_attempts

from replication.adapters.wire import groups as module
from replication.client.error_codes import ErrorCode
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import UNSTABLE, CommitGroup, Committed, Group

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
_Group = OffsetFetchResponse.OffsetFetchResponseGroup
_Topic = _Group.OffsetFetchResponseTopics
_Partition = _Topic.OffsetFetchResponsePartitions
_Committed = OffsetCommitResponse.OffsetCommitResponseTopic
_Described = DescribeGroupsResponse.DescribedGroup


def listing(*groups: tuple[str, str, str, str], error: int = 0) -> ListGroupsResponse:
    """Return a response; each group: name, protocol type, state and kind."""
    return ListGroupsResponse(
        throttle_time_ms=0,
        error_code=error,
        groups=[
            ListGroupsResponse.ListedGroup(
                group_id=name, protocol_type=protocol, group_state=state, group_type=kind
            )
            for name, protocol, state, kind in groups
        ],
    )


def offsets_topic(*leaders: int) -> MetadataResponse:
    """Return the metadata of __consumer_offsets: one partition for each leader, -1 for none."""
    topic = MetadataResponse.MetadataResponseTopic
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=[],
        cluster_id="c",
        controller_id=1,
        topics=[
            topic(
                error_code=0,
                name="__consumer_offsets",
                is_internal=True,
                partitions=[
                    topic.MetadataResponsePartition(
                        error_code=0,
                        partition_index=number,
                        leader_id=leader,
                        leader_epoch=0,
                        replica_nodes=[],
                        isr_nodes=[],
                        offline_replicas=[],
                    )
                    for number, leader in enumerate(leaders)
                ],
            )
        ],
    )


def fetched(*groups: tuple[str, int, list[tuple]]) -> OffsetFetchResponse:
    """Return a response; each group: name, error, and (partition, offset, metadata, error)."""
    return OffsetFetchResponse(
        throttle_time_ms=0,
        groups=[
            _Group(
                group_id=name,
                error_code=error,
                topics=[
                    _Topic(
                        name=where.topic,
                        partitions=[
                            _Partition(
                                partition_index=where.partition,
                                committed_offset=offset,
                                committed_leader_epoch=-1,
                                metadata=metadata,
                                error_code=code,
                            )
                        ],
                    )
                    for where, offset, metadata, code in positions
                ],
            )
            for name, error, positions in groups
        ],
    )


def committed(**errors: int) -> OffsetCommitResponse:
    """Return a response; ``a0=3``: error 3 for partition 0 of topic a."""
    return OffsetCommitResponse(
        throttle_time_ms=0,
        topics=[
            _Committed(
                name=name[0],
                partitions=[
                    _Committed.OffsetCommitResponsePartition(
                        partition_index=int(name[1:]), error_code=code
                    )
                ],
            )
            for name, code in errors.items()
        ],
    )


@pytest.fixture
def network(monkeypatch) -> ScriptedNetwork:
    monkeypatch.setattr(module, "attempts", three_attempts)
    monkeypatch.setattr(module, "_PAUSES_S", (0, 0, 0, 0))
    network = ScriptedNetwork()
    network._connections.learn({1: ("b1", 90), 2: ("b2", 90)})
    network.responses[MetadataRequest] = [offsets_topic(1, 2)]
    return network


def test_groups_are_listed_with_state_kind_and_coordinator(network):
    network.responses[ListGroupsRequest] = [
        lambda node, _: listing((f"g{node}", "consumer", "Stable", "Consumer"))
    ]
    found = asyncio.run(network.groups.listed())
    assert found == {
        "g1": Group("g1", "Stable", "consumer", 1),
        "g2": Group("g2", "Stable", "consumer", 2),
    }
    assert sorted(network.nodes(ListGroupsRequest)) == [1, 2], "bootstrap addresses are not asked"
    assert network.groups.unavailable == {}


def test_classic_groups_that_commit_no_offsets_are_not_listed(network):
    network._connections.learn({1: ("b1", 90)})
    network.responses[ListGroupsRequest] = [
        listing(
            ("consumers", "consumer", "Empty", ""),
            ("offsets only", "", "Empty", "classic"),
            ("workers", "connect", "Stable", "classic"),
            ("shared", "share", "Stable", "Share"),
        )
    ]
    found = asyncio.run(network.groups.listed())
    assert {name: each.kind for name, each in found.items()} == {
        "consumers": "classic",
        "offsets only": "classic",
        "shared": "share",
    }


def test_groups_of_brokers_that_answer_are_listed_while_another_is_silent(network):
    silent = ClusterUnavailable("broker 2 is silent")
    network.responses[ListGroupsRequest] = [listing(("g", "consumer", "Empty", "")), silent]
    assert list(asyncio.run(network.groups.listed())) == ["g"]
    assert network.groups.unavailable == {2: "broker 2 is silent"}
    network.responses[ListGroupsRequest] = [listing()]
    asyncio.run(network.groups.listed())
    assert network.groups.unavailable == {}


def test_while_no_broker_answers_nothing_is_listed(network):
    network.responses[ListGroupsRequest] = [ClusterUnavailable("silent")]
    with pytest.raises(ClusterUnavailable, match="silent"):
        asyncio.run(network.groups.listed())


def test_a_coordinator_that_loads_is_asked_again(network):
    network._connections.learn({1: ("b1", 90)})
    loading = listing(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    network.responses[ListGroupsRequest] = [loading, listing(("g", "consumer", "Empty", ""))]
    assert list(asyncio.run(network.groups.listed())) == ["g"]
    network.responses[ListGroupsRequest] = [loading]
    with pytest.raises(ClusterUnavailable, match="the coordinators are not ready"):
        asyncio.run(network.groups.listed())


def test_a_user_that_may_not_list_groups_is_told_so(network):
    network.responses[ListGroupsRequest] = [listing(error=31)]
    with pytest.raises(ClusterRejected, match="listing groups: error 31"):
        asyncio.run(network.groups.listed())


def test_groups_in_partitions_without_a_leader_are_unavailable(network):
    network.responses[ListGroupsRequest] = [listing()]
    network.responses[MetadataRequest] = [offsets_topic(1, -1, 0, *[-1] * 6)]
    asyncio.run(network.groups.listed())
    assert network.groups.unavailable == {
        -1: "groups in partition 1, 3, 4, 5, 6, … of __consumer_offsets have no coordinator"
    }
    network.responses[MetadataRequest] = [offsets_topic(*[-1] * 5)]
    asyncio.run(network.groups.listed())
    assert network.groups.unavailable[-1].startswith("groups in partition 0, 1, 2, 3, 4 of")


def test_positions_are_read_at_each_groups_coordinator(network):
    network.responses[OffsetFetchRequest] = [
        lambda node, _: fetched((f"g{node}", 0, [(A0, 10 * node, "note", 0), (B0, 7, None, 0)]))
    ]
    asked = [Group("g1", node=1), Group("g2", node=2), Group("s", kind="share", node=3)]
    assert asyncio.run(network.groups.positions(asked)) == {
        f"g{node}": {A0: Committed(10 * node, "note"), B0: Committed(7)} for node in (1, 2)
    }
    (first,) = (request for node, request in network.sent if node == 1)
    assert first.require_stable
    assert [(each.group_id, each.topics) for each in first.groups] == [("g1", None)]
    assert 3 not in network.nodes(OffsetFetchRequest)


def test_positions_of_a_group_that_nobody_listed_are_read_at_the_coordinator_that_is_found(network):
    network.responses[FindCoordinatorRequest] = [coordinator(6, "g")]
    network.responses[OffsetFetchRequest] = [fetched(("g", 0, [(A0, 5, "", 0)]))]
    assert asyncio.run(network.groups.positions([Group("g")])) == {"g": {A0: Committed(5)}}
    assert network.nodes(OffsetFetchRequest) == [6]


def test_that_a_group_has_no_coordinator_is_why_its_positions_are_not_known(network):
    network.responses[FindCoordinatorRequest] = [coordinator(-1, "g", error=15)]
    assert asyncio.run(network.groups.positions([Group("g")])) == {}
    assert network.groups.unavailable == {-1: "group g has no coordinator"}


def test_a_position_in_an_open_transaction_is_unstable(network):
    network.responses[OffsetFetchRequest] = [fetched(("g", 0, [(A0, -1, "", 88)]))]
    found = asyncio.run(network.groups.positions([Group("g", node=1)]))
    assert found == {"g": {A0: Committed(UNSTABLE)}}


def test_many_groups_are_read_in_slices(network, monkeypatch):
    monkeypatch.setattr(module, "_GROUPS_PER_REQUEST", 2)
    network.responses[OffsetFetchRequest] = [
        lambda _, request: fetched(*((each.group_id, 0, []) for each in request.groups))
    ]
    names = ["a", "b", "c", "d", "e"]
    found = asyncio.run(network.groups.positions([Group(each, node=1) for each in names]))
    assert list(found) == names
    assert [len(each.groups) for each in network.requests(OffsetFetchRequest)] == [2, 2, 1]


def test_a_coordinator_that_is_silent_or_not_ready_leaves_its_groups_out(network):
    moved = fetched(("g1", ErrorCode.NOT_COORDINATOR, []), ("h", 0, [(A0, 5, "", 0)]))
    network.responses[OffsetFetchRequest] = [moved, ClusterUnavailable("broker 2 is silent")]
    asked = [Group("g1", node=1), Group("h", node=1), Group("g2", node=2)]
    assert asyncio.run(network.groups.positions(asked)) == {"h": {A0: Committed(5)}}
    assert network.groups.unavailable == {
        1: "coordinator 1 is not ready: error 16 (NOT_COORDINATOR)",
        2: "broker 2 is silent",
    }


def test_a_group_that_is_gone_has_no_positions(network):
    network.responses[OffsetFetchRequest] = [fetched(("g", ErrorCode.GROUP_ID_NOT_FOUND, []))]
    assert asyncio.run(network.groups.positions([Group("g", node=1)])) == {}
    assert network.groups.unreadable == {}


def test_a_group_that_may_not_be_read_is_named_and_holds_up_no_other(network):
    network.responses[OffsetFetchRequest] = [
        fetched(("g", 30, []), ("h", 0, [(A0, 5, "", 0)]), ("odd", 99, []))
    ]
    asked = [Group(each, node=1) for each in ("g", "h", "odd")]
    assert asyncio.run(network.groups.positions(asked)) == {"h": {A0: Committed(5)}}
    assert network.groups.unreadable == {
        "g": "reading its offsets: Isthmus' user needs DESCRIBE on the group there",
        "odd": "reading its offsets: error 99",
    }


def test_a_group_counts_as_one_that_may_not_be_read_until_it_is_read_or_gone(network):
    network.responses[OffsetFetchRequest] = [fetched(("g", 30, []), ("h", 30, []), ("i", 30, []))]
    asked = [Group(each, node=1) for each in ("g", "h", "i")]
    asyncio.run(network.groups.positions(asked))
    network.responses[ListGroupsRequest] = [
        listing(*((each, "consumer", "Empty", "classic") for each in ("g", "h")))
    ]
    asyncio.run(network.groups.listed())
    assert set(network.groups.unreadable) == {"g", "h"}
    gone = ("h", ErrorCode.GROUP_ID_NOT_FOUND, [])
    network.responses[OffsetFetchRequest] = [fetched(("g", 0, [(A0, 5, "", 0)]), gone)]
    asyncio.run(network.groups.positions(asked[:2]))
    assert network.groups.unreadable == {}


def test_while_a_broker_does_not_list_its_groups_none_of_them_counts_as_gone(network):
    network.responses[OffsetFetchRequest] = [fetched(("g", 30, []))]
    asyncio.run(network.groups.positions([Group("g", node=1)]))
    network.responses[ListGroupsRequest] = [ClusterUnavailable("silent"), listing()]
    asyncio.run(network.groups.listed())
    assert set(network.groups.unreadable) == {"g"}


COMMIT = CommitGroup("g", {B0: Committed(3), A1: Committed(9, "note"), A0: Committed(5)}, node=1)


def refused(network, commit: CommitGroup) -> str:
    """Return the error with which a commit is refused."""
    (error,) = asyncio.run(network.groups.commit([commit])).values()
    return repr(error)


def test_a_commit_carries_all_positions_and_no_member(network):
    network.responses[OffsetCommitRequest] = [committed(a0=0, a1=0, b0=0)]
    assert asyncio.run(network.groups.commit([COMMIT])) == {}
    (asked,) = network.requests(OffsetCommitRequest)
    assert (asked.group_id, asked.member_id, asked.group_instance_id) == ("g", "", None)
    assert asked.generation_id_or_member_epoch == -1
    assert [
        (t.name, p.partition_index, p.committed_offset, p.committed_metadata)
        for t in asked.topics
        for p in t.partitions
    ] == [("a", 0, 5, ""), ("a", 1, 9, "note"), ("b", 0, 3, "")]
    assert {p.committed_leader_epoch for t in asked.topics for p in t.partitions} == {-1}


def test_a_rejected_commit_says_why_and_where(network):
    network.responses[OffsetCommitRequest] = [committed(a0=0, a1=25, b0=99)]
    why = "it has active members on the target (a-1); error 99 (b-0)"
    assert refused(network, COMMIT) == f"ClusterRejected('{why}')"


def test_a_commit_that_timed_out_may_pass(network):
    network.responses[OffsetCommitRequest] = [committed(a0=0, a1=7, b0=0)]
    assert refused(network, COMMIT) == "ClusterUnavailable('error 7 (REQUEST_TIMED_OUT) (a-1)')"


def test_a_commit_follows_a_coordinator_that_moved(network):
    network.responses[OffsetCommitRequest] = [
        committed(a0=16, a1=0, b0=0),
        committed(a0=0, a1=0, b0=0),
    ]
    network.responses[FindCoordinatorRequest] = [coordinator(6, "g")]
    assert asyncio.run(network.groups.commit([COMMIT])) == {}
    assert network.nodes(OffsetCommitRequest) == [1, 6]
    (asked,) = network.requests(FindCoordinatorRequest)
    assert (asked.key_type, asked.coordinator_keys) == (0, ["g"])


def test_a_commit_whose_coordinator_is_never_ready_is_reported(network):
    network.responses[OffsetCommitRequest] = [committed(a0=16, a1=0, b0=0)]
    network.responses[FindCoordinatorRequest] = [coordinator(6, "g")]
    assert refused(network, COMMIT) == "ClusterUnavailable('error 16 (NOT_COORDINATOR) (a-0)')"
    assert len(network.requests(OffsetCommitRequest)) == 4


def test_an_offset_of_which_the_response_says_nothing_was_not_committed(network):
    network.responses[OffsetCommitRequest] = [committed(a0=0, b0=0)]
    assert refused(network, COMMIT) == "ClusterRejected('the response lacks a-1')"


def test_a_new_group_is_committed_at_the_coordinator_that_is_found_for_it(network):
    network.responses[OffsetCommitRequest] = [committed(a0=0)]
    network.responses[FindCoordinatorRequest] = [coordinator(6, "g")]
    new = CommitGroup("g", {A0: Committed(5)})
    assert asyncio.run(network.groups.commit([new])) == {}
    assert network.nodes(OffsetCommitRequest) == [6]


def test_a_group_without_a_coordinator_is_reported(network):
    network.responses[FindCoordinatorRequest] = [coordinator(-1, "g", error=15)]
    new = CommitGroup("g", {A0: Committed(5)})
    assert refused(network, new) == "ClusterUnavailable('it has no coordinator')"


def test_a_coordinator_that_does_not_answer_a_commit_is_the_reason(network):
    network.responses[OffsetCommitRequest] = [ClusterUnavailable("broker 1 is silent")]
    assert refused(network, COMMIT) == "ClusterUnavailable('broker 1 is silent')"


def described(members: int, error: int = 0) -> DescribeGroupsResponse:
    member = _Described.DescribedGroupMember(
        member_id="m",
        group_instance_id=None,
        client_id="c",
        client_host="h",
        member_metadata=b"",
        member_assignment=b"",
    )
    group = _Described(
        error_code=error,
        group_id="workers",
        group_state="Stable",
        protocol_type="connect",
        protocol_data="",
        members=[member] * members,
    )
    return DescribeGroupsResponse(throttle_time_ms=0, groups=[group])


def test_the_members_of_a_group_are_counted_at_its_coordinator(network):
    network.responses[DescribeGroupsRequest] = [described(3)]
    assert asyncio.run(network.members("workers")) == 3
    (find,) = network.requests(FindCoordinatorRequest)
    assert (find.key_type, find.coordinator_keys) == (0, ["workers"])
    assert network.nodes(DescribeGroupsRequest) == [5]
    assert network.requests(DescribeGroupsRequest)[0].groups == ["workers"]
    assert network._connections.brokers[5] == ("b5", 9092)


def test_a_group_that_does_not_exist_has_no_members(network):
    network.responses[DescribeGroupsRequest] = [described(0, ErrorCode.GROUP_ID_NOT_FOUND)]
    assert asyncio.run(network.members("workers")) == 0


def test_members_are_asked_again_while_the_coordinator_moves(network):
    away = coordinator(-1, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    network.responses[FindCoordinatorRequest] = [away, coordinator(5), coordinator(6)]
    network.responses[DescribeGroupsRequest] = [described(0, 16), described(2)]
    assert asyncio.run(network.members("workers")) == 2
    assert network.nodes(DescribeGroupsRequest) == [5, 6]


@pytest.mark.parametrize(("code", "error"), [(30, ClusterRejected), (14, ClusterUnavailable)])
def test_members_that_may_not_be_counted_are_an_error(network, code, error):
    network.responses[DescribeGroupsRequest] = [described(0, code)]
    with pytest.raises(error, match="describing group workers: "):
        asyncio.run(network.members("workers"))
