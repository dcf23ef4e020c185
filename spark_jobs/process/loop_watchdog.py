"""Notices that a driver's loop stands still: a JVM that hangs answers no call, and raises nothing.

What is counted are our own looks, not the clock: a machine or a process that slept for an hour
has slept for one look.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOKS = 90  # writing its class archive stops the JVM: for seconds, on a busy machine for longer
_LOOK_S = 1.0


class LoopWatchdog:
    """Calls ``on_silence``, from a thread of its own, when so many looks saw no beat between."""

    def __init__(
        self, on_silence: Callable[[], None], looks: int = _LOOKS, look_s: float = _LOOK_S
    ) -> None:
        self._on_silence = on_silence
        self._looks = looks
        self._look_s = look_s
        self._beats = 0
        self._over = threading.Event()

    def beat(self) -> None:
        """Say that the loop goes on."""
        self._beats += 1

    def start(self) -> None:
        threading.Thread(target=self._watch, name="pulse", daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _watch(self) -> None:
        seen, silent = self._beats, 0
        while not self._over.is_set():
            time.sleep(self._look_s)
            silent = silent + 1 if self._beats == seen else 0
            seen = self._beats
            if silent >= self._looks:
                self._on_silence()
                return
