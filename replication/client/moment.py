"""A moment of this process, and the time since, also that in which the machine was suspended.

A stopped process (SIGSTOP) or a paused container does not stop ``time.monotonic``; a suspended
machine does, on Linux. ``CLOCK_BOOTTIME`` counts that time as well. Where a hypervisor pauses the
machine, no clock of it runs, but its wall clock is set right afterwards.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Self

# macOS has no CLOCK_BOOTTIME; its CLOCK_MONOTONIC counts suspended time.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Moment(NamedTuple):
    """Seconds since the machine's start, and seconds since 1970."""

    running: float
    wall: float

    @classmethod
    def now(cls) -> Self:
        return cls(time.clock_gettime(_CLOCK), time.time())

    def elapsed_s(self) -> float:
        """Return the seconds since this moment, by the clock that counted more of them.

        A wall clock that was set forward adds to it; one that was set back takes nothing away.
        """
        now = Moment.now()
        return max(now.running - self.running, now.wall - self.wall)
