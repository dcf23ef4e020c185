"""The claim of a partition: who may append, and what a takeover sets from it. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.model import Mode
from replication.state import Anchor, Claim

if TYPE_CHECKING:
    from replication.client.producer_identity import ProducerIdentity
    from replication.copier.partition.partition_copy import PartitionCopy

_POSITION = (
    "source", "target", "records", "bytes", "mode", "isolation", "source_epoch", "lost", "run",
    "timed", "age_ms", "latency_ms",
)  # fmt: skip


def claim_of(partition: PartitionCopy) -> Anchor | Claim:
    """Return the record that claims a partition.

    In transactional mode it must not hold a position: a former appender may commit a newer one at
    this moment. A lagging anchor is right only where the records behind it are counted (D). Where
    a search begins (L) is no position either.
    """
    claimed = partition.claimed
    if Mode.TRANSACTIONAL not in (claimed.mode, partition.mode) and not partition.sought:
        return claimed
    return Claim(
        claimed.flow,
        claimed.topic,
        claimed.partition,
        claimed.appenders,
        claimed.generation,
        claimed.epoch,
    )


def is_mine(anchor: Anchor, me: ProducerIdentity) -> bool:
    last = anchor.appenders[-1:]
    return last == ((me.transactional_id, me.producer_id),) and (
        (anchor.generation, anchor.epoch) == me.rank
    )


def is_committed(partition: PartitionCopy, seen: Anchor | None) -> bool:
    """Say whether the last anchor was committed in one transaction with the records before it (T).

    False for an anchor of another topic id: the source or the target topic was recreated.
    """
    if seen is None or seen.source is None or seen.mode != Mode.TRANSACTIONAL:
        return False
    return seen.source_topic_id in {"", partition.topic_id.hex()} and (
        seen.target_topic_id in {"", partition.claimed.target_topic_id}
    )


def begin_at(partition: PartitionCopy, committed: Anchor, me: ProducerIdentity) -> None:
    """Set a partition to a committed anchor, and keep the partition's claim."""
    partition.claimed = replace(
        partition.claimed, **{name: getattr(committed, name) for name in _POSITION}
    )
    partition.begin(me, exact=True)
