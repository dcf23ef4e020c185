"""Shared values: partitions, offsets, producer ids, flow and partition states, partition plans."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# How ``cycle.prevention`` recognizes copies.
BY_ID: Final = "producer-id"
BY_HEADERS: Final = "headers"
BY_NAMES: Final = "names"

# Defaults in batches and requests, as Kafka's RecordBatch names them.
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1  # none, or unknown
UNKNOWN_OFFSET = -1  # as in ListOffsetsResponse
NO_POSITION = -1  # in stored decisions: the anchor has no source offset

# Special timestamps of ListOffsets, as Kafka's ListOffsetsRequest names them.
EARLIEST_TIMESTAMP = -2  # the log's start
LATEST_TIMESTAMP = -1  # its end: the offset that the next record gets
MAX_TIMESTAMP = -3  # the record with the highest timestamp (KIP-734)
EARLIEST_LOCAL_TIMESTAMP = -4  # the first offset on the broker's own disk (KIP-405)


class IsolationLevel(IntEnum):
    """Which records Fetch and ListOffsets see, as Kafka's IsolationLevel numbers it."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1

    @classmethod
    def of(cls, setting: str) -> IsolationLevel:
        """Return the level that ``isolation.level`` names."""
        return cls[setting.upper()]


class TopicPartition(NamedTuple):
    """One partition of one topic, on the cluster that the context names."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetAndEpoch(NamedTuple):
    """An offset, and the leader epoch of the batch before it; NO_LEADER_EPOCH: not known."""

    offset: int
    epoch: int = NO_LEADER_EPOCH


class OffsetRange(NamedTuple):
    """Offsets from ``start`` up to ``end``, exclusive."""

    start: int
    end: int

    def without(self, ranges: Sequence[OffsetRange]) -> Iterator[OffsetRange]:
        """Yield the parts outside of ``ranges``, which are in order; none of them is empty."""
        begin = self.start
        for each in ranges:
            if begin < each.end and each.start < self.end:
                if begin < each.start:
                    yield OffsetRange(begin, each.start)
                begin = each.end
        if begin < self.end:
            yield OffsetRange(begin, self.end)


class ProducerIdAndEpoch(NamedTuple):
    """The producer in a batch header; a newer epoch of a producer id fences the older ones."""

    producer_id: int
    epoch: int


NO_PRODUCER = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)  # not idempotent


class RecordsAndBytes(NamedTuple):
    """An amount of copied data."""

    records: int
    bytes: int


NO_RECORDS = RecordsAndBytes(0, 0)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a remote topic was copied from: one hop back, not necessarily the first."""

    cluster: str
    topic: str


class FlowState(StrEnum):
    """The state of a flow, as an operator sees it (design: states)."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    DEGRADED = "DEGRADED"  # some partitions are not RUNNING
    FAILED = "FAILED"
    WRONG_CLUSTER = "WRONG_CLUSTER"  # an address leads to another cluster than before


class PartitionState(StrEnum):
    """The state of a partition of a flow. One failed partition never stops the others."""

    WAITING = "WAITING"  # target or source not ready
    RUNNING = "RUNNING"
    LOST_RANGE = "LOST_RANGE"
    SOURCE_RECREATED = "SOURCE_RECREATED"
    SOURCE_TRUNCATED = "SOURCE_TRUNCATED"
    SOURCE_CORRUPT = "SOURCE_CORRUPT"  # a batch at the source is damaged
    TARGET_RESET = "TARGET_RESET"
    TARGET_FOREIGN = "TARGET_FOREIGN"
    REFUSED = "REFUSED"
    POSITION_LOST = "POSITION_LOST"  # it was copied before, and its anchor is gone
    TRANSFORM_FAILED = "TRANSFORM_FAILED"  # a record that the flow's transform cannot transform
    NAME_CHANGED = "NAME_CHANGED"  # it was copied under another name than the file gives now
    PAUSED = "PAUSED"  # its flow is paused: a view of it, no anchor says so
    SOURCE_DELETED = "SOURCE_DELETED"  # the source has no such topic any more
    SOURCE_DENIED = "SOURCE_DENIED"  # our user may no longer describe the topic at the source
    NOT_SELECTED = "NOT_SELECTED"  # the flow's file no longer selects the topic


# The states of a topic that is not copied any more: a flow's driver reports them, no anchor does.
ABSENT: Final = frozenset(
    {PartitionState.SOURCE_DELETED, PartitionState.SOURCE_DENIED, PartitionState.NOT_SELECTED}
)


# The states in which nobody has to do anything: the partition is copied, or somebody wanted it so.
NEEDS_NO_ACTION: Final = frozenset(
    {PartitionState.RUNNING, PartitionState.PAUSED, PartitionState.NOT_SELECTED}
)


class Mode(StrEnum):
    """The delivery mode of a partition: what holds after a crash."""

    APPEND = "append"  # idempotent appends, counted after a crash: exactly once
    TRANSACTIONAL = "transactional"  # records and anchor in one: exactly once if read_committed
    AT_LEAST_ONCE = "at-least-once"  # records behind the last anchor may be repeated


class Choice(NamedTuple):
    """An operator's decision on one event: the partition's state and position, and the choice."""

    state: str
    position: int  # source offset of the anchor, or NO_POSITION
    choice: str  # one of the values of the state's policy

    def is_about(self, state: str, source: int | None) -> bool:
        """Whether it is about this event; ``source``: offset of the anchor, None: it has none."""
        return (self.state, self.position) == (state, decided_at(source))


def decided_at(source: int | None) -> int:
    """Return the position that a decision names for an anchor at the source offset ``source``."""
    return NO_POSITION if source is None else source


class NameChange(NamedTuple):
    """A topic that was copied to the target as ``old``, and that the file now names ``new``."""

    old: str
    new: str
    choice: str = ""  # one of the values of ``on.name.changed`` but ``stop``; empty: none yet

    @property
    def in_use(self) -> str:
        """The name to copy under: ``old`` until a choice says that the topic is copied anew."""
        return self.new if self.choice in {"continue", "reseed"} else self.old

    @property
    def reason(self) -> str:
        """Why a partition waits for a choice."""
        return f"the topic was copied as {self.old}, and the file now names it {self.new}"


class Desired(StrEnum):
    """The desired state of a flow; stored apart from its health."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """A source partition and the target partition of its records."""

    source: TopicPartition
    target: TopicPartition
    source_topic_id: str = ""  # hex of the topic's UUID; empty if the cluster has none
    target_topic_id: str = ""
    created_later: bool = False  # after the flow first started: copied from its first record
    since_ms: int | None = None  # with copy.start = latest: start at this time; None: at the end
    mode: str = Mode.APPEND
    first: bool = False  # of a priority topic: fetched before the others
    start: int | None = None  # source offset to start at if it was never copied; None: as the flow
    until: int | None = None  # source offset before which copying ends; None: it does not end
    origins: str = ""  # which copies are forwarded, a rule as in provenance; empty: all
    decision: Choice | None = None  # of an operator
    name_change: NameChange | None = None  # of its topic, while a partition is under the old name
