"""The settings of a flow's append engine.

Apart from the other sections because the processes that copy load it: without pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- the annotations are evaluated
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from replication.settings.setting_key import Key, KeyLevel


@dataclass(frozen=True, slots=True)
class CopySettings:
    """How the append engine works for a flow, or for one of its units."""

    units: Annotated[
        int,
        Key("tasks.max", "int", "number of units of a flow; each uses one Spark task slot",
            least=1, level=KeyLevel.CONNECTOR),
    ] = 1  # fmt: skip
    buffer_bytes: Annotated[
        int,
        Key("copy.buffer.bytes", "bytes", "memory of one unit for fetched batches", least=1 << 20),
    ] = 64 << 20
    epoch: Annotated[timedelta, Key("copy.epoch.seconds", "duration", "length of an epoch")] = (
        timedelta(seconds=30)
    )
    anchor_every: Annotated[
        timedelta,
        Key("copy.anchor.interval.ms", "duration",
            "interval at which anchors are written to the target"),
    ] = timedelta(seconds=1)  # fmt: skip
    start: Annotated[
        str,
        Key("copy.start", "start",
            "start position of a topic that was never copied: `earliest`, `latest`, or a time: "
            "`2026-05-01T08:00:00Z`, or ms since 1970. Topics that are created later are always "
            "copied from their first record", default="from `auto.offset.reset`"),
        Key("auto.offset.reset", "choice earliest|latest",
            "MirrorMaker 2's name for `copy.start`", level=KeyLevel.CONSUMER, default="`earliest`"),
    ] = "earliest"  # or latest, or a time stamp in ms  # fmt: skip
    start_offsets: Annotated[
        Mapping[str, Mapping[int, int]],
        Key("copy.start.offsets", "start-offsets",
            "`topic:partition:offset` triples that override `copy.start`; the other partitions "
            "of these topics start at their first record"),
    ] = field(default_factory=dict)  # topic -> partition -> source offset  # fmt: skip
    until_offsets: Annotated[
        Mapping[str, Mapping[int, int]],
        Key("copy.until.offsets", "start-offsets",
            "`topic:partition:offset` triples: copying of a partition ends before this offset of "
            "the source; of the other partitions of these topics nothing is copied"),
    ] = field(default_factory=dict)  # topic -> partition -> source offset  # fmt: skip
    bytes_per_second: Annotated[
        int,
        Key("copy.max.bytes.per.second", "bytes",
            "byte rate limit of the flow, divided evenly among its units and over time; one "
            "partition gets at most a tenth of a second's bytes at once; `0`: no limit"),
    ] = 0  # of the whole flow; in a unit's spec the unit's share  # fmt: skip
    target_free_percent: Annotated[
        int,
        Key("copy.target.free.percent", "int",
            "while less than this share of a log directory of the target is free, the flow copies "
            "at most what would fill the rest in an hour; `0`: no check. Needs DESCRIBE on "
            "the target's Cluster, and brokers since Kafka 3.3", least=0),
    ] = 5  # fmt: skip
    priority_topics: Annotated[
        tuple[str, ...],
        Key("copy.priority.topics", "patterns",
            "patterns of topics that catch up first. While one of these is behind, a unit "
            "fetches at most 1 MiB/s of the other topics from each broker, over a second "
            "connection"),
    ] = ()  # Java regexes  # fmt: skip
    delivery: Annotated[
        str,
        Key("copy.delivery", "choice auto|append|transactional|at-least-once",
            "`append`, `transactional` or `at-least-once`; `auto` uses transactions for "
            "compacted topics and appends for all others. It copies at least once if the "
            "principal lacks WRITE and DESCRIBE on the TransactionalId `isthmus.<flow>` "
            "(prefixed) on the target; the flow's reason says so. `append` and `transactional` "
            "allow no other mode"),
    ] = "auto"  # fmt: skip
    isolation: Annotated[
        str,
        Key("isolation.level", "choice read_committed|read_uncommitted",
            "MirrorMaker 2's default is `read_uncommitted`, which copies aborted records too",
            level=KeyLevel.CONSUMER),
    ] = "read_committed"  # fmt: skip
    client_rack: Annotated[
        str,
        Key("client.rack", "string",
            "fetch from replicas in this rack, if the source's brokers support it "
            "(`replica.selector.class`); when such a replica fails or lags, fetch from the "
            "leader for 30 s", level=KeyLevel.CONSUMER),
    ] = ""  # fmt: skip
