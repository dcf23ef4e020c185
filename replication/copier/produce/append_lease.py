"""Whether a unit may still append: whether it knows, since recently, that no other unit took over.

W  Nothing is sent to the target later than ``LEASE_S`` after the unit asked it whether its producer
   is still the current one of its transactional id. A takeover obtains a new epoch of that id
   first; where the former producer id differs, so that no marker stops it (B), it then waits
   until what the former owner sent under its last lease has arrived or is lost.

So it does not matter for how long a unit was frozen, or cut off from the target, nor whether the
target has forgotten its transactional id, its producer id, or both: it asks before it sends.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.client.moment import Moment

LEASE_S = 10.0


@dataclass(slots=True)
class AppendLease:
    """The lease of one unit; it begins lapsed."""

    lapsed: asyncio.Event = field(default_factory=asyncio.Event)  # somebody waits for its renewal
    _asked: Moment | None = None

    def holds(self) -> bool:
        """Say whether the unit may append now; if not, ask for the renewal. Once a request."""
        if self._asked is not None and self._asked.elapsed_s() < LEASE_S:
            return True
        self.lapsed.set()
        return False

    def renew(self, asked: Moment) -> None:
        """Record that our producer was the current one after ``asked``."""
        self._asked = asked
        self.lapsed.clear()
