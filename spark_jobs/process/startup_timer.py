"""How long the steps of a driver's start took."""

from __future__ import annotations

import time


class StartupTimer:
    """Measures the steps of a start."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self.startup_timer: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.startup_timer[name] = round(now - self._begin, 2)
        self._begin = now
