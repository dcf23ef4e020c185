"""How topics are created on the target, and how their configs and ACLs follow the source's."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from replication.settings.section import Section
from replication.settings.setting_key import Key, KeyLevel


class TopicCreation(Section):
    """How topics are created on the target."""

    enabled: Annotated[
        bool,
        Key("topic.creation.enable", "boolean", "create missing topics", level=KeyLevel.CREATION),
    ] = True  # fmt: skip
    replication_factor: Annotated[
        int,
        Key("replication.factor", "int",
            "replication factor of copies; `-1`: the target's default",
            least=-1, level=KeyLevel.CONNECTOR),
        Key("topic.creation.replication.factor", "int", "the same; `replication.factor` wins",
            least=-1, level=KeyLevel.CREATION),
        Key("topic.creation.default.replication.factor", "int",
            "the same; used if neither of the two above is set", least=-1, level=KeyLevel.CREATION),
    ] = 2  # -1: the target broker's default  # fmt: skip
    default_partitions: Annotated[
        int | None,
        Key("topic.creation.default.partitions", "int",
            "minimum number of partitions at creation; afterwards a topic grows with its source",
            least=1, level=KeyLevel.CREATION),
    ] = None  # fmt: skip
    min_insync_replicas: Annotated[
        int | None,
        Key("topic.creation.min.insync.replicas", "int", "`min.insync.replicas` of copies",
            least=1, level=KeyLevel.CREATION),
    ] = None  # fmt: skip
    configs_strategy: Annotated[
        Literal["INTERSECTION", "MAJORITY", "FIRST", "NONE"],
        Key("sync.topic.configs.strategy", "choice",
            "for merged topics whose sources differ: `INTERSECTION`, `MAJORITY`, `FIRST` (in "
            "the file's order), `NONE` (no config is copied)"),
    ] = "FIRST"  # fmt: skip


class ConfigSync(Section):
    """Which topic configs follow the source, and how often."""

    enabled: Annotated[
        bool,
        Key("sync.topic.configs.enabled", "boolean",
            "sync configs after creation", level=KeyLevel.CONNECTOR),
    ] = True  # fmt: skip
    every: Annotated[
        timedelta,
        Key("sync.topic.configs.interval.seconds", "interval",
            "interval; a minute or longer: Dagster syncs, shorter: the driver; below zero: never",
            level=KeyLevel.CONNECTOR),
    ] = timedelta(seconds=600)  # fmt: skip
    exclude: Annotated[
        tuple[str, ...],
        Key("config.properties.exclude", "patterns",
            "patterns of configs that are neither copied nor changed",
            level=KeyLevel.CONNECTOR,
            default="MirrorMaker 2's list, `message.timestamp.before.max.ms`, "
            "`message.timestamp.after.max.ms`"),
    ] = (  # Java regexes; MirrorMaker 2's, and what is in a copy's way
        r"follower\.replication\.throttled\.replicas",
        r"leader\.replication\.throttled\.replicas",
        r"message\.timestamp\.difference\.max\.ms",
        r"message\.timestamp\.before\.max\.ms",  # else old records are rejected
        r"message\.timestamp\.after\.max\.ms",
        r"message\.timestamp\.type",
        r"unclean\.leader\.election\.enable",
        r"min\.insync\.replicas",
    )  # fmt: skip
    defaults_from: Annotated[
        Literal["source", "target"],
        Key("use.defaults.from", "choice",
            "`source`: set the source's defaults, also its cluster-wide ones, on the copy too",
            level=KeyLevel.CONNECTOR),
    ] = "target"  # fmt: skip
    overrides: Annotated[
        tuple[tuple[str, str, str], ...],
        Key("topic.config.*", "string",
            "`topic.config.<topic regex>/<config>`: value for the copies of these source "
            "topics, whatever the source has; empty: the target's default. Later lines win"),
    ] = ()  # topic regex, config, value; "": the default  # fmt: skip


class AclSync(Section):
    """Which ACLs follow the source's, and how often."""

    enabled: Annotated[
        bool,
        Key("sync.topic.acls.enabled", "boolean",
            "sync the ACLs of topics to their copies", level=KeyLevel.CONNECTOR),
    ] = True  # fmt: skip
    every: Annotated[
        timedelta,
        Key("sync.topic.acls.interval.seconds", "interval", "as for configs",
            level=KeyLevel.CONNECTOR),
    ] = timedelta(seconds=600)  # fmt: skip
    groups: Annotated[
        bool, Key("sync.group.acls.enabled", "boolean", "sync the ACLs of consumer groups too")
    ] = False
    delete: Annotated[
        bool,
        Key("sync.topic.acls.delete", "boolean",
            "delete ACLs that Isthmus created and the source no longer has"),
    ] = False  # fmt: skip
