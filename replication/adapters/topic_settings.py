"""Topic configs between the client library's words and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigSource

from replication.ports import ConfigValue, SetBy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
