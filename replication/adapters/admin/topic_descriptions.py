"""Converts topics and their configs between the client library's classes and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigSource

from replication.client.admin import ConfigValue, SetBy, TopicInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from confluent_kafka import Uuid
    from confluent_kafka.admin import TopicDescription


_SET_BY = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value: SetBy.TOPIC,
    ConfigSource.DYNAMIC_BROKER_CONFIG.value: SetBy.BROKERS,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value: SetBy.BROKERS,
    ConfigSource.STATIC_BROKER_CONFIG.value: SetBy.FILE,
    ConfigSource.DEFAULT_CONFIG.value: SetBy.DEFAULT,
}


def settings(entries: Iterable[ConfigEntry]) -> dict[str, ConfigValue]:
    """Return what an operator may change and read. What the cluster does not explain is left out.

    ``source`` is a number at run time, whatever the library's stubs say.
    """
    return {
        each.name: ConfigValue(each.value, set_by)
        for each in entries
        if not (each.is_read_only or each.is_sensitive)
        and (set_by := _SET_BY.get(cast("int", each.source))) is not None
        and each.value is not None
    }


def alterations(changes: Mapping[str, str | None]) -> list[ConfigEntry]:
    """Return changes as the library takes them; None unsets."""
    operation = {True: AlterConfigOpType.DELETE, False: AlterConfigOpType.SET}
    return [
        ConfigEntry(name, value, incremental_operation=operation[value is None])
        for name, value in changes.items()
    ]


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
