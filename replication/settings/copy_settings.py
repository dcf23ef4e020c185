"""How the append engine works for a flow.

Apart from the other sections because the processes that copy load it: without pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- the annotations are evaluated
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from replication.settings.setting_key import Key, Level


@dataclass(frozen=True, slots=True)
class CopySettings:
    """How the append engine works for a flow, or for one of its units."""

    units: Annotated[
        int,
        Key("tasks.max", "int", "units a flow is spread over; each takes a Spark task's slot",
            least=1, level=Level.CONNECTOR),
    ] = 1  # fmt: skip
    buffer_bytes: Annotated[
        int, Key("copy.buffer.bytes", "bytes", "read-ahead of one unit", least=1 << 20)
    ] = 64 << 20
    epoch: Annotated[
        timedelta, Key("copy.epoch.seconds", "duration", "how long a Spark epoch lasts")
    ] = timedelta(seconds=30)
    anchor_every: Annotated[
        timedelta,
        Key("copy.anchor.interval.ms", "duration",
            "how often progress is written to the target"),
    ] = timedelta(seconds=1)  # fmt: skip
    start: Annotated[
        str,
        Key("copy.start", "start",
            "where a topic begins that was never copied: `earliest`, `latest`, or a moment: "
            "`2026-05-01T08:00:00Z`, or ms since 1970. What is created later is always copied "
            "from its first record", default="from `auto.offset.reset`"),
        Key("auto.offset.reset", "choice earliest|latest",
            "the same under MirrorMaker 2's name", level=Level.CONSUMER, default="`earliest`"),
    ] = "earliest"  # or latest, or a time stamp in ms  # fmt: skip
    start_offsets: Annotated[
        Mapping[str, Mapping[int, int]],
        Key("copy.start.offsets", "start-offsets",
            "`topic:partition:offset` triples that beat `copy.start`; other partitions of a topic "
            "that is named begin at their first record"),
    ] = field(default_factory=dict)  # topic -> partition -> source offset  # fmt: skip
    bytes_per_second: Annotated[
        int,
        Key("copy.max.bytes.per.second", "bytes",
            "byte budget of the flow, shared evenly by its units and spent evenly over time; no "
            "partition gets more than a tenth of a second's worth at once; `0`: no limit"),
    ] = 0  # of the whole flow; in a unit's spec the unit's share  # fmt: skip
    priority_topics: Annotated[
        tuple[str, ...],
        Key("copy.priority.topics", "patterns",
            "topics that catch up before the others, as patterns. While one of them is behind, a "
            "unit fetches at most 1 MiB a second of the others from each broker; it has a second "
            "connection to each for them"),
    ] = ()  # Java regexes  # fmt: skip
    delivery: Annotated[
        str,
        Key("copy.delivery", "choice auto|append|transactional|at-least-once",
            "`append`, `transactional` or `at-least-once`; `auto` takes transactions for "
            "compacted topics and appends for all others, and copies at least once where the "
            "target grants our user no WRITE and DESCRIBE on the TransactionalId "
            "`isthmus.<flow>` (prefixed); the flow's reason says so. `append` and "
            "`transactional` insist"),
    ] = "auto"  # fmt: skip
    isolation: Annotated[
        str,
        Key("isolation.level", "choice read_committed|read_uncommitted",
            "MirrorMaker 2 reads uncommitted: aborted records too", level=Level.CONSUMER),
    ] = "read_committed"  # fmt: skip
    client_rack: Annotated[
        str,
        Key("client.rack", "string",
            "read from replicas in this rack, where the source's brokers choose them "
            "(`replica.selector.class`); from the leader again for 30 s when such a replica fails "
            "or lags", level=Level.CONSUMER),
    ] = ""  # fmt: skip
