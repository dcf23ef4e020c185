"""Reads the source's registry of producer ids: which batches are copies, and their path."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.state_topic.state_log import StateLog
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import LATEST_TIMESTAMP, UNKNOWN_OFFSET
from replication.provenance.origins import Origins
from replication.state import PRODUCERS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Collection

    from replication.client.network import Network
    from replication.provenance.anchored_producers import AnchoredProducers

_ATTEMPTS = 4  # to find a topic that is needed to prevent replication cycles
_PAUSE_S = 0.3
_UNAUTHORIZED = (
    f"Isthmus' user cannot read {PRODUCERS_TOPIC} on the source, so copies cannot be distinguished "
    "from records produced on the source: grant it READ and DESCRIBE on that topic"
)


@dataclass(slots=True)
class SourceRegistry:
    """Which batches of one cluster are copies. Kept from epoch to epoch."""

    source: Network
    origins: Origins = field(default_factory=Origins)
    exists: bool = False  # the topic is known to exist
    anchored: AnchoredProducers | None = None  # completes it, or shows that it has lost entries
    _log: StateLog = field(init=False)
    _topic_id: bytes | None = None
    _is_verified: bool = False  # it had all entries that the anchors imply
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._log = StateLog(self.source, PRODUCERS_TOPIC)

    async def look_up(self, producer_ids: Collection[int], *, needed: bool = False) -> None:
        """Read the registry to its end, so that all of ``producer_ids`` are known (P1).

        Where our user may not read it, all batches count as local; if ``needed`` that is an error.
        Raises ClusterUnavailable or ClusterRejected, also while entries are known to be missing.
        """
        async with self._turn:
            if self.origins.unknown(producer_ids):
                await self._read_all(needed=needed)
                self.origins.note_looked_up(producer_ids)

    async def read(self) -> None:
        """Read the registry to its end: all of what is copied by now is known afterwards (F).

        Raises as ``look_up`` does.
        """
        async with self._turn:
            await self._read_all(needed=False)

    async def _read_all(self, *, needed: bool) -> None:
        if self.anchored is None:
            await self._read(needed=needed)
        else:
            await self._read_verified(self.anchored, needed=needed)

    async def _read_verified(self, anchored: AnchoredProducers, *, needed: bool) -> None:
        """Read the registry; when it is another topic than before, verify it by the anchors."""
        if self._is_verified:
            await self._read(needed=needed)
        while not self._is_verified:
            await anchored.read()
            await self._read(needed=needed)
            self._verify(anchored)

    def _verify(self, anchored: AnchoredProducers) -> None:
        """Complete the registry from the anchors. Raises ClusterUnavailable if that is not all."""
        known = self.origins.entries
        self.origins.learn(e for e in anchored.entries.values() if e.producer_id not in known)
        if problem := anchored.contradiction(known):
            raise ClusterUnavailable(problem)
        self._is_verified = True

    async def _find(self, attempts: int) -> bytes | None:
        """Return the topic's id. Retry: a broker whose metadata lags may not list it yet."""
        for pause_s in [0.0, *[_PAUSE_S] * (attempts - 1)]:
            if self.source.topic_id(PRODUCERS_TOPIC) or self.source.denied(PRODUCERS_TOPIC):
                break
            await asyncio.sleep(pause_s)
            await self.source.refresh([PRODUCERS_TOPIC])
        return self.source.topic_id(PRODUCERS_TOPIC)

    async def _read(self, *, needed: bool) -> None:
        topic_id = await self._find(_ATTEMPTS if needed else 1)
        if topic_id is None and needed and self.source.denied(PRODUCERS_TOPIC):
            raise ClusterRejected(_UNAUTHORIZED)
        if topic_id is None and (self.exists or self._topic_id is not None):
            raise ClusterUnavailable(f"{PRODUCERS_TOPIC} is no longer listed by the source")
        if topic_id is None:
            return  # no flow has copied to this cluster
        if topic_id != self._topic_id:  # entries of a former topic stay valid (P3)
            self._log.position, self._topic_id = UNKNOWN_OFFSET, topic_id
            self._is_verified = False
        # A new leader does not answer ListOffsets before it knows the log end, which covers all
        # acked records; the end in a Fetch response may lag behind that.
        end = await self.source.offset_at(self._log.partition, LATEST_TIMESTAMP)
        while True:
            self.origins.learn(await self._log.read_on())
            if self._log.position >= end:
                return
