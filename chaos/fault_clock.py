"""The time at which faults are due: it stands still while nothing is copied for long. Pure.

A driver needs half a minute to start. Faults that come more often than it can start would keep it
from ever copying, and none of them would meet a copy that is under way.
"""

from __future__ import annotations

from dataclasses import dataclass

PATIENCE_S = 20.0  # without a copied record, for which faults still follow each other


@dataclass(slots=True)
class FaultClock:
    """Seconds since the first call, less those in which nothing was copied for ``PATIENCE_S``."""

    _elapsed_s: float = 0.0
    _asked_s: float | None = None
    _copied: int = 0
    _copied_s: float = 0.0

    def at(self, now_s: float, copied: int) -> float:
        """Return the time now. ``copied``: records so far; a driver may count fewer than before."""
        if self._asked_s is None or copied != self._copied:
            self._copied, self._copied_s = copied, now_s
        if now_s - self._copied_s < PATIENCE_S:
            self._elapsed_s += now_s - (now_s if self._asked_s is None else self._asked_s)
        self._asked_s = now_s
        return self._elapsed_s
