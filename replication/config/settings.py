"""Build the sections of a flow from its resolved settings."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from replication.config import values
from replication.config.duty_settings import NEVER, interval
from replication.config.model import (
    CopySettings,
    GroupSettings,
    Selection,
    TopicCreation,
)
from replication.config.own_keys import FLOW
from replication.policies import Policies

if TYPE_CHECKING:
    from replication.config.findings import Notes
    from replication.config.reading import Reader

_DEFAULTS = Selection()
_LEAST = timedelta(milliseconds=100)  # between two rounds of anything
_FACTORS = (
    "replication.factor",
    "topic.creation.replication.factor",
    "topic.creation.default.replication.factor",
)


def read_selection(read: Reader, notes: Notes) -> Selection:
    """Return which topics and groups take part."""
    return Selection(
        topics=_topics(read, notes),
        topics_exclude=read.items("topics.exclude", _DEFAULTS.topics_exclude),
        groups=read.items("groups", _DEFAULTS.groups),
        groups_exclude=read.items("groups.exclude", _DEFAULTS.groups_exclude),
        heartbeats=read.boolean("heartbeats.replication.enabled", default=True),
    )


def read_creation(read: Reader) -> TopicCreation:
    """Return how topics are made on the target."""
    factor = read.first(*_FACTORS, "replication.factor")
    partitions, isr = "topic.creation.default.partitions", "topic.creation.min.insync.replicas"
    return TopicCreation(
        enabled=read.boolean("topic.creation.enable", default=True),
        replication_factor=read.whole(factor, 2, least=-1),
        default_partitions=read.whole(partitions, 1, least=1) if partitions in read.props else None,
        min_insync_replicas=read.whole(isr, 1, least=1) if isr in read.props else None,
        configs_strategy=read.choice(
            "sync.topic.configs.strategy", "FIRST", _choices("sync.topic.configs.strategy")
        ),
    )


def read_copying(read: Reader, consumer: Reader) -> CopySettings:
    """Return how the append engine works; ``consumer`` reads the source consumer's settings."""
    default_start = consumer.choice("auto.offset.reset", "earliest", "earliest|latest")
    nowhere: dict[str, dict[int, int]] = {}
    return CopySettings(
        units=read.whole("tasks.max", 1, least=1),
        isolation=consumer.choice(
            "isolation.level", "read_committed", "read_committed|read_uncommitted"
        ),
        buffer_bytes=max(read.bytes("copy.buffer.bytes", 64 << 20), 1 << 20),
        epoch=read.duration("copy.epoch.seconds", timedelta(seconds=30)),
        anchor_every=read.duration("copy.anchor.interval.ms", timedelta(seconds=1)),
        start=read.parsed("copy.start", default_start, values.start),
        start_offsets=read.parsed("copy.start.offsets", nowhere, values.start_offsets),
        client_rack=consumer.text("client.rack", ""),
        bytes_per_second=read.bytes("copy.max.bytes.per.second", 0),
        priority_topics=read.items("copy.priority.topics", ()),
        delivery=read.choice("copy.delivery", "auto", _choices("copy.delivery")),
    )


def read_groups(read: Reader) -> GroupSettings:
    """Return whether groups' positions are carried over, and how often."""
    default, key = GroupSettings(), "sync.group.offsets.interval.seconds"
    every = interval(read, key, default.every)
    return GroupSettings(
        sync=read.boolean("sync.group.offsets.enabled", default=False) and every > NEVER,
        every=max(every, _LEAST),
    )


def read_policies(read: Reader) -> Policies:
    """Return what is done without a person when a partition gets into a state."""
    defaults = Policies()
    policies = {
        name: read.choice(key, getattr(defaults, name), _choices(key))
        for name, key in {
            "lost_range": "on.lost.range",
            "source_recreated": "on.source.recreated",
            "source_truncated": "on.source.truncated",
            "target_reset": "on.target.reset",
            "target_foreign": "on.target.foreign",
            "target_exists": "on.target.exists",
            "refused": "on.refused",
        }.items()
    }
    dead_letters = read.boolean("dead.letters.enabled", default=False)
    return Policies(dead_letters=dead_letters, **policies)


def _choices(key: str) -> str:
    return FLOW[key].kind.removeprefix("choice ")


def _topics(read: Reader, notes: Notes) -> tuple[str, ...]:
    regex = read.props.get("topics.regex")
    if regex is None:
        topics = read.items("topics", _DEFAULTS.topics)
        if not topics and (setting := read.props.get("topics")):
            notes.warn(setting.at, "is empty, so that no topic is copied", "topics = .*")
        return topics
    if "topics" in read.props:
        notes.warn(regex.at, "is passed over, because topics is set too", "take one of them out")
        return read.items("topics", _DEFAULTS.topics)
    notes.warn(regex.at, "is not MirrorMaker 2's name", f"topics = {regex.text}")
    read.note("topics", regex.text, regex)
    return (read.resolve(regex.text).strip(),)
