"""State records of disaster recovery: operations, drills, positions of partitions and groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from replication.state.record import StateRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.state.anchors import Anchor


class LeftPosition(NamedTuple):
    """An offset of a group that was left, and why; without topic and partition: all of the group.

    Other processes read it as a list, in this order.
    """

    group: str
    topic: str | None
    partition: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Operation(StateRecord):
    """A failover, switchover, failback or drill of a flow, as far as it got.

    Its operator writes it before and after each step. ``state`` is ``running``, ``done`` or
    ``undone``. Of a flow's operations the one with the highest ``turn`` counts. The turn is part of
    the key: what an operator writes that has lost its turn, and does not know it yet, replaces no
    record of the one that goes on.
    """

    KIND: ClassVar[str] = "operation"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "id", "turn")

    flow: str
    id: str
    verb: str = ""  # failover, switchover, failback, drill
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
    left: Mapping[str, tuple[LeftPosition, ...]] = field(default_factory=dict)  # by step
    more_left: Mapping[str, int] = field(default_factory=dict)  # by step: how many left has not


@dataclass(frozen=True, slots=True)
class Drill(StateRecord):
    """The last good drill of a flow, or the last one that was not good."""

    KIND: ClassVar[str] = "drill"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "good")

    flow: str
    good: bool
    id: str = ""  # of its operation
    by: str = ""  # user@host
    started_ms: int = 0
    ended_ms: int = 0
    rto_s: float | None = None  # None: it did not come so far
    rpo_records: int | None = None
    rpo_s: float | None = None
    problem: str = ""  # the first one
    report: str = ""  # the file with all of it, on the host of ``by``


@dataclass(frozen=True, slots=True)
class ProvenPosition(StateRecord):
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
class DivergedTail(StateRecord):
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
class RecreatedTopic(StateRecord):
    """A topic of the source that a failback deletes, and creates again as it was.

    Written before the deletion: whoever finds neither topic creates it from this.
    """

    KIND: ClassVar[str] = "recreated topic"
    KEYS: ClassVar[tuple[str, ...]] = ("flow", "operation", "topic")

    flow: str
    operation: str
    topic: str
    topic_id: str = ""  # of the one that is deleted
    partitions: int = 0
    replicas: int = 0
    configs: Mapping[str, str] = field(default_factory=dict)  # those that were set on the topic
    # Groups of the source, whose offsets go with the topic: name, partition, and where the group
    # continues on the target.
    groups: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class GroupPositions(StateRecord):
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
