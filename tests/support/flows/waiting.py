"""Waits for what brokers hear of a moment later than the controller that has answered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def await_equal(read: Callable[[], object], expected: object, limit_s: float = 60) -> None:
    """Read until it is what is expected; what was read last is compared."""
    deadline = time.monotonic() + limit_s
    while (found := read()) != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found == expected
