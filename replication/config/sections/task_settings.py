"""Builds the settings of the periodic tasks of a flow: configs, ACLs and group offsets."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from replication.config.keys.own_keys import TOPIC_CONFIG
from replication.settings.mm2_settings import GroupSettings
from replication.settings.topic_settings import AclSync, ConfigSync

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.config.sections.section_reader import Reader

NEVER = timedelta(0)


def read_configs(read: Reader) -> ConfigSync:
    """Return which topic configs follow the source."""
    found = read.section(ConfigSync, overrides=tuple(_overrides(read)))
    return found.model_copy(update={"enabled": found.enabled and found.every > NEVER})


def read_acls(read: Reader) -> AclSync:
    """Return which ACLs follow the source's."""
    found = read.section(AclSync)
    return found.model_copy(update={"enabled": found.enabled and found.every > NEVER})


def read_groups(read: Reader) -> GroupSettings:
    """Return whether groups' offsets are synced, and how often."""
    found = read.section(GroupSettings)
    return found.model_copy(update={"sync": found.sync and found.every > NEVER})


def _overrides(read: Reader) -> Iterator[tuple[str, str, str]]:
    """Yield what the file says of single topics' configs, in its order; the last one wins."""
    keys = [key for key in read.props if key.startswith(TOPIC_CONFIG)]
    for key in sorted(keys, key=lambda each: read.props[each].line):
        pattern, _, config = key.removeprefix(TOPIC_CONFIG).rpartition("/")
        yield pattern, config, read.text(key)
