"""The topics of a chaos run: the records of each, and the delivery guarantee of its copy.

One more kind of topic is one more line in ``TOPICS``; ``transformed_topics`` has others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.adapters.topics.record_reader import ConsumedRecord


class Promise(StrEnum):
    """The delivery guarantee of a copy."""

    EXACTLY_ONCE = "exactly once"  # each record once, in order
    AT_LEAST_ONCE = "at least once"  # each record; some may come again


class Writing(StrEnum):
    """How records get into a topic."""

    PLAIN = "plain"
    TRANSACTIONS = "transactions"  # some of them are aborted


def as_it_is(record: ConsumedRecord) -> ConsumedRecord:
    """Return what a copy makes of a record."""
    return record


@dataclass(frozen=True, slots=True)
class ChaosTopic:
    """One topic and its writer."""

    name: str
    codec: str
    promise: Promise = Promise.EXACTLY_ONCE
    writing: Writing = Writing.PLAIN
    partitions: int = 2
    rate: int = 80  # records a second
    linger_ms: int = 20  # long: large batches; short: many small ones
    keys: int | None = None  # how many there are; None: every record has its own, or none
    pause_s: float = 0.0  # between bursts of a second; 0: records flow all the time
    age_days: float = 0.0  # of the records' timestamps; 0: they are of the present
    # Settings of its transform, and what that makes of a record: None where it leaves that out.
    transform: Mapping[str, str] = field(default_factory=dict)
    made: Callable[[ConsumedRecord], ConsumedRecord | None] = as_it_is
    avro: bool = False  # values are numbers in Avro
    configs: Mapping[str, str] = field(default_factory=dict)

    @property
    def in_transactions(self) -> bool:
        """Whether its copy always is, so that consumers have to read it committed."""
        return bool(self.transform)

    @property
    def compacted(self) -> bool:
        """Whether the source may drop what a later record replaces: then it is compared by key."""
        return "compact" in self.configs.get("cleanup.policy", "")

    @property
    def may_be_compacted(self) -> bool:
        """Whether it can be compacted for a while: then it takes no record without a key."""
        return self.keys is not None and not self.compacted


# So eager that the source loses records before they are copied.
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "5000",
    "min.cleanable.dirty.ratio": "0.01",
}
TOPICS = (
    ChaosTopic("chaos-lz4", "lz4", linger_ms=100),
    ChaosTopic("chaos-zstd", "zstd", partitions=3),
    ChaosTopic("chaos-none", "none", linger_ms=1),
    ChaosTopic("chaos-gzip", "gzip", partitions=1),
    ChaosTopic("chaos-snappy", "snappy", linger_ms=200),
    ChaosTopic("chaos-transactions", "lz4", writing=Writing.TRANSACTIONS),
    ChaosTopic("chaos-compacted", "zstd", keys=50, configs=COMPACTED),
    ChaosTopic("chaos-keyed", "lz4", keys=300),
    ChaosTopic("chaos-keyed-transactions", "none", writing=Writing.TRANSACTIONS, keys=300),
    ChaosTopic("chaos-quiet", "zstd", pause_s=45.0),  # its anchors are old
    # Brokers forget producers by the timestamps of their records: after a day by default.
    ChaosTopic("chaos-history", "lz4", age_days=3.0),
    ChaosTopic("chaos-transformed", "zstd", transform={"where": "offset >= 0"}),
    ChaosTopic("chaos-history-keyed", "gzip", keys=300, age_days=3.0),
)
