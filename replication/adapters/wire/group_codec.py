"""Converts consumer group offsets between kafka-python's messages and our values. Pure."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafka.protocol.consumer import OffsetCommitRequest

from replication.client.error_codes import ErrorCode, named_error
from replication.model import NO_LEADER_EPOCH, TopicPartition
from replication.offsets.groups.consumer_groups import UNSTABLE, Committed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.offsets.groups.consumer_groups import CommitGroup, Positions

UNREADABLE: dict[int, str] = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Isthmus' user needs DESCRIBE on the group there",
}
REASONS: dict[int, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "the target has no such partition",
    ErrorCode.UNKNOWN_MEMBER_ID: "it has active members on the target",
    ErrorCode.ILLEGAL_GENERATION: "it has active members on the target",
    ErrorCode.REBALANCE_IN_PROGRESS: "it is rebalancing on the target",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Isthmus' user needs READ on the topic on the target",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (
        "Isthmus' user needs READ on the group and its topics on the target"
    ),
    ErrorCode.GROUP_ID_NOT_FOUND: "on the target it is not a consumer group that commits offsets",
    ErrorCode.STALE_MEMBER_EPOCH: "it has active members on the target",
}
_Topic = OffsetCommitRequest.OffsetCommitRequestTopic
_Partition = _Topic.OffsetCommitRequestPartition


def kind_of(group: Any) -> str:
    return (getattr(group, "group_type", None) or "classic").lower()


def positions_of(group: Any) -> Positions:
    return {
        TopicPartition(topic.name, each.partition_index): Committed(
            UNSTABLE if each.error_code else each.committed_offset, each.metadata or ""
        )
        for topic in group.topics
        for each in topic.partitions
    }


def commit_request(action: CommitGroup) -> Any:
    by_topic = groupby(sorted(action.positions.items()), key=lambda each: each[0].topic)
    return OffsetCommitRequest(
        group_id=action.group,
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        topics=[
            _Topic(
                name=topic,
                partitions=[
                    _Partition(
                        partition_index=where.partition,
                        committed_offset=position.offset,
                        committed_leader_epoch=NO_LEADER_EPOCH,
                        committed_metadata=position.metadata,
                    )
                    for where, position in listed
                ],
            )
            for topic, listed in by_topic
        ],
    )


def rejection(answer: Any, action: CommitGroup) -> tuple[set[int], str]:
    """Return the error codes of a commit and the reasons; both empty if it succeeded.

    It did not for partitions that the response leaves out.
    """
    errors: Mapping[int, str] = {
        each.error_code: f"{topic.name}-{each.partition_index}"
        for topic in answer.topics
        for each in topic.partitions
        if each.error_code
    }
    answered = {
        TopicPartition(topic.name, each.partition_index)
        for topic in answer.topics
        for each in topic.partitions
    }
    reasons = [f"{REASONS.get(code, named_error(code))} ({at})" for code, at in errors.items()]
    if missing := sorted(action.positions.keys() - answered):
        reasons.append(f"the response lacks {missing[0]}")
    return set(errors), "; ".join(reasons)
