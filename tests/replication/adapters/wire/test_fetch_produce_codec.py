"""Our bytes of Fetch and Produce against kafka-python's generated classes, both ways."""

from __future__ import annotations

import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from replication.adapters.wire import fetch_produce_codec
from replication.client.fetch_session import FetchOptions, FetchSession
from replication.client.fetch_values import FetchEntry
from replication.client.network import Ack

FETCH_VERSIONS, PRODUCE_VERSIONS = [13, 14, 15, 16], [9, 10, 11, 12]
int16, int32 = st.integers(-(2**15), 2**15 - 1), st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=200)
topic_ids = st.uuids().map(lambda each: each.bytes)
records = st.binary(min_size=1, max_size=300)

entries = st.lists(
    st.builds(FetchEntry, topic_ids, int32, int64, int32, int32),
    max_size=5,
    unique_by=lambda e: e[0],
).flatmap(
    lambda some: st.just([replaced for e in some for replaced in (e, e._replace(partition=3))])
)
options = st.builds(
    FetchOptions,
    max_wait_ms=int32,
    min_bytes=int32,
    max_bytes=int32,
    partition_bytes=int32,
    isolation=st.sampled_from([0, 1]),
    rack=st.text(max_size=5),
    session=st.none()
    | st.builds(
        FetchSession,
        int32,
        int32,
        st.dictionaries(st.tuples(topic_ids, int32), st.none(), max_size=4),
    ),
)


@given(entries, options, st.sampled_from(FETCH_VERSIONS))
def test_a_fetch_request_says_what_was_asked(asked, limits, version):
    body = fetch_produce_codec.fetch_request(asked, limits, version)
    decoded = FetchRequest.decode(body, version=version)
    assert (decoded.max_wait_ms, decoded.min_bytes, decoded.max_bytes) == (
        limits.max_wait_ms,
        limits.min_bytes,
        limits.max_bytes,
    )
    assert (decoded.isolation_level, decoded.rack_id) == (limits.isolation, limits.rack)
    session = limits.session or FetchSession(0, -1)
    assert (decoded.session_id, decoded.session_epoch) == (session.id, session.epoch)
    assert decoded.replica_id == -1
    assert session.forgotten.keys() == {
        (topic.topic_id.bytes, each)
        for topic in decoded.forgotten_topics_data
        for each in topic.partitions
    }
    assert asked == [
        FetchEntry(
            topic.topic_id.bytes,
            *(p.partition, p.fetch_offset, p.current_leader_epoch, p.last_fetched_epoch),
        )
        for topic in decoded.topics
        for p in topic.partitions
    ]
    listed = [p for topic in decoded.topics for p in topic.partitions]
    assert all(p.partition_max_bytes == limits.partition_bytes for p in listed)
    assert len({each.topic_id for each in decoded.topics}) == len(decoded.topics)


Topic = FetchResponse.FetchableTopicResponse
Partition = Topic.PartitionData
partitions = st.builds(
    Partition,
    partition_index=int32,
    error_code=int16,
    high_watermark=int64,
    last_stable_offset=int64,
    log_start_offset=int64,
    aborted_transactions=st.none()
    | st.lists(
        st.builds(Partition.AbortedTransaction, producer_id=int64, first_offset=int64), max_size=3
    ),
    preferred_read_replica=int32,
    records=st.none() | records,
    current_leader=st.builds(Partition.LeaderIdAndEpoch, leader_id=int32, leader_epoch=int32),
    diverging_epoch=st.builds(Partition.EpochEndOffset, epoch=int32, end_offset=int64),
)
fetch_responses = st.builds(
    FetchResponse,
    throttle_time_ms=int32,
    error_code=int16,
    session_id=int32,
    responses=st.lists(
        st.builds(Topic, topic_id=st.uuids(), partitions=st.lists(partitions, max_size=3)),
        max_size=3,
    ),
    node_endpoints=st.just([]),
)


def framed(response, version: int) -> memoryview:
    """Return an answer as it comes from a channel: correlation id, no tags, body."""
    return memoryview(struct.pack(">iB", 7, 0) + bytes(response.encode(version=version)))


@given(fetch_responses, st.sampled_from(FETCH_VERSIONS))
def test_a_fetch_response_is_read_as_it_was_written(response, version):
    error, session, found = fetch_produce_codec.fetch_response(framed(response, version))
    assert (error, session) == (response.error_code, response.session_id)
    assert (
        fetch_produce_codec.fetch_throttle_ms(framed(response, version))
        == response.throttle_time_ms
    )
    expected = [(t.topic_id.bytes, p) for t in response.responses for p in t.partitions]
    assert len(found) == len(expected)
    for each, (topic_id, decoded) in zip(found, expected, strict=True):
        assert (each.topic_id, each.partition, each.error) == (
            topic_id,
            decoded.partition_index,
            decoded.error_code,
        )
        assert (each.high_watermark, each.stable, each.log_start, each.preferred_replica) == (
            decoded.high_watermark,
            decoded.last_stable_offset,
            decoded.log_start_offset,
            decoded.preferred_read_replica,
        )
        assert bytes(each.records) == (decoded.records or b"")
        assert each.aborted == [
            (a.producer_id, a.first_offset) for a in decoded.aborted_transactions or ()
        ]
        other, leader = decoded.diverging_epoch, decoded.current_leader
        assert each.diverging in {(other.epoch, other.end_offset), None}
        assert each.diverging is not None or (other.epoch, other.end_offset) == (-1, -1)
        assert each.leader in {(leader.leader_id, leader.leader_epoch), None}
        assert each.leader is not None or (leader.leader_id, leader.leader_epoch) == (-1, -1)


@given(fetch_responses, st.data())
def test_a_fetch_response_that_is_cut_off_is_malformed_or_says_less(response, data):
    whole = framed(response, 13)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        _, _, found = fetch_produce_codec.fetch_response(cut)
    except fetch_produce_codec.MALFORMED:
        return
    assert len(found) <= sum(len(topic.partitions) for topic in response.responses)


appends = st.dictionaries(
    names, st.dictionaries(st.integers(0, 2**31 - 1), records, min_size=1, max_size=3), max_size=3
)


@given(appends, st.integers(0, 60_000), st.sampled_from(PRODUCE_VERSIONS))
def test_a_produce_request_carries_the_batches_where_they_lie(topics, timeout, version):
    batches = [(t, p, memoryview(b)) for t, listed in topics.items() for p, b in listed.items()]
    producer_batches = fetch_produce_codec.produce_request(batches, timeout)
    decoded = ProduceRequest.decode(b"".join(producer_batches), version=version)
    assert (decoded.acks, decoded.timeout_ms, decoded.transactional_id) == (-1, timeout, None)
    assert [
        (topic.name, each.index, bytes(each.records))
        for topic in decoded.topic_data
        for each in topic.partition_data
    ] == [(topic, partition, bytes(batch)) for topic, partition, batch in batches]
    assert all(
        any(producer_batch is batch for producer_batch in producer_batches)
        for _, _, batch in batches
    )


Answer = ProduceResponse.TopicProduceResponse.PartitionProduceResponse
maybe_text = st.none() | st.text(max_size=200)
answers = st.builds(
    Answer,
    index=int32,
    error_code=int16,
    base_offset=int64,
    log_append_time_ms=int64,
    log_start_offset=int64,
    record_errors=st.lists(
        st.builds(
            Answer.BatchIndexAndErrorMessage,
            batch_index=int32,
            batch_index_error_message=maybe_text,
        ),
        max_size=3,
    ),
    error_message=maybe_text,
    current_leader=st.builds(Answer.LeaderIdAndEpoch, leader_id=int32, leader_epoch=int32),
)
produce_responses = st.builds(
    ProduceResponse,
    responses=st.lists(
        st.builds(
            ProduceResponse.TopicProduceResponse,
            name=names,
            partition_responses=st.lists(answers, max_size=3),
        ),
        max_size=3,
    ),
    throttle_time_ms=int32,
    node_endpoints=st.just([]),
)


@given(produce_responses, st.sampled_from(PRODUCE_VERSIONS))
def test_a_produce_response_is_read_as_it_was_written(response, version):
    acks, throttled_ms = fetch_produce_codec.produce_response(framed(response, version))
    assert throttled_ms == response.throttle_time_ms
    assert acks == [
        Ack(topic.name, each.index, each.error_code, each.base_offset, _told(each))
        for topic in response.responses
        for each in topic.partition_responses
    ]


def _told(each) -> str:
    details = [e.batch_index_error_message for e in each.record_errors]
    return each.error_message or next(filter(None, details), "")


@given(st.sampled_from([0, 1]), st.integers(0, 20), int32, st.text(max_size=40))
def test_a_request_head_is_kafkas_flexible_one(key, version, correlation, client):
    head = fetch_produce_codec.request_head(key, version, correlation, client)
    raw = client.encode()
    assert head == struct.pack(">hhih", key, version, correlation, len(raw)) + raw + b"\0"


@given(st.integers(0, (1 << 35) - 1))
def test_unsigned_numbers_are_read_back(value):
    encoded = fetch_produce_codec.uvarint(value)
    assert fetch_produce_codec.read_uvarint(memoryview(encoded), 0) == (value, len(encoded))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tags_that_we_do_not_know_are_skipped(count):
    tags = b"".join(bytes((each, 2)) + b"xy" for each in range(count))
    assert fetch_produce_codec.skip_tags(
        memoryview(bytes((count,)) + tags + b"rest"), 0
    ) == 1 + len(tags)


def test_a_topic_stands_once_with_all_its_partitions():
    one, other = (uuid.UUID(int=each) for each in (1, 2))
    entries = ((one, 0, 10), (one, 1, 11), (other, 2, 12))
    asked = [FetchEntry(topic.bytes, number, offset) for topic, number, offset in entries]
    decoded = FetchRequest.decode(
        fetch_produce_codec.fetch_request(asked, FetchOptions(), 13), version=13
    )
    assert [
        (each.topic_id, [(p.partition, p.fetch_offset) for p in each.partitions])
        for each in decoded.topics
    ] == [(one, [(0, 10), (1, 11)]), (other, [(2, 12)])]
