"""The requests of the cluster probe, and what their responses say."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import (
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from replication.adapters.wire.fetch_produce_codec import CONSUMER_REPLICA_ID
from replication.client.cluster_facts import LogDir, Quota
from replication.client.error_codes import named_error
from replication.model import NO_LEADER_EPOCH, IsolationLevel

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

# Codes of org.apache.kafka.common.acl.AclOperation.
_OPERATIONS = {
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
}
_METADATA_LOG = "__cluster_metadata"
FIRST_TIMESTAMP = 0  # ListOffsets: the first record whose timestamp is not before it
_Topic = ListOffsetsRequest.ListOffsetsTopic


def operations(codes: Collection[int] | None) -> frozenset[str] | None:
    """Return the operations that a response allows; None: it tells nothing."""
    if codes is None:
        return None
    return frozenset(name for code, name in _OPERATIONS.items() if code in codes)


def metadata(topics: Iterable[str]) -> Any:
    """Ask for brokers, leaders, and what our user may do with each topic."""
    named = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        topics=[named(topic_id=uuid.UUID(int=0), name=each) for each in topics],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )


def cluster() -> Any:
    """Ask what our user may do with the cluster."""
    return DescribeClusterRequest(include_cluster_authorized_operations=True)


def groups(names: Sequence[str]) -> Any:
    """Ask what our user may do with consumer groups."""
    return DescribeGroupsRequest(groups=list(names), include_authorized_operations=True)


def log_dirs() -> Any:
    """Ask for log directories, without the partitions in them."""
    return DescribeLogDirsRequest(topics=[])


def read_log_dirs(broker: int, answer: Any) -> Iterator[LogDir]:
    """Yield a broker's log directories."""
    for each in answer.results:
        problem = named_error(each.error_code) if each.error_code else ""
        total, usable = (
            None if size is None or size < 0 else int(size)
            for size in (each.total_bytes, each.usable_bytes)
        )
        yield LogDir(broker, each.log_dir, total, usable, problem)


def quotas() -> Any:
    """Ask for all quotas."""
    return DescribeClientQuotasRequest(components=[], strict=False)


def read_quotas(answer: Any) -> Iterator[Quota]:
    """Yield the quotas of each entity."""
    for each in answer.entries or ():
        entity = tuple((part.entity_type, part.entity_name) for part in each.entity)
        yield Quota(entity, {value.key: float(value.value) for value in each.values})


def quorum() -> Any:
    """Ask the controllers' leader for the state of their log: it says its own time (KIP-836)."""
    partition = DescribeQuorumRequest.TopicData.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name=_METADATA_LOG, partitions=[partition])
    return DescribeQuorumRequest(topics=[topic])


def read_leader(answer: Any) -> tuple[int | None, int | None]:
    """Return the leading controller and its wall clock in ms; None: it is older than 3.3."""
    for topic in answer.topics:
        for each in topic.partitions:
            voters = {voter.replica_id: voter for voter in each.current_voters}
            leader = voters.get(each.leader_id)
            if leader is not None and leader.last_caught_up_timestamp > 0:
                return int(each.leader_id), int(leader.last_caught_up_timestamp)
    return None, None


def times(partitions: Mapping[str, Sequence[int]], timestamp: int) -> Any:
    """Ask for the record of each partition that ``timestamp`` names."""
    part = _Topic.ListOffsetsPartition
    return ListOffsetsRequest(
        replica_id=CONSUMER_REPLICA_ID,
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        topics=[
            _Topic(
                name=topic,
                partitions=[
                    part(
                        partition_index=number,
                        current_leader_epoch=NO_LEADER_EPOCH,
                        timestamp=timestamp,
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in partitions.items()
        ],
    )
