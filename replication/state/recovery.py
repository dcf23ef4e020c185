"""State records of disaster recovery: operations, proven positions, positions of groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from replication.state.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.state.anchors import Anchor


@dataclass(frozen=True, slots=True)
class Operation(Record):
    """A failover, switchover or failback of a flow, as far as it got.

    Its operator writes it before and after each step. ``state`` is ``running``, ``done`` or
    ``undone``. Of a flow's operations the one with the highest ``turn`` counts.
    """

    KIND: ClassVar[str] = "operation"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "id")

    flow: str
    id: str
    verb: str = ""  # failover, switchover, failback
    state: str = ""
    step: str = ""  # the one under way; empty between steps
    done: tuple[tuple[str, int, str], ...] = ()  # name of a step, when it ended, what it did
    by: str = ""  # who carries it out: user@host
    instance: str = ""  # random, one per process of an operator
    turn: int = 0  # counts the operators of the flow, over all operations; the highest one may
    started_ms: int = 0
    beat_ms: int = 0  # written every few seconds while a process works on it
    writable: str = ""  # alias of the cluster that clients may write to; empty: not decided
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProvenPosition(Record):
    """Where a partition stood when an operation had fenced the flow's producers.

    All records before ``source`` are on the target, before ``target``. Nothing at or behind
    ``target`` was appended by the flow before it was resumed.
    """

    KIND: ClassVar[str] = "proven position"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "operation", "topic", "partition")

    flow: str
    operation: str
    topic: str  # on the source
    partition: int
    target_topic: str = ""
    source: int = 0
    target: int = 0
    exact: bool = True  # False: records at or behind ``source`` may be on the target too
    source_end: int = 0  # the last end of the source that was seen
    seen_ms: int = 0  # when it was seen
    behind_ms: int = 0  # age of the oldest record that was not copied then
    whole: bool = True  # False: not all copied records behind the anchor could be counted
    record_bytes: int = 0  # mean size of the partition's records

    @classmethod
    def behind(
        cls, anchor: Anchor, operation: str = "", counted: int = 0, target: int | None = None
    ) -> Self:
        """Return the position ``counted`` records behind an anchor; ``target``: where they end.

        With records behind the anchor the source offset is the lowest that is possible.
        """
        source = (anchor.source or 0) + counted
        return cls(
            flow=anchor.flow,
            operation=operation,
            topic=anchor.topic,
            partition=anchor.partition,
            target_topic=anchor.target_topic,
            source=source,
            target=(anchor.target or 0) if target is None else target,
            exact=counted == 0,
            source_end=max(source, anchor.source_end),
            seen_ms=anchor.at_ms,
            behind_ms=anchor.behind_ms,
            record_bytes=anchor.bytes // anchor.records if anchor.records else 0,
        )


@dataclass(frozen=True, slots=True)
class DivergedTail(Record):
    """The records of a source partition that never arrived at the target before a failover.

    All of them have offsets in [``first``, ``end``); ``end`` is the readable end when the source
    was back. Offsets there may belong to others: to markers, and to copies that came back.
    """

    KIND: ClassVar[str] = "diverged tail"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "operation", "topic", "partition")

    flow: str
    operation: str
    topic: str  # on the source
    partition: int
    first: int = 0  # where there is no record: ``end``
    end: int = 0
    records: int = 0
    whole: bool = True  # False: some of the records may be on the target


@dataclass(frozen=True, slots=True)
class GroupPositions(Record):
    """The committed offsets of a consumer group on the source, as the group sync last read them.

    The source may be gone when they are needed, and an offset that is not copied yet has no
    counterpart that could be committed on the target.
    """

    KIND: ClassVar[str] = "group positions"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "group")

    flow: str
    group: str
    positions: tuple[tuple[str, int, int], ...] = ()  # topic, partition, offset on the source
    at_ms: int = 0
