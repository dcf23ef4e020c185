"""When small answers of a source follow each other at once, and when records gather first. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_EVERY_S = 1 / 1000  # of a request: more of them cost more CPU time than the waiting is worth
_SAVED_S = 0.05  # what a quiet time saves up, in requests of that rate


@dataclass(slots=True)
class Thrift:
    """Counts the small answers of one fetcher; beyond 1,000 a second each is followed by a rest.

    So a record that comes alone is sent on at once, and what many of them cost is bounded.
    """

    _paid_until: float = 0.0

    def rests(self, now: float) -> bool:
        """Note a small answer at ``now``, in seconds; say whether to rest after it."""
        self._paid_until = max(self._paid_until, now - _SAVED_S) + _EVERY_S
        return self._paid_until > now
