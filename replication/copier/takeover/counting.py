"""Count what of ours stands on the target before our fence markers (invariant C)."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.fetch_values import FetchEntry, Frame
from replication.client.log_end import believed_end
from replication.copier.partition.position import OwnRecords, Position
from replication.copier.takeover.at_least_once import cannot_count
from replication.copier.takeover.content_position import Tail
from replication.errors import ClusterUnavailable
from replication.model import (
    EARLIEST_TIMESTAMP,
    PartitionState,
    ProducerIdAndEpoch,
    RecordsAndBytes,
)
from replication.records.batch import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from replication.client.network import Network
    from replication.copier.partition.partition_copy import Lane

_MARKER_PATIENCE_S = 30.0


async def count_own(
    target: Network,
    lanes: Sequence[Lane],
    producers: Mapping[str, ProducerIdAndEpoch],
    kept: Collection[Lane] = (),
) -> Mapping[Lane, Tail]:
    """Read the target from each lane's anchor to our markers; set what the lane has to skip.

    Returns the last batch of ours for ``kept`` lanes, and for those whose count is not known as
    the target's retention has passed their anchor.
    """
    listed = appenders_of(lanes)
    counts = {
        lane: OwnRecords(
            lane.acked.target if lane.acked else 0,
            {producer_id for _, producer_id in lane.claimed.appenders},
            {
                producer_id: epoch
                for transactional_id, (producer_id, epoch) in producers.items()
                if (transactional_id, lane) in listed
            },
        )
        for lane in lanes
    }
    for lane in kept:
        counts[lane].keeps = True
    passed: dict[Lane, str] = {}
    deadline = time.monotonic() + _MARKER_PATIENCE_S
    frame = Frame()
    while missing := [
        lane
        for lane, count in counts.items()
        if lane.state is PartitionState.RUNNING and not count.complete
    ]:
        if time.monotonic() > deadline:
            raise ClusterUnavailable(f"waiting for our fence marker in {missing[0].target}")
        for lane, start in (await _read_some(target, missing, counts, frame)).items():
            begin = counts[lane].next_offset
            passed[lane] = f"the target no longer has offsets [{begin}, {start})"
            counts[lane].keeps, counts[lane].next_offset = True, start
    for lane, count in counts.items():
        if lane.state is not PartitionState.RUNNING:
            continue
        lane.skip, lane.counted = count.records, count.next_offset
        lane.found = RecordsAndBytes(count.records, count.bytes)
        if count.records == 0 and lane.acked is not None and lane not in passed:
            lane.acked, lane.exact = Position(lane.acked.source, count.next_offset), True
    return {
        lane: Tail(
            count.last,
            count.records,
            count.next_offset - (lane.acked.target if lane.acked else 0),
            passed.get(lane, ""),
        )
        for lane, count in counts.items()
        if count.keeps and lane.state is PartitionState.RUNNING and not lane.exact
    }


async def _read_some(
    target: Network, lanes: Sequence[Lane], counts: Mapping[Lane, OwnRecords], frame: Frame
) -> Mapping[Lane, int]:
    """Fetch once from one leader of the partitions whose markers are missing.

    Returns where the log begins of those whose next offset retention has taken.
    """
    leader = target.leader(lanes[0].target)
    entries: list[FetchEntry] = []
    by_entry: dict[tuple[bytes, int], Lane] = {}
    for lane in lanes:
        topic_id, its = target.topic_id(lane.target.topic), target.leader(lane.target)
        if topic_id and leader and its and its.node == leader.node:
            at = counts[lane].next_offset
            entries.append(FetchEntry(topic_id, lane.target.partition, at, its.epoch))
            by_entry[topic_id, lane.target.partition] = lane
    if leader is None or not entries:
        await asyncio.sleep(0.1)
        await target.refresh({lane.target.topic for lane in lanes})
        return {}
    passed: dict[Lane, int] = {}
    options = FetchOptions(max_wait_ms=50, line="count")
    for found in await target.fetch(leader.node, entries, options, frame):
        lane = by_entry[found.topic_id, found.partition]
        if found.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            await _look_outside(target, lane, counts[lane].next_offset, passed)
            continue
        if found.error:
            await asyncio.sleep(0.1)
            await target.refresh([lane.target.topic])
            continue
        for batch in walk(found.records, lane.target, found.legacy):
            counts[lane].add(batch)
    return passed


async def _look_outside(target: Network, lane: Lane, at: int, passed: dict[Lane, int]) -> None:
    """Find out why ``at`` is not in the target's log: retention, a cut, or a leader that lagged."""
    start = await target.offset_at(lane.target, EARLIEST_TIMESTAMP)
    end = await believed_end(target, lane.target, at)
    if at < start:
        passed[lane] = start
    elif at > end:
        reason = f"the target holds [{start}, {end}), not our {at}"
        lane.park(PartitionState.TARGET_RESET, reason)


def appenders_of(lanes: Iterable[Lane]) -> set[tuple[str, Lane]]:
    """Return who may append, by transactional id and lane."""
    return {(name, lane) for lane in lanes for name, _ in lane.claimed.appenders if name}


def unfenced_ids(
    lanes: Iterable[Lane], producers: Mapping[str, ProducerIdAndEpoch]
) -> set[tuple[str, int]]:
    """Return appenders whose producer id our markers do not carry, but who are counted."""
    listed = {each for lane in lanes if not cannot_count(lane) for each in lane.claimed.appenders}
    return {
        (name, number)
        for name, number in listed
        if name in producers and producers[name].producer_id != number
    }
