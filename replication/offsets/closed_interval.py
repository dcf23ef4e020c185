"""Translates offsets between two sync points: by counting in both logs, or by their content.

Answers between two sync points stay the same for ever, as long as both logs hold the records.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from replication.model import Mode
from replication.offsets.offset_map import NOT_YET, Answer
from replication.offsets.record_counts import count_to, seek

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.offsets.counted_log import CountedLog
    from replication.offsets.offset_map import OffsetInterval

_MAX_DECODED = 200_000  # offsets
HERE, THERE = 0, 1  # the log to translate from, and the other one


class Ranks(NamedTuple):
    """How many records were copied before each place; at least so many outside of ``exact``."""

    by_place: dict[int, int]
    exact: range


@dataclass(frozen=True, slots=True)
class ClosedInterval:
    """An interval with both of its sync points, the log to translate from, and the other one."""

    interval: OffsetInterval
    here: CountedLog
    there: CountedLog

    @property
    def _records(self) -> int:
        return self.interval.records or 0

    async def answers(self, places: Sequence[int]) -> dict[int, Answer]:
        """Return the answers; a place behind the last record of the interval has none in it."""
        if self.interval.straight:
            (here, end), (there, _) = self.interval.span(HERE), self.interval.span(THERE)
            return {each: Answer(there + each - here) for each in places if each < end}
        ranks = await self._ranks(places)
        if ranks is None:
            return await self._by_content(places)
        after = self.interval.low.records + self._records
        inside = {place: rank for place, rank in ranks.by_place.items() if rank < after}
        found = await self._offsets(set(inside.values()))
        if found is None:
            return await self._by_content(sorted(inside))
        return {
            place: found[rank] if place in ranks.exact else found[rank]._replace(exact=False)
            for place, rank in inside.items()
        }

    async def _ranks(self, places: Sequence[int]) -> Ranks | None:
        """Return how many records were copied before each place; None: compaction deleted some."""
        (begin, end), low = self.interval.span(HERE), self.interval.low.records
        if self.interval.is_dense(HERE):
            return Ranks({each: low + each - begin for each in places}, range(end + 1))
        if not self._records:
            return Ranks(dict.fromkeys(places, low), range(end + 1))
        start = await self.here.start()
        if start > begin or self._compacts:
            return await self._ranks_of_all(places, start)
        count = await count_to(self.here, begin, places, places[-1])
        ranks = {each: low + rank for each, rank in count.found.items()}
        return Ranks(ranks, range(self.here.end + 1))

    async def _ranks_of_all(self, places: Sequence[int], start: int) -> Ranks | None:
        """Return the ranks by counting the whole interval, back from its end if ``start`` is in it.

        If the log cannot be read to the end of the interval, no rank can be counted back.
        """
        (begin, end), low = self.interval.span(HERE), self.interval.low.records
        count = await count_to(self.here, max(begin, start), places, end)
        if start <= begin and count.total == self._records:
            return Ranks({each: low + rank for each, rank in count.found.items()}, range(end + 1))
        if start <= begin or not self._is_counted:
            return None
        if self.here.end < end:
            return Ranks(dict.fromkeys(places, low), range(0))
        left = low + self._records - count.total  # rank of the first record that is there
        ranks = {
            each: max(low, left + rank - max(0, start - each)) for each, rank in count.found.items()
        }
        return Ranks(ranks, range(0 if left == low else start, end + 1))

    async def _offsets(self, ranks: set[int]) -> dict[int, Answer] | None:
        """Return the places of the records of these ranks; None: compaction deleted some."""
        (begin, end), low = self.interval.span(THERE), self.interval.low.records
        if self.interval.is_dense(THERE) or not ranks:
            return {each: Answer(begin + each - low) for each in ranks}
        start = await self.there.start()
        if start > begin or self._compacts:
            return await self._offsets_of_all(ranks, start)
        count = await seek(self.there, begin, {each - low for each in ranks}, end)
        found = {each + low: Answer(offset) for each, offset in count.found.items()}
        if found.keys() != ranks and self.there.end >= end:
            return None
        return dict.fromkeys(ranks, await _unread(self.there, end)) | found

    async def _offsets_of_all(self, ranks: set[int], start: int) -> dict[int, Answer] | None:
        """Return the places by reading the whole interval; ``start`` may be in it."""
        (begin, end), low = self.interval.span(THERE), self.interval.low.records
        relative = {each - low for each in ranks}
        count = await seek(self.there, max(begin, start), relative | {0}, end, whole=True)
        if start <= begin and count.total == self._records:
            return {each: Answer(count.found[each - low]) for each in ranks}
        if start <= begin or not self._is_counted:
            return None
        if self.there.end < end:
            return dict.fromkeys(ranks, await _unread(self.there, end))
        gone = self._records - count.total
        first = count.found.get(0, end)
        shifted = {max(0, each - low - gone) for each in ranks}
        again = await seek(self.there, max(begin, start), shifted, end)
        return {each: Answer(again.found.get(max(0, each - low - gone), first)) for each in ranks}

    async def _by_content(self, places: Sequence[int]) -> dict[int, Answer]:
        """Find the first record at or behind each place that both logs still hold.

        Used where compaction deleted records to be counted. A skipped record is missing in one of
        the logs, because that log holds a later record of its key. Among equal records the first
        possible one is used. An interval that is too long to be decoded has no exact answers.
        """
        (begin, end), (there, end_there) = self.interval.span(HERE), self.interval.span(THERE)
        lowest = self.interval.lowest
        if max(end - begin, end_there - there) > _MAX_DECODED:
            return {each: Answer(lowest(each), exact=False) for each in places}
        theirs: dict[int, list[int]] = {}
        async for offset, digest in self.there.records(there, end_there):
            theirs.setdefault(digest, []).append(offset)
        ours = [each async for each in self.here.records(begin, end)]
        found: dict[int, Answer] = {}
        for place in places:
            least, at = lowest(place), bisect_left(ours, (place,))
            both = (t for _, digest in ours[at:] for t in theirs.get(digest, ()) if t >= least)
            if (first := next(both, None)) is not None:
                found[place] = Answer(first)
            elif self.there.end < end_there:
                found[place] = await _unread(self.there, end_there)
            elif self.here.end < end:
                found[place] = Answer(least, exact=False)
        return found

    @property
    def _compacts(self) -> bool:
        """Whether compaction may have deleted records to be counted."""
        return (self.interval.high or self.interval.low).mode == Mode.TRANSACTIONAL

    @property
    def _is_counted(self) -> bool:
        """Whether the sync points' record counts are exact, counted from either end."""
        return (self.interval.high or self.interval.low).mode == Mode.APPEND


async def _unread(log: CountedLog, end: int) -> Answer:
    """Return the answer for records between where a reading ended and ``end``, a former position.

    The log has lost its end, or an open transaction hides what stands behind its first record.
    """
    lost = log.end < end and await log.high_watermark(end) < end
    return Answer(end) if lost else NOT_YET
