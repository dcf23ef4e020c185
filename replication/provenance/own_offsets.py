"""Which offsets of a partition belong to a flow, found by batch headers, without decoding.

At the source: the records that the flow copies, those produced there and the copies it forwards.
On the target: the records that the flow appended, not local records or those of other flows.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.client.fetch_session import FetchOptions
from replication.client.network import PartitionReader
from replication.errors import ClusterUnavailable
from replication.model import EARLIEST_TIMESTAMP
from replication.provenance.anchored_producers import AnchoredProducers
from replication.provenance.producer_registry import SourceRegistry
from replication.records.batch import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.client.network import Network
    from replication.model import TopicPartition
    from replication.provenance.origins import ForwardingRule
    from replication.state import ProducerEntry

    Concerns = Callable[[ProducerEntry | None, int], bool]  # of a batch, and its first offset

_NO_PROGRESS_S = 30.0
_PAUSE_S = 0.1


@dataclass(slots=True)
class OffsetsAppended:
    """Ascending ranges of offsets; adjacent ranges are merged."""

    _starts: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    def add(self, first: int, after: int) -> None:
        """Add ``[first, after)``, which is behind all others."""
        if self._ends and self._ends[-1] == first:
            self._ends[-1] = after
        else:
            self._starts.append(first)
            self._ends.append(after)

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._ends[at]


def copied_by(rule: ForwardingRule) -> Concerns:
    """Return a predicate that is true of a registry entry whose records ``rule`` copies."""
    return lambda entry, offset: rule.path_of(entry, offset) is not None


def appended_by(flow: str) -> Concerns:
    """Return a predicate that is true of a registry entry of ``flow``, for its own records."""
    return lambda entry, _: entry is not None and entry.flow == flow


@dataclass(slots=True)
class OwnOffsets:
    """Reads batch headers of one cluster."""

    network: Network
    registry: SourceRegistry = field(init=False)

    def __post_init__(self) -> None:
        self.registry = SourceRegistry(self.network, anchored=AnchoredProducers(self.network))

    async def offsets(
        self, partition: TopicPartition, end: int, concerns: Concerns
    ) -> OffsetsAppended:
        """Return the offsets before ``end`` of batches whose registry entry meets ``concerns``.

        Raises ClusterUnavailable or ClusterRejected.
        """
        found = OffsetsAppended()
        if end == 0:  # the partition may not exist
            return found
        await self.network.refresh([partition.topic])
        position = await self.network.offset_at(partition, EARLIEST_TIMESTAMP)
        progress_at, reading = time.monotonic(), PartitionReader(self.network, partition, "fetch")
        while position < end:
            answer = await reading.fetch(position, FetchOptions())
            if answer is None or not answer.records:
                if time.monotonic() > progress_at + _NO_PROGRESS_S:
                    raise ClusterUnavailable(
                        f"reading {partition}: no record at offset {position} in "
                        f"{_NO_PROGRESS_S:g} s: check that it has a leader"
                    )
                await asyncio.sleep(_PAUSE_S)
                await self.network.refresh([partition.topic])
                code = ErrorCode.NONE if answer is None else answer.error
                if code == ErrorCode.OFFSET_OUT_OF_RANGE:  # retention deleted it
                    start = await self.network.offset_at(partition, EARLIEST_TIMESTAMP)
                    position = max(position, start)
                continue
            progress_at = time.monotonic()
            batches = list(walk(answer.records, partition, answer.legacy))
            await self.registry.look_up({each.producer_id for each in batches})
            for each in batches:
                if concerns(self.registry.origins.entries.get(each.producer_id), each.base):
                    found.add(each.base, each.last + 1)
                position = each.last + 1
        return found
