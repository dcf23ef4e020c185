"""Measures how long each step of a driver's start takes."""

from __future__ import annotations

import time


class StartupTimer:
    """The seconds of each step, by its name."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self.seconds: dict[str, float] = {}

    def end_step(self, name: str) -> None:
        """End the step ``name``; the next one begins."""
        now = time.monotonic()
        self.seconds[name] = round(now - self._begin, 2)
        self._begin = now
