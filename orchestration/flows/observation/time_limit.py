"""Runs the same work on many things at once, and waits only so long."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Item = TypeVar("Item")
Found = TypeVar("Found")


def in_time(
    work: Callable[[Item], Found], items: Sequence[Item], limit_s: float
) -> list[Found | None]:
    """Run ``work`` on all items at once. None for each that is not ready after ``limit_s``.

    The threads are daemons: a client that hangs must not keep the process from ending.
    """
    found: list[Found | None] = [None] * len(items)
    failures: list[Exception] = []

    def one(index: int, item: Item) -> None:
        try:
            found[index] = work(item)
        except Exception as error:  # noqa: BLE001 - raised again below, in the caller's thread
            failures.append(error)

    threads = [threading.Thread(target=one, args=pair, daemon=True) for pair in enumerate(items)]
    for each in threads:
        each.start()
    deadline = time.monotonic() + limit_s
    for each in threads:
        each.join(max(0.0, deadline - time.monotonic()))
    if failures:
        raise failures[0]
    return found
