"""The clock of stored records."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Return the wall clock in ms, as in all stored records."""
    return int(time.time() * 1000)
