"""The source's registry of producer ids: which of its batches are copies, and by which way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.state_log import StateLog
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import LATEST_TIMESTAMP, UNKNOWN_OFFSET
from replication.provenance.origins import Origins
from replication.state import PRODUCERS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Collection

    from replication.client.network import Network

_LOOKS = 4  # for a topic without which copies would come home
_PAUSE_S = 0.3
_DENIED = (
    f"Isthmus' user cannot read {PRODUCERS_TOPIC} on the source, so copies cannot be separated "
    "from records produced there: allow it READ and DESCRIBE on that topic"
)


@dataclass(slots=True)
class SourceRegistry:
    """Which batches of one cluster are copies. Kept from epoch to epoch."""

    source: Network
    origins: Origins = field(default_factory=Origins)
    there: bool = False  # the topic is known to be there
    _log: StateLog = field(init=False)
    _topic_id: bytes | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._log = StateLog(self.source, PRODUCERS_TOPIC)

    async def look_up(self, producer_ids: Collection[int], *, needed: bool = False) -> None:
        """Read the registry to its end, so that nothing is unknown of ``producer_ids`` (P1).

        Where our user may not see it, it tells nothing; if it is ``needed`` that is an error.
        Raises ClusterUnavailable or ClusterRejected.
        """
        async with self._turn:
            if self.origins.unknown(producer_ids):
                await self._read(needed=needed)
                self.origins.dispatch(producer_ids)

    async def _find(self, looks: int) -> bytes | None:
        """Return the topic's id. A broker that lags may not show what is there: look again."""
        for pause_s in [0.0, *[_PAUSE_S] * (looks - 1)]:
            if self.source.topic_id(PRODUCERS_TOPIC) or self.source.denied(PRODUCERS_TOPIC):
                break
            await asyncio.sleep(pause_s)
            await self.source.refresh([PRODUCERS_TOPIC])
        return self.source.topic_id(PRODUCERS_TOPIC)

    async def _read(self, *, needed: bool) -> None:
        topic_id = await self._find(_LOOKS if needed else 1)
        if topic_id is None and needed and self.source.denied(PRODUCERS_TOPIC):
            raise ClusterRejected(_DENIED)
        if topic_id is None and (self.there or self._topic_id is not None):
            raise ClusterUnavailable(f"{PRODUCERS_TOPIC} is no longer listed by the source")
        if topic_id is None:
            return  # nobody has ever copied to this cluster
        if topic_id != self._topic_id:  # what we knew of one that was there before stays true (P3)
            self._log.position, self._topic_id = UNKNOWN_OFFSET, topic_id
        # A leader that is new does not say where the log ends before it knows, so not before what
        # was acked is in sight; the answer to a Fetch may lag behind that.
        end = await self.source.offset_at(self._log.partition, LATEST_TIMESTAMP)
        while True:
            self.origins.learn(await self._log.read_on())
            if self._log.position >= end:
                return
