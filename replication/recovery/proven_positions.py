"""Proves how far a flow copied: from its anchors, and by counting behind those of an unclean end.

A clean anchor states the position (invariant G), and so does a transactional one (T). Behind any
other the flow's records are counted on the target up to our fence marker (C). At the source as many
records follow the anchor; their offsets are known only if it can be read, for there may be gaps.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.network import PartitionReader
from replication.copier.partition.position import OwnRecordCounter
from replication.errors import ClusterUnavailable
from replication.model import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, Mode, TopicPartition
from replication.offsets.flow_offsets import other_topic
from replication.records.batch import walk
from replication.recovery.flow_fence import has_plain_producer
from replication.state import ProvenPosition

if TYPE_CHECKING:
    from collections.abc import Collection

    from replication.client.network import Network
    from replication.recovery.flow_fence import FenceResult
    from replication.state import Anchor

_PATIENCE_S = 30.0
_PAUSE_S = 0.1
_CONCURRENT = 16  # partitions read at the same time


async def prove_positions(
    operation: str, fence: FenceResult, target: Network, producers: Collection[int]
) -> tuple[ProvenPosition, ...]:
    """Return the position of every partition that has one, in order.

    ``producers`` are the flow's producer ids. Raises ClusterUnavailable.
    """
    there = {where: each for where, each in fence.anchors.items() if each.source is not None}
    await target.refresh({each.target_topic for each in there.values()})
    turn = asyncio.Semaphore(_CONCURRENT)

    async def one(where: TopicPartition, anchor: Anchor) -> ProvenPosition:
        if not needs_count(anchor) or where not in fence.unclean:
            return ProvenPosition.behind(anchor, operation)
        if _is_gone(anchor, target):
            return replace(ProvenPosition.behind(anchor, operation), exact=False, whole=False)
        if has_plain_producer(anchor):
            copy = TopicPartition(anchor.target_topic, anchor.partition)
            end = await target.offset_at(copy, LATEST_TIMESTAMP)
            return replace(
                ProvenPosition.behind(anchor, operation, 0, end), exact=False, whole=False
            )
        async with turn:
            count = await _counted(anchor, fence, target, producers)
        position = ProvenPosition.behind(anchor, operation, count.records, count.next_offset)
        if count.hole is None:
            return position
        return replace(position, exact=False, whole=False)

    return tuple(await asyncio.gather(*(one(*each) for each in sorted(there.items()))))


def needs_count(anchor: Anchor) -> bool:
    """Say whether records of the flow may be on the target behind its anchor."""
    return not anchor.clean and anchor.mode != Mode.TRANSACTIONAL


def _is_gone(anchor: Anchor, target: Network) -> bool:
    """Say whether the copy was deleted, or another topic has its name."""
    topic = anchor.target_topic
    return target.topic_id(topic) is None or bool(
        other_topic("target", target, topic, anchor.target_topic_id)
    )


async def _counted(
    anchor: Anchor, fence: FenceResult, target: Network, producers: Collection[int]
) -> OwnRecordCounter:
    """Read the target from the anchor to our fence markers; return the count."""
    where = TopicPartition(anchor.target_topic, anchor.partition)
    markers = {
        fence.markers[name].producer_id: fence.markers[name].epoch
        for name, _ in anchor.appenders
        if name in fence.markers
    }
    own = {number for _, number in anchor.appenders} | set(producers)
    count = OwnRecordCounter(anchor.target or 0, own, markers)
    reading, deadline = PartitionReader(target, where, "count"), time.monotonic() + _PATIENCE_S
    while not count.complete:
        if time.monotonic() > deadline:
            raise ClusterUnavailable(
                f"no fence marker in {where} after {_PATIENCE_S:g} s: check its leader and in-sync "
                "replicas"
            )
        found = await reading.fetch(count.next_offset, FetchOptions(max_wait_ms=50))
        if found is None or found.error:
            if found is not None and found.error == ErrorCode.OFFSET_OUT_OF_RANGE:
                start = await target.offset_at(where, EARLIEST_TIMESTAMP)
                count.hole = count.next_offset
                if start <= count.next_offset:  # the log ends before it: the target lost records
                    count.next_offset = await target.offset_at(where, LATEST_TIMESTAMP)
                    break
                count.next_offset = start  # retention deleted it
            await asyncio.sleep(_PAUSE_S)
            await target.refresh([where.topic])
            continue
        for batch in walk(found.records, where, found.legacy):
            count.add(batch)
    return count
