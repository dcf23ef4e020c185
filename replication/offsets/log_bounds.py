"""Says which offsets of a partition do not exist, and moves answers into the other log. Pure.

A consumer group may have committed any number: somebody typed it, or the log lost its end in an
unclean leader election. Only offsets from 0 to the end exist; the end is that of the next record
to come. An offset below the log start once existed, so it is translated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.offsets.offset_map import Answer, without_answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.model import OffsetRange

SIDES = ("source", "target")


def nonexistent(offsets: Iterable[int], end: int, side: str) -> dict[int, Answer]:
    """Return the answers for those of ``offsets`` that a log with this end never had."""
    return {
        each: without_answer(_why_not(each, end, side)) for each in offsets if not 0 <= each <= end
    }


def _why_not(offset: int, end: int, side: str) -> str:
    if offset < 0:
        return "is negative: offsets begin at 0"
    return f"is beyond the end of the {side} ({end})"


def within(answer: Answer, log: OffsetRange, side: str) -> Answer:
    """Return ``answer`` as an offset that exists in ``log``, the log of ``side``.

    An offset below the log start becomes the log start. One beyond the end has no place: that log
    lost its end, and what will come there is another record.
    """
    if answer.offset is None:
        return answer
    if answer.offset > log.end:
        return without_answer(
            f"would be beyond the end of the {side} ({log.end}), which has lost its last records"
        )
    return answer if answer.offset >= log.start else answer._replace(offset=log.start)
