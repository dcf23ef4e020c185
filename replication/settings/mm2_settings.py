"""What a flow writes as MirrorMaker 2 does, and how groups' offsets follow."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from replication.settings.section import Section
from replication.settings.setting_key import Derived, Key, KeyLevel

SHORTEST = timedelta(milliseconds=100)  # between two rounds


class Heartbeats(Section):
    """Heartbeats in MirrorMaker 2's format; ``back``: also those of the pair target->source.

    A flow's own heartbeats are on the target. Those of the reverse direction are on the source,
    from where this flow copies them: they show the replication latency, and need WRITE there.
    """

    enabled: Annotated[
        bool,
        Key("emit.heartbeats.enabled", "boolean",
            "a heartbeat of A->B every second in `heartbeats` on B", level=KeyLevel.CONNECTOR),
    ] = True  # fmt: skip
    every: Annotated[
        timedelta,
        Key("emit.heartbeats.interval.seconds", "interval",
            "interval; below zero: never", least=SHORTEST, level=KeyLevel.CONNECTOR),
    ] = timedelta(seconds=1)  # fmt: skip
    replication_factor: Annotated[
        int,
        Key("heartbeats.topic.replication.factor", "int",
            "replication factor of that topic", least=-1, level=KeyLevel.CONNECTOR),
    ] = 3  # capped at the brokers that there are  # fmt: skip
    back: Annotated[bool, Derived("emit.heartbeats.enabled of B->A, where no flow is")] = False


class OffsetSyncs(Section):
    """Pairs of offsets for MirrorMaker 2's checkpoint connector; ours needs none.

    On the ``source`` they need WRITE, so they are written only if the file enables them.
    """

    enabled: Annotated[
        bool,
        Key("emit.offset-syncs.enabled", "boolean",
            "write offset pairs every 5 s, for MirrorMaker 2's checkpoint connector; `true` if "
            "a location is set", level=KeyLevel.CONNECTOR),
    ] = False  # fmt: skip
    location: Annotated[
        Literal["source", "target"],
        Key("offset-syncs.topic.location", "choice",
            "cluster of the offset-sync topic: `source` or `target`", level=KeyLevel.CONNECTOR),
    ] = "source"  # fmt: skip
    replication_factor: Annotated[
        int,
        Key("offset-syncs.topic.replication.factor", "int",
            "replication factor of that topic", least=-1, level=KeyLevel.CONNECTOR),
    ] = 3  # fmt: skip


class Checkpoints(Section):
    """The translated offsets of the source's groups."""

    enabled: Annotated[
        bool,
        Key("emit.checkpoints.enabled", "boolean",
            "write the translated offsets of each selected group to `A.checkpoints.internal` on B",
            level=KeyLevel.CONNECTOR),
    ] = True  # fmt: skip
    every: Annotated[
        timedelta,
        Key("emit.checkpoints.interval.seconds", "interval",
            "interval; below zero: never", least=SHORTEST, level=KeyLevel.CONNECTOR),
    ] = timedelta(seconds=60)  # fmt: skip
    replication_factor: Annotated[
        int,
        Key("checkpoints.topic.replication.factor", "int",
            "replication factor of that topic", least=-1, level=KeyLevel.CONNECTOR),
    ] = 3  # fmt: skip


class Mm2(Section):
    """What is written in MirrorMaker 2's formats, and where its own state is."""

    heartbeats: Heartbeats = Heartbeats()
    syncs: OffsetSyncs = OffsetSyncs()
    checkpoints: Checkpoints = Checkpoints()
    offsets_topic: Annotated[
        str,
        Key("offset.storage.topic", "string",
            "topic in which `isthmus takeover` finds MirrorMaker 2's offsets; the key at the "
            "top level overrides the cluster's",
            level=KeyLevel.WORKER, default="`mm2-offsets.A.internal`"),
    ] = ""  # of its Connect worker, on the target  # fmt: skip
    worker_group: Annotated[
        str,
        Key("group.id", "string",
            "group of MirrorMaker 2's workers; it has no members when MirrorMaker 2 is stopped",
            level=KeyLevel.WORKER, default="`A-mm2`"),
    ] = ""  # the consumer group of its workers, on the target  # fmt: skip


class GroupSettings(Section):
    """Whether the translated offsets of consumer groups are committed on the target."""

    sync: Annotated[
        bool,
        Key("sync.group.offsets.enabled", "boolean",
            "commit the groups' translated offsets on the target ([details](offsets.md))",
            level=KeyLevel.CONNECTOR),
    ] = False  # as MirrorMaker 2: off by default  # fmt: skip
    every: Annotated[
        timedelta,
        Key("sync.group.offsets.interval.seconds", "interval",
            "interval; MirrorMaker 2: 60; below zero: never", least=SHORTEST,
            level=KeyLevel.CONNECTOR),
    ] = timedelta(seconds=5)  # fmt: skip
