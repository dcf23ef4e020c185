"""Tell a partition that is tried again for long from one that has trouble for a moment.

A partition keeps the state RUNNING while it is tried again: leaders move, brokers restart. One that
is tried again for ever is not RUNNING.
"""

from __future__ import annotations

from dataclasses import dataclass

PATIENCE_S = 30.0
_SAME_S = 60.0  # a later failure begins a new series: requests time out within this time


@dataclass(slots=True, eq=False)
class Retries:
    """One series of failures without success. Times are monotonic seconds."""

    are_long: bool = False  # it has lasted for PATIENCE_S
    _first: float | None = None
    _last: float = 0.0

    def note(self, now: float) -> None:
        """Note a failure after which the partition is tried again."""
        if self._first is None or now - self._last > _SAME_S:
            self._first = now
        self._last = now
        self.are_long = now - self._first >= PATIENCE_S

    def end(self) -> None:
        """Note a success."""
        self._first, self.are_long = None, False
