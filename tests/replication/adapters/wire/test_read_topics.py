"""The topics of a cluster, as a broker's Metadata response lists them."""

from __future__ import annotations

import struct
import uuid

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kafka.protocol.metadata import MetadataResponse

from replication.adapters.wire.topic_list import _after_partition, read_topics
from replication.client.admin import TopicInfo

Broker = MetadataResponse.MetadataResponseBroker
Topic = MetadataResponse.MetadataResponseTopic
Partition = Topic.MetadataResponsePartition
printable = st.characters(codec="utf-8", exclude_categories=["C", "Z"])
names = st.text(printable, max_size=150)
nodes = st.lists(st.integers(0, 2**31 - 1), max_size=3)
# So many replicas that their number takes two bytes are possible, though nobody has them.
replicas = nodes | st.integers(126, 130).map(lambda count: list(range(count)))
partitions = st.builds(
    Partition,
    error_code=st.sampled_from([0, 5]),
    partition_index=st.integers(0, 1000),
    leader_id=st.integers(-1, 9),
    leader_epoch=st.integers(-1, 9),
    replica_nodes=replicas,
    isr_nodes=replicas,
    offline_replicas=nodes,
)
topics = st.builds(
    Topic,
    error_code=st.sampled_from([0, 0, 0, 3, 29]),
    name=names.filter(bool),
    topic_id=st.uuids() | st.just(uuid.UUID(int=0)),
    is_internal=st.booleans(),
    partitions=st.lists(partitions, max_size=3)
    | partitions.map(lambda each: [each] * 130),  # their number takes two bytes too
)
responses = st.builds(
    MetadataResponse,
    throttle_time_ms=st.integers(0, 1000),
    brokers=st.lists(
        st.builds(
            Broker,
            node_id=st.integers(0, 9),
            host=names,
            port=st.integers(0, 65535),
            rack=st.none() | names,
        ),
        max_size=3,
    ),
    cluster_id=st.none() | names,
    controller_id=st.integers(-1, 9),
    topics=st.lists(topics, max_size=3, unique_by=lambda each: each.name),
)


@settings(phases=[Phase.explicit, Phase.generate])  # to find a smaller example takes minutes
@given(responses)
def test_topics_are_read_as_they_were_written(response):
    frame = struct.pack(">iB", 7, 0) + bytes(response.encode(version=12))
    assert read_topics(memoryview(frame)) == {
        each.name: TopicInfo(
            each.name,
            each.topic_id.hex if each.topic_id.int else "",
            len(each.partitions),
            min((len(p.replica_nodes) for p in each.partitions), default=0),
        )
        for each in response.topics
        if each.error_code == 0
    }


def test_a_tag_that_a_later_broker_adds_to_a_partition_is_skipped():
    head = bytes(2 + 4 + 4 + 4)  # error, number, leader, epoch
    nodes = b"\2" + bytes(4)
    plain = head + nodes * 3 + b"\0"
    tagged = head + nodes * 3 + b"\1\7\2ab"  # one: its number, its size, its content
    for frame in (plain, tagged):
        assert _after_partition(memoryview(frame + b"next"), 0) == len(frame)
