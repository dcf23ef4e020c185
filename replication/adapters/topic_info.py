"""What the client's description of a topic says, in our words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.ports import TopicInfo

if TYPE_CHECKING:
    from confluent_kafka import Uuid
    from confluent_kafka.admin import TopicDescription


def info(topic: TopicDescription) -> TopicInfo:
    """Return what we know a topic by; its replicas are those of the partition with the fewest."""
    replicas = min((len(each.replicas) for each in topic.partitions), default=0)
    return TopicInfo(topic.name, _hex(topic.topic_id), len(topic.partitions), replicas)


def _hex(uuid: Uuid | None) -> str:
    """Return the id's 32 hex digits; empty for clusters that have no topic ids."""
    if uuid is None:
        return ""
    high = uuid.get_most_significant_bits()  # type: ignore[attr-defined] # missing in the stubs
    low = uuid.get_least_significant_bits()  # type: ignore[attr-defined] # as above
    number = (high % (1 << 64)) << 64 | low % (1 << 64)
    return f"{number:032x}" if number else ""
