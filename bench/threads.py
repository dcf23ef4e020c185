"""Threads that work until a measurement, or a part of a test, is over."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def working(over: threading.Event, *works: Callable[[], None]) -> Iterator[None]:
    """Run each of ``works`` in a thread of its own; set ``over`` at the end, and wait for them."""
    threads = [threading.Thread(target=each) for each in works]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        over.set()
        for each in threads:
            each.join()
