"""Measures how long a query has been in the same epoch."""

from __future__ import annotations

import time

_MOST_S = 1.0  # that one look adds: a process that was frozen for an hour adds a second


class EpochStall:
    """Adds up the time between looks that saw the same epoch."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._epoch: tuple[int, int] | None = None
        self._seen_at = 0.0

    def begin(self) -> None:
        """Start counting now."""
        self.seconds, self._epoch, self._seen_at = 0.0, None, time.monotonic()

    def see(self, epoch: tuple[int, int] | None) -> None:
        """Record which epoch runs now: its number and the number of its plan."""
        moment = time.monotonic()
        self.seconds += min(moment - self._seen_at, _MOST_S)
        self._seen_at = moment
        if epoch != self._epoch:
            self.seconds, self._epoch = 0.0, epoch
