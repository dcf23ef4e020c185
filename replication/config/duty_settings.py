"""What a flow does besides copying: the sections of its settings that say what and how often."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from replication.config.model import AclSync, ConfigSync
from replication.config.own_keys import TOPIC_CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.config.reading import Reader

NEVER = timedelta(0)


def read_configs(read: Reader) -> ConfigSync:
    """Return which topic configs follow the source."""
    defaults = ConfigSync()
    every = interval(read, "sync.topic.configs.interval.seconds", defaults.every)
    enabled = read.boolean("sync.topic.configs.enabled", default=True)
    return ConfigSync(
        enabled=enabled and every > NEVER,
        every=every,
        exclude=read.items("config.properties.exclude", defaults.exclude),
        defaults_from=read.choice("use.defaults.from", "target", "source|target"),
        overrides=tuple(_overrides(read)),
    )


def read_acls(read: Reader) -> AclSync:
    """Return which rights follow the source's."""
    every = interval(read, "sync.topic.acls.interval.seconds", AclSync().every)
    enabled = read.boolean("sync.topic.acls.enabled", default=True)
    return AclSync(
        enabled=enabled and every > NEVER,
        every=every,
        groups=read.boolean("sync.group.acls.enabled", default=False),
        delete=read.boolean("sync.topic.acls.delete", default=False),
    )


def interval(read: Reader, name: str, default: timedelta) -> timedelta:
    """Return how often a duty comes; a number below zero means never, as for MirrorMaker 2."""
    setting = read.props.get(name)
    if setting is not None and re.fullmatch(r"-\d+", setting.text.strip()):
        read.note(name, setting.text.strip(), setting)
        return NEVER
    return read.duration(name, default)


def _overrides(read: Reader) -> Iterator[tuple[str, str, str]]:
    """Yield what the file says of single topics' configs, in its order; the last one wins."""
    keys = [key for key in read.props if key.startswith(TOPIC_CONFIG)]
    for key in sorted(keys, key=lambda each: read.props[each].line):
        pattern, _, config = key.removeprefix(TOPIC_CONFIG).rpartition("/")
        yield pattern, config, read.text(key, "")
