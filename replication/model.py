"""Values that the whole package shares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

# What ``cycle.prevention`` tells copies by.
BY_ID: Final = "producer-id"
BY_HEADERS: Final = "headers"
BY_NAMES: Final = "names"

# What records and requests hold where there is nothing to say, as Kafka's RecordBatch names it.
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1  # there is none, or it is not known
UNKNOWN_OFFSET = -1  # as in ListOffsetsResponse

# What ListOffsets takes for a timestamp, as Kafka's ListOffsetsRequest names it.
EARLIEST_TIMESTAMP = -2  # the log's start
LATEST_TIMESTAMP = -1  # its end: the offset that the next record gets


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
    """Offsets from ``start`` up to ``end``, without it."""

    start: int
    end: int


class ProducerIdAndEpoch(NamedTuple):
    """Who appends, as batches say it; a newer epoch of a producer id fences the older ones."""

    producer_id: int
    epoch: int


NO_PRODUCER = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)  # plain, unnumbered appends


class RecordsAndBytes(NamedTuple):
    """How much was copied."""

    records: int
    bytes: int


NO_RECORDS = RecordsAndBytes(0, 0)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a remote topic was copied from: one hop back, not necessarily the first."""

    cluster: str
    topic: str


class FlowState(StrEnum):
    """What a flow is doing, as an operator sees it (design: states)."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    DEGRADED = "DEGRADED"  # some partitions are not RUNNING
    FAILED = "FAILED"


class PartitionState(StrEnum):
    """What a partition of a flow is doing. One bad partition never stops the others."""

    WAITING = "WAITING"  # target or source not ready
    RUNNING = "RUNNING"
    LOST_RANGE = "LOST_RANGE"
    SOURCE_RECREATED = "SOURCE_RECREATED"
    SOURCE_TRUNCATED = "SOURCE_TRUNCATED"
    TARGET_RESET = "TARGET_RESET"
    TARGET_FOREIGN = "TARGET_FOREIGN"
    REFUSED = "REFUSED"
    POSITION_LOST = "POSITION_LOST"  # it was copied before, and its anchor is gone
    PAUSED = "PAUSED"


class Mode(StrEnum):
    """How a partition is copied, and with it what is promised after a crash."""

    APPEND = "append"  # idempotent appends, counted after a crash: each record once for everyone
    TRANSACTIONAL = (
        "transactional"  # records and anchor in one transaction: once for read_committed
    )
    AT_LEAST_ONCE = "at-least-once"  # what followed the last anchor may come again


class Choice(NamedTuple):
    """A person's answer to one event: the state it got a partition into, and where that was."""

    state: str
    position: int  # source offset of the anchor; -1: it has none
    choice: str  # one of those that the policy of the state knows


class Desired(StrEnum):
    """What a person wants of a flow; stored apart from its health."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """A source partition and where its records go."""

    source: TopicPartition
    target: TopicPartition
    source_topic_id: str = ""  # hex of the topic's UUID; empty where the cluster has none
    target_topic_id: str = ""
    discovered_later: bool = (
        False  # found after the flow's first plan: its first record counts as new
    )
    mode: str = Mode.APPEND
    first: bool = False  # of a priority topic: fetched before the others
    start: int | None = None  # source offset to begin at, if it was never copied; None: as the flow
    origins: str = ""  # which copies are copied on, a rule as in provenance; empty: all
    decision: Choice | None = None  # what a person has chosen
