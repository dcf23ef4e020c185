"""Writes the file of a backfill: a batch flow beside a stream, bounded where the stream began.

Clients, policies and delivery are those of the stream. The source has an alias of its own, so the
flow is another one; a map file gives its topics the names that the stream gives them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from replication.config.derived_file import taken_over

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from replication.model import TopicPartition
    from replication.settings.config import Config
    from replication.state.backfill_names import BackfillNames

# What the backfill sets itself, or has no use for; the first words of keys.
_LEFT_OUT = (
    "clusters",
    "enabled",
    "mode",
    "batch.",
    "topics",
    "topic.config.",
    "topic.creation.",
    "groups",
    "replication.policy.",
    "heartbeats.replication.enabled",
    "emit.",
    "offset-syncs.topic.location",
    "cycle.prevention",
    "transform",
    "predicates",
    "sync.",
    "copy.start",
    "copy.until",
    "copy.max.bytes.per.second",
    "tasks.max",
    "spark.conf.spark.driver.memory",
    "spark.conf.spark.executor.memory",
    "spark.conf.spark.cores.max",
    "lag.",
    "rpo.",
    "alert.",
    "metrics.",
    "drill.",
    "verify.",
    "dagster.",
)


class BoundedTopic(NamedTuple):
    """The history of one partition: source offsets ``[begin, end)``."""

    source: TopicPartition
    target_topic: str
    begin: int
    end: int


class Budget(NamedTuple):
    """What a backfill may use: units at once, memory of a JVM, bytes a second (0: no limit)."""

    units: int
    memory_bytes: int
    bytes_per_second: int = 0


def backfill_file(
    config: Config,
    names: BackfillNames,
    parts: Iterable[BoundedTopic],
    budget: Budget,
    map_file: str,
) -> str:
    """Return the text. Raises ConfigError where the flow's own file has errors by now."""
    renamed = {names.source: names.source_alias, names.target: names.target}
    own = _own(names, tuple(parts), map_file)
    return "\n".join([*taken_over(config, renamed, _LEFT_OUT), *own, *_limits(config, budget), ""])


def topic_map(parts: Iterable[BoundedTopic]) -> str:
    """Return the text of the map file."""
    names = sorted({(each.source.topic, each.target_topic) for each in parts})
    return "".join(f"{topic} = {target}\n" for topic, target in names)


def _own(names: BackfillNames, parts: tuple[BoundedTopic, ...], map_file: str) -> Iterator[str]:
    yield f"clusters = {names.source_alias}, {names.target}"
    settings = {
        "enabled": "true",
        "mode": "batch",
        "topics": _exact(each.source.topic for each in parts),
        "topics.exclude": "",
        "topics.map.file": map_file,
        "topics.merge": _exact(each.target_topic for each in parts),
        "topic.creation.enable": "false",
        "cycle.prevention": "names",  # no topic with copies of other clusters is backfilled
        "copy.start.offsets": _triples((each.source, each.begin) for each in parts),
        "copy.until.offsets": _triples((each.source, each.end) for each in parts),
        "heartbeats.replication.enabled": "false",
        "emit.heartbeats.enabled": "false",
        "emit.checkpoints.enabled": "false",
        "sync.topic.configs.enabled": "false",
        "sync.topic.acls.enabled": "false",
        "sync.group.offsets.enabled": "false",
    }
    yield from (f"{names.flow}.{key} = {value}" for key, value in settings.items())


def _limits(config: Config, budget: Budget) -> Iterator[str]:
    yield f"tasks.max = {budget.units}"
    yield f"copy.max.bytes.per.second = {budget.bytes_per_second}"
    memory = f"{budget.memory_bytes >> 20}m"
    if config.spark.master.startswith("local"):
        yield f"spark.conf.spark.driver.memory = {memory}"
    else:
        yield f"spark.conf.spark.executor.memory = {memory}"
        yield f"spark.conf.spark.cores.max = {budget.units}"


def _exact(topics: Iterable[str]) -> str:
    """Return a pattern for each topic that matches nothing else."""
    return ", ".join(each.replace(".", "[.]") for each in sorted(set(topics)))


def _triples(places: Iterable[tuple[TopicPartition, int]]) -> str:
    return ", ".join(f"{where.topic}:{where.partition}:{offset}" for where, offset in places)
