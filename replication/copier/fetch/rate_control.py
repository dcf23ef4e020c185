"""Keep a unit's byte rate: its budget, and less while the target throttles."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.copier.fetch.rate_backoff import LOOK_S, RateBackoff

if TYPE_CHECKING:
    from replication.client.network import Network
    from replication.copier.fetch.fetcher_manager import FetcherManager
    from replication.copier.produce.sender import Sender


@dataclass(slots=True)
class RateControl:
    """Looks every second at what the target took, and limits the fetchers by it."""

    target: Network
    sender: Sender
    fetchers: FetcherManager
    backoff: RateBackoff

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            appended, throttled_ms = self.sender.appended_bytes, self.target.throttled_ms
            self.fetchers.limit(self.backoff.look(appended, throttled_ms))
            await asyncio.sleep(LOOK_S)

    def follow(self, budget: int) -> None:
        """Use another budget from now on, in bytes a second; 0: none."""
        self.backoff.budget = budget
        self.fetchers.limit(self.backoff.rate)

    @property
    def backed_off_to(self) -> int:
        """The rate in bytes a second that the target's throttle has led to; 0: it has not."""
        return int(self.backoff.limit)
