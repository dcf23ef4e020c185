"""Count what was copied before a crash: our records on the target up to our fence markers."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.fetch_values import FetchBuffer, FetchEntry
from replication.client.log_end import confirmed_end
from replication.copier.partition.broker_errors import LOST_TAIL
from replication.copier.partition.position import OwnRecordCounter, Position
from replication.copier.takeover.at_least_once import cannot_count
from replication.copier.takeover.content_position import TargetTail
from replication.errors import ClusterUnavailable, CorruptBatch
from replication.model import (
    EARLIEST_TIMESTAMP,
    PartitionState,
    ProducerIdAndEpoch,
)
from replication.records.batch import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from replication.client.network import Network
    from replication.copier.partition.partition_copy import PartitionCopy

_MARKER_PATIENCE_S = 30.0


async def count_own(
    target: Network,
    partitions: Sequence[PartitionCopy],
    producers: Mapping[str, ProducerIdAndEpoch],
    to_keep_last: Collection[PartitionCopy] = (),
) -> Mapping[PartitionCopy, TargetTail]:
    """Read the target from each anchor to our markers; set how many records to skip at the source.

    Returns the last batch of ours for the partitions ``to_keep_last``, and for those whose count
    is not known: the target's log start is above their anchor, or the target was compacted behind
    it, even if its cleanup policy is another one now. A target that was truncated or recreated ends
    before the anchor: such a partition halts. Retention below the anchor changes nothing.
    """
    counts = _begun(partitions, producers)
    trimmed = await _read_to_markers(target, counts)
    passed: dict[PartitionCopy, str] = {}  # what the target does not hold any more
    for partition, count in counts.items():
        if partition.state is PartitionState.RUNNING:
            if reason := _lacks(partition, count, trimmed):
                passed[partition] = reason
            _note(partition, count, is_whole=not reason)
    searched = {*to_keep_last, *(each for each in partitions if each.uncountable), *passed}
    return {
        partition: TargetTail(
            count.last,
            0 if partition.uncountable else count.records,
            count.next_offset - (partition.acked.target if partition.acked else 0),
            passed.get(partition, ""),
            count.records if count.hole is None and partition not in trimmed else None,
        )
        for partition, count in counts.items()
        if partition in searched
        and partition.state is PartitionState.RUNNING
        and not partition.exact
    }


def _begun(
    partitions: Sequence[PartitionCopy], producers: Mapping[str, ProducerIdAndEpoch]
) -> dict[PartitionCopy, OwnRecordCounter]:
    """Return the counts of partitions, of which nothing was read yet."""
    listed = appenders_of(partitions)
    return {
        partition: OwnRecordCounter(
            partition.acked.target if partition.acked else 0,
            {producer_id for _, producer_id in partition.claimed.appenders},
            {
                producer_id: epoch
                for transactional_id, (producer_id, epoch) in producers.items()
                if (transactional_id, partition) in listed
            },
        )
        for partition in partitions
    }


async def _read_to_markers(
    target: Network, counts: Mapping[PartitionCopy, OwnRecordCounter]
) -> Mapping[PartitionCopy, str]:
    """Read until all counts are complete; return which offsets retention deleted before that."""
    trimmed: dict[PartitionCopy, str] = {}
    deadline, buffer = time.monotonic() + _MARKER_PATIENCE_S, FetchBuffer()
    while missing := [
        partition
        for partition, count in counts.items()
        if partition.state is PartitionState.RUNNING and not count.complete
    ]:
        if time.monotonic() > deadline:
            raise ClusterUnavailable(
                f"no fence marker in {missing[0].target} after {_MARKER_PATIENCE_S:g} s: check its "
                "leader and in-sync replicas"
            )
        for partition, start in (await _read_some(target, missing, counts, buffer)).items():
            begin = counts[partition].next_offset
            trimmed[partition] = f"the target no longer has offsets [{begin}, {start})"
            counts[partition].next_offset = start
    return trimmed


def _lacks(
    partition: PartitionCopy, count: OwnRecordCounter, trimmed: Mapping[PartitionCopy, str]
) -> str:
    """Return why the count is not all that was copied; empty: it is."""
    if count.hole is None and partition.uncountable:
        return partition.uncountable
    if partition in trimmed:
        return trimmed[partition]
    if count.hole is not None:
        return f"compaction removed records of the target from {count.hole} on"
    return ""


def _note(partition: PartitionCopy, count: OwnRecordCounter, *, is_whole: bool) -> None:
    """Let a partition skip what was counted; with nothing to skip its position is exact."""
    partition.counted.note(count)
    at = partition.acked
    if is_whole and count.records == 0 and at is not None and not partition.sought:
        partition.acked, partition.exact = Position(at.source, count.next_offset), True


async def _read_some(
    target: Network,
    partitions: Sequence[PartitionCopy],
    counts: Mapping[PartitionCopy, OwnRecordCounter],
    buffer: FetchBuffer,
) -> Mapping[PartitionCopy, int]:
    """Fetch once from one leader of the partitions whose markers are missing.

    Returns the log start of those whose next offset retention has deleted.
    """
    leader = target.leader(partitions[0].target)
    entries: list[FetchEntry] = []
    by_entry: dict[tuple[bytes, int], PartitionCopy] = {}
    for partition in partitions:
        topic_id, its = target.topic_id(partition.target.topic), target.leader(partition.target)
        if topic_id and leader and its and its.node == leader.node:
            at = counts[partition].next_offset
            entries.append(FetchEntry(topic_id, partition.target.partition, at, its.epoch))
            by_entry[topic_id, partition.target.partition] = partition
    if leader is None or not entries:
        await asyncio.sleep(0.1)
        await target.refresh({partition.target.topic for partition in partitions})
        return {}
    passed: dict[PartitionCopy, int] = {}
    options = FetchOptions(max_wait_ms=50, line="count")
    for found in await target.fetch(leader.node, entries, options, buffer):
        partition = by_entry[found.topic_id, found.partition]
        if found.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            await _resolve_out_of_range(target, partition, counts[partition].next_offset, passed)
            continue
        if found.error:
            await asyncio.sleep(0.1)
            await target.refresh([partition.target.topic])
            continue
        try:
            for batch in walk(found.records, partition.target, found.legacy):
                counts[partition].add(batch)
        except CorruptBatch as error:
            partition.halt(PartitionState.WAITING, f"what was copied cannot be counted: {error}")
    return passed


async def _resolve_out_of_range(
    target: Network, partition: PartitionCopy, at: int, passed: dict[PartitionCopy, int]
) -> None:
    """Find out why ``at`` is out of range: retention, truncation, or a leader that lagged."""
    start = await target.offset_at(partition.target, EARLIEST_TIMESTAMP)
    end = await confirmed_end(target, partition.target, at)
    if at < start:
        passed[partition] = start
    elif at > end:
        reason = f"the target ends at offset {end}, before our {at}: {LOST_TAIL}"
        partition.halt(PartitionState.TARGET_RESET, reason)


def appenders_of(partitions: Iterable[PartitionCopy]) -> set[tuple[str, PartitionCopy]]:
    """Return the transactional ids that may append, each with its partition."""
    return {
        (name, partition)
        for partition in partitions
        for name, _ in partition.claimed.appenders
        if name
    }


def unfenced_ids(
    partitions: Iterable[PartitionCopy], producers: Mapping[str, ProducerIdAndEpoch]
) -> set[tuple[str, int]]:
    """Return counted appenders whose producer id differs from the one in our markers."""
    listed = {
        each
        for partition in partitions
        if not cannot_count(partition)
        for each in partition.claimed.appenders
    }
    return {
        (name, number)
        for name, number in listed
        if name in producers and producers[name].producer_id != number
    }
