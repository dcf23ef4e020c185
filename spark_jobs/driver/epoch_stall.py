"""How long a query has been in one and the same epoch."""

from __future__ import annotations

import time

_MOST_S = 1.0  # that one look counts for: who was frozen for an hour has lost a moment


class EpochStall:
    """Adds up the time between looks that saw the same epoch, as its owner saw it pass."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._epoch: tuple[int, int] | None = None
        self._seen_at = 0.0

    def begin(self) -> None:
        """Count from now on."""
        self.seconds, self._epoch, self._seen_at = 0.0, None, time.monotonic()

    def see(self, epoch: tuple[int, int] | None) -> None:
        """Take in which epoch runs now, by its number and its plan's."""
        moment = time.monotonic()
        self.seconds += min(moment - self._seen_at, _MOST_S)
        self._seen_at = moment
        if epoch != self._epoch:
            self.seconds, self._epoch = 0.0, epoch
