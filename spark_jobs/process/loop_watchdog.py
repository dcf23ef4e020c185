"""Detects that the driver's main loop hangs, as when a JVM does not answer a call.

It counts its own checks, not the clock: a machine or a process that slept for an hour has missed
one check.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CHECKS = 90  # writing its class archive stops the JVM: for seconds, longer on a busy machine
_CHECK_S = 1.0


class LoopWatchdog:
    """Calls ``on_silence``, from its own thread, after so many checks without a beat."""

    def __init__(
        self, on_silence: Callable[[], None], checks: int = _CHECKS, check_s: float = _CHECK_S
    ) -> None:
        self._on_silence = on_silence
        self._checks = checks
        self._check_s = check_s
        self._beats = 0
        self._over = threading.Event()

    def beat(self) -> None:
        """Report that the loop runs."""
        self._beats += 1

    def start(self) -> None:
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _watch(self) -> None:
        seen, silent = self._beats, 0
        while not self._over.is_set():
            time.sleep(self._check_s)
            silent = silent + 1 if self._beats == seen else 0
            seen = self._beats
            if silent >= self._checks:
                self._on_silence()
                return
