"""Records that were not copied, as operators see them. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from replication.durations import format_moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.state import Loss

RECENT = timedelta(hours=1)  # how long a loss fails the check, so that it is not missed


def summary(losses: Sequence[Loss], now_ms: int) -> tuple[bool, str]:
    """Return whether nothing was lost of late, and a sentence. ``losses``: the newest last."""
    recent = [each for each in losses if now_ms - each.at_ms < RECENT / timedelta(milliseconds=1)]
    if not recent:
        return True, f"no loss in the last hour; {len(losses)} losses recorded"
    more = f", and {len(recent) - 1} more" if len(recent) > 1 else ""
    return False, f"{describe(recent[-1])}{more}; `isthmus losses` lists all"


def describe(loss: Loss) -> str:
    """Return one loss in one line."""
    span = f" offsets [{loss.first}, {loss.next})" if loss.next > loss.first else ""
    at = format_moment(loss.at_ms)
    return f"{at} {loss.topic}-{loss.partition}{span} {loss.state}: {loss.reason}"
