"""Counts records in one log up to some offsets, and finds the records of some ranks."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.offsets.counted_log import CountedLog


class Count(NamedTuple):
    """The results by offset or rank, and the number of records read."""

    found: dict[int, int]
    total: int


async def count_to(
    log: CountedLog, begin: int, places: Iterable[int], until: int, most: int | None = None
) -> Count:
    """Return how many records stand in [begin, place) for each place, reading up to ``until``.

    Stops after more than ``most`` records: later places are left out.
    """
    found, total, rest = {}, 0, deque(sorted(places))
    async with aclosing(log.spans(begin, until)) as spans:
        async for span in spans:
            while rest and rest[0] <= span[-1]:
                found[rest[0]] = total + bisect_left(span, rest[0])
                rest.popleft()
            total += len(span)
            if most is not None and total > most:
                return Count(found, total)
    return Count({**found, **dict.fromkeys(rest, total)}, total)


async def seek(
    log: CountedLog, begin: int, ranks: Iterable[int], until: int | None, *, whole: bool = False
) -> Count:
    """Return the offsets of the records of these ranks, from ``begin``; ``whole``: read it all."""
    found, total, rest = {}, 0, deque(sorted(ranks))
    async with aclosing(log.spans(begin, until)) as spans:
        async for span in spans:
            while rest and rest[0] < total + len(span):
                found[rest[0]] = span[rest[0] - total]
                rest.popleft()
            total += len(span)
            if not rest and not whole:
                break
    return Count(found, total)
