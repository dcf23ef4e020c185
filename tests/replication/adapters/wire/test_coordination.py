"""What a transaction coordinator's responses lead to: retry, another coordinator, or an error."""

from __future__ import annotations

import asyncio

import pytest
from kafka.protocol.admin import DescribeTransactionsRequest, DescribeTransactionsResponse
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from support.fakes.scripted_network import ScriptedNetwork, coordinator, three_attempts

from replication.adapters.wire import coordination as module
from replication.client.error_codes import ErrorCode
from replication.client.network import Fenced, NotGranted
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import ProducerIdAndEpoch, TopicPartition

OURS = ProducerIdAndEpoch(42, 3)
A0, A1, B7 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 7)
_Topic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
_Partition = _Topic.AddPartitionsToTxnPartitionResult


def granted(error: int = 0, producer: ProducerIdAndEpoch = OURS) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        throttle_time_ms=0,
        error_code=error,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
    )


def ended(error: int = 0) -> EndTxnResponse:
    return EndTxnResponse(throttle_time_ms=0, error_code=error)


def added(**errors: int) -> AddPartitionsToTxnResponse:
    """Return a response; ``a0=3``: error 3 for partition 0 of topic a."""
    return AddPartitionsToTxnResponse(
        throttle_time_ms=0,
        results_by_topic_v3_and_below=[
            _Topic(
                name=name[0],
                results_by_partition=[
                    _Partition(partition_index=int(name[1:]), partition_error_code=code)
                ],
            )
            for name, code in errors.items()
        ],
    )


@pytest.fixture
def network(monkeypatch) -> ScriptedNetwork:
    monkeypatch.setattr(module, "attempts", three_attempts)
    return ScriptedNetwork()


def test_a_producer_id_comes_from_the_coordinator_of_its_transactional_id(network):
    network.responses[InitProducerIdRequest] = [granted()]
    assert asyncio.run(network.init_producer_id("isthmus.f.0")) == OURS
    (find,) = network.requests(FindCoordinatorRequest)
    assert (find.key_type, find.coordinator_keys) == (1, ["isthmus.f.0"])
    (init,) = network.requests(InitProducerIdRequest)
    assert (init.transactional_id, init.transaction_timeout_ms) == ("isthmus.f.0", 10_000)
    assert (init.producer_id, init.producer_epoch) == (-1, -1)
    assert network.nodes(InitProducerIdRequest) == [5]
    assert network._connections.brokers[5] == ("b5", 9092)


def test_a_coordinator_is_looked_up_once(network):
    network.responses[InitProducerIdRequest] = [granted()]
    for name in ("one", "one", "two"):
        asyncio.run(network.init_producer_id(name))
    looked_up = [each.coordinator_keys for each in network.requests(FindCoordinatorRequest)]
    assert looked_up == [["one"], ["two"]]


@pytest.mark.parametrize(
    "moved",
    [
        granted(ErrorCode.NOT_COORDINATOR),
        granted(ErrorCode.COORDINATOR_NOT_AVAILABLE),
        granted(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        ClusterUnavailable("broker 5 does not answer"),
    ],
    ids=["moved", "not available", "loading", "no answer"],
)
def test_a_coordinator_that_moved_is_looked_up_again(network, moved):
    network.responses[FindCoordinatorRequest] = [coordinator(5), coordinator(6)]
    network.responses[InitProducerIdRequest] = [moved, granted()]
    assert asyncio.run(network.init_producer_id("t")) == OURS
    assert network.nodes(InitProducerIdRequest) == [5, 6]


def test_a_coordinator_that_is_not_elected_yet_is_looked_up_again(network):
    away = coordinator(-1, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    network.responses[FindCoordinatorRequest] = [away, coordinator(6)]
    network.responses[InitProducerIdRequest] = [granted()]
    assert asyncio.run(network.init_producer_id("t")) == OURS
    assert network.nodes(InitProducerIdRequest) == [6]


def test_while_the_last_transactions_markers_are_missing_the_same_coordinator_is_asked(network):
    busy = granted(ErrorCode.CONCURRENT_TRANSACTIONS)
    network.responses[InitProducerIdRequest] = [*[busy] * 4, granted()]
    assert asyncio.run(network.init_producer_id("t")) == OURS
    assert network.nodes(InitProducerIdRequest) == [5] * 5
    assert len(network.requests(FindCoordinatorRequest)) == 1


def test_markers_that_never_come_end_in_an_error_that_may_be_retried(network, monkeypatch):
    monkeypatch.setattr(module, "_MARKER_PAUSE_S", 0)
    network.responses[InitProducerIdRequest] = [granted(ErrorCode.CONCURRENT_TRANSACTIONS)]
    with pytest.raises(ClusterUnavailable, match="InitProducerId for t: error 51"):
        asyncio.run(network.init_producer_id("t"))
    assert len(network.requests(InitProducerIdRequest)) == 3 * module._MARKER_TRIES


def test_a_coordinator_that_never_answers_is_unavailable(network):
    network.responses[InitProducerIdRequest] = [ClusterUnavailable("broker 5 does not answer")]
    with pytest.raises(ClusterUnavailable, match="InitProducerId for t: broker 5 does not answer"):
        asyncio.run(network.init_producer_id("t"))
    assert len(network.requests(FindCoordinatorRequest)) == 3


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.INVALID_PRODUCER_EPOCH, Fenced),
        (ErrorCode.PRODUCER_FENCED, Fenced),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotGranted),
        (ErrorCode.UNSUPPORTED_VERSION, NotGranted),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NotGranted),
        (ErrorCode.INVALID_TXN_STATE, ClusterRejected),
    ],
)
def test_a_final_error_is_raised_at_once_as_what_it_means(network, code, error):
    network.responses[InitProducerIdRequest] = [granted(code)]
    with pytest.raises(
        ClusterRejected, match=rf"InitProducerId for t: error {code:d} \({code.name}\)$"
    ) as raised:
        asyncio.run(network.init_producer_id("t"))
    assert type(raised.value) is error
    assert len(network.requests(InitProducerIdRequest)) == 1


def test_a_user_that_may_not_find_the_coordinator_is_told_so(network):
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    network.responses[FindCoordinatorRequest] = [coordinator(-1, error=denied)]
    with pytest.raises(NotGranted, match="finding the coordinator of t: error 53"):
        asyncio.run(network.init_producer_id("t"))


def described(error: int = 0, producer: ProducerIdAndEpoch = OURS) -> DescribeTransactionsResponse:
    state = DescribeTransactionsResponse.TransactionState(
        error_code=error,
        transactional_id="t",
        transaction_state="Empty",
        transaction_timeout_ms=0,
        transaction_start_time_ms=-1,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=[],
    )
    return DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=[state])


def test_the_coordinator_says_which_producer_holds_a_transactional_id_now(network):
    network.responses[DescribeTransactionsRequest] = [
        described(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        described(),
        described(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ProducerIdAndEpoch(-1, -1)),
    ]
    assert asyncio.run(network.current_producer("isthmus.f.0")) == OURS
    assert network.requests(DescribeTransactionsRequest)[0].transactional_ids == ["isthmus.f.0"]
    assert asyncio.run(network.current_producer("isthmus.f.0")) is None


def test_a_user_that_may_not_see_who_holds_a_transactional_id_is_told_so(network):
    network.responses[DescribeTransactionsRequest] = [
        described(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    ]
    with pytest.raises(NotGranted, match="DescribeTransactions for isthmus"):
        asyncio.run(network.current_producer("isthmus.f.0"))


def test_a_plain_producer_id_comes_from_any_broker_that_can_give_one(network):
    network.responses[InitProducerIdRequest] = [
        granted(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        granted(),
    ]
    assert asyncio.run(network.plain_producer_id()) == OURS
    assert network.nodes(InitProducerIdRequest) == [None, None]
    asked = network.requests(InitProducerIdRequest)[0]
    assert (asked.transactional_id, asked.producer_id, asked.producer_epoch) == (None, -1, -1)
    assert asked.transaction_timeout_ms == 10_000


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotGranted),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ClusterUnavailable),
    ],
)
def test_without_a_plain_producer_id_the_reason_is_raised(network, code, error):
    network.responses[InitProducerIdRequest] = [granted(code)]
    with pytest.raises(error, match="requesting a producer id: "):
        asyncio.run(network.plain_producer_id())


def test_partitions_are_added_by_topic_and_those_that_are_refused_are_returned(network):
    refused = {
        "a1": ErrorCode.OPERATION_NOT_ATTEMPTED,
        "b7": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
    network.responses[AddPartitionsToTxnRequest] = [added(a0=0, **refused)]
    found = asyncio.run(network.add_to_transaction("t", OURS, [B7, A1, A0]))
    assert found == {A1: 55, B7: 29}
    (asked,) = network.requests(AddPartitionsToTxnRequest)
    assert asked.v3_and_below_transactional_id == "t"
    assert (asked.v3_and_below_producer_id, asked.v3_and_below_producer_epoch) == OURS
    listed = [(each.name, list(each.partitions)) for each in asked.v3_and_below_topics]
    assert listed == [("a", [0, 1]), ("b", [7])]


def test_a_partition_of_which_the_response_says_nothing_was_not_added(network):
    network.responses[AddPartitionsToTxnRequest] = [added(a0=0)]
    with pytest.raises(ClusterUnavailable, match="t: the response lacks some partitions"):
        asyncio.run(network.add_to_transaction("t", OURS, [A0, A1]))


def test_an_error_of_the_producer_is_no_error_of_a_partition(network):
    network.responses[AddPartitionsToTxnRequest] = [added(a0=3, a1=47, b7=48)]
    with pytest.raises(
        Fenced,
        match=r"AddPartitionsToTxn for t: error 47 \(\w+EPOCH\), error 48 \(INVALID_TXN_STATE\)$",
    ):
        asyncio.run(network.add_to_transaction("t", OURS, [A0, A1, B7]))


def test_adding_waits_for_the_last_transactions_markers_in_any_partition(network):
    network.responses[AddPartitionsToTxnRequest] = [added(a0=0, a1=51), added(a0=0, a1=0)]
    assert asyncio.run(network.add_to_transaction("t", OURS, [A0, A1])) == {}


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_ends_as_it_was_meant(network, commit):
    network.responses[EndTxnRequest] = [ended(ErrorCode.CONCURRENT_TRANSACTIONS), ended()]
    asyncio.run(network.end_transaction("t", OURS, commit=commit))
    asked = network.requests(EndTxnRequest)[-1]
    assert (asked.transactional_id, asked.committed) == ("t", commit)
    assert (asked.producer_id, asked.producer_epoch) == OURS


def test_invariant_b_a_fence_is_an_aborted_transaction_of_the_partitions(network):
    network.responses[AddPartitionsToTxnRequest] = [added(a0=0, a1=0)]
    network.responses[EndTxnRequest] = [ended()]
    asyncio.run(network.fence("t", OURS, [A0, A1]))
    (joined,) = network.requests(AddPartitionsToTxnRequest)
    (asked,) = network.requests(EndTxnRequest)
    assert (joined.v3_and_below_producer_id, joined.v3_and_below_producer_epoch) == OURS
    assert [list(each.partitions) for each in joined.v3_and_below_topics] == [[0, 1]]
    assert (asked.transactional_id, asked.producer_id, asked.producer_epoch) == ("t", *OURS)
    assert asked.committed is False


def test_invariant_b_a_fence_that_is_refused_in_a_partition_raises_and_ends_nothing(network):
    network.responses[AddPartitionsToTxnRequest] = [added(a0=55, a1=3, b7=0)]
    network.responses[EndTxnRequest] = [ended()]
    with pytest.raises(
        ClusterRejected, match=r"^fencing t: a-0: error 55 \(\w+\), a-1: error 3 \(\w+\)$"
    ):
        asyncio.run(network.fence("t", OURS, [A0, A1, B7]))
    assert network.requests(EndTxnRequest) == []
