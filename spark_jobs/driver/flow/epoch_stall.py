"""Says whether a process that copies hangs: its epoch does not end."""

from __future__ import annotations

import time
from datetime import timedelta

_MOST_S = 1.0  # that one look adds: a process that was frozen for an hour adds a second
_STALL_EPOCHS = 2  # a task whose worker dies is tried again, for a whole epoch
_STALL_S = 90.0  # beyond these: a takeover at an epoch's begin may take a minute


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

    def is_over(self, length: timedelta) -> bool:
        """Return whether an epoch of this length should have ended by now."""
        return self.seconds > _STALL_EPOCHS * (length / timedelta(seconds=1)) + _STALL_S
