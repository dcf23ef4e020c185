"""When the SASL session of a connection ends, and when to open the next connection (KIP-368)."""

from __future__ import annotations

import random
import time

_TOO_LATE_S = 0.5  # before the end of a session: a request may arrive after it
_LEAST_PAUSE_S = 1.0  # between two attempts to renew
_RENEW_AT = (0.6, 0.8)  # of a session's life; spread, so that not all log in at once


class SaslSession:
    """The session of a connection that ends at ``expires_at``, monotonic; None: it has no end."""

    def __init__(self, expires_at: float | None) -> None:
        self._expires_at = expires_at
        self.renew_at = _renewal(expires_at)  # monotonic, when to open the next one; None: never

    def is_ending(self, now: float) -> bool:
        """Say whether it will end soon."""
        return self.renew_at is not None and self.renew_at <= now

    def has_ended(self, now: float) -> bool:
        """Say whether it has ended: a request sent now would close the connection."""
        return self._expires_at is not None and self._expires_at - _TOO_LATE_S <= now

    def postpone_renewal(self, now: float) -> None:
        """Open the next connection a third of the remaining time later: opening one failed."""
        if self._expires_at is not None:
            self.renew_at = now + max(_LEAST_PAUSE_S, (self._expires_at - now) / 3)


def _renewal(expires_at: float | None) -> float | None:
    if expires_at is None:
        return None
    now = time.monotonic()
    return now + (expires_at - now) * random.uniform(*_RENEW_AT)  # noqa: S311 -- no secret
