"""Translates offsets of one partition, both ways, by counting records in batch headers.

A sync point says how many records were copied before it. So the *rank* of an offset among the
copied records is counted in one log, from the sync point before it, and the record of that rank is
found in the other log, counting from the same sync point. Where a log has only copied records
between two sync points nothing is read: rank and offset grow together. Where retention has deleted
the sync point's offset, the remaining records are counted back from the next sync point.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from replication.model import Mode
from replication.offsets.offset_map import NOT_YET, Answer, interval_of, intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from replication.offsets.counted_log import CountedLog
    from replication.offsets.offset_map import OffsetInterval, SyncPoint

_MAX_DECODED = 200_000  # offsets
HERE, THERE = 0, 1  # the log to translate from, and the other one


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


@dataclass(slots=True)
class Translation:
    """Both logs of one partition and their sync points, which must not be empty.

    The deliverable source records may differ between sync points: ``source`` returns the log as it
    was copied up to one. ``ahead``: records copied since the last sync point are counted too;
    otherwise they are not copied yet.
    """

    source: Callable[[SyncPoint], CountedLog]
    target: CountedLog
    sync_points: Sequence[SyncPoint]
    ahead: bool = True

    async def translate(self, offsets: Collection[int], *, back: bool = False) -> dict[int, Answer]:
        """Return the answer for each of ``offsets``; ``back``: they are the target's."""
        listed = intervals(self.sync_points, back=back)
        queries: list[dict[int, int]] = [{} for _ in listed]  # in each: an offset, and its place
        for each in offsets:
            at = interval_of(listed, each)
            queries[at][each] = max(each, listed[at].at(listed[at].low)[HERE])
        answers: dict[int, Answer] = {}
        for number, interval in enumerate(listed):
            places = queries[number]
            found = await self._within(interval, sorted(set(places.values()))) if places else {}
            answers |= {o: found[place] for o, place in places.items() if place in found}
            for offset in places.keys() - answers.keys():  # nothing is copied between it and high
                following = listed[number + 1]
                queries[number + 1][offset] = following.at(following.low)[HERE]
        start = await (self._newest if back else self.target).start()
        return {each: _that_is_there(answer, start) for each, answer in answers.items()}

    async def _within(self, interval: OffsetInterval, places: Sequence[int]) -> dict[int, Answer]:
        """Return answers; a place behind the last record of a closed interval has none in it."""
        if interval.high is None:
            return await (self._open_back if interval.back else self._open)(interval.low, places)
        if interval.straight:
            (here, end), (there, _) = interval.span(HERE), interval.span(THERE)
            return {each: Answer(there + each - here) for each in places if each < end}
        ranks = await self._ranks(interval, places)
        if ranks is None:
            return await self._by_content(interval, places)
        inside = {place: r for place, r in ranks.items() if r < interval.high.records}
        found = await self._offsets(interval, set(inside.values()))
        if found is None:
            return await self._by_content(interval, sorted(inside))
        return {place: Answer(found[rank]) for place, rank in inside.items()}

    async def _ranks(
        self, interval: OffsetInterval, places: Sequence[int]
    ) -> dict[int, int] | None:
        """Return how many records were copied before each place; None: compaction deleted some."""
        (begin, end), low = interval.span(HERE), interval.low.records
        if interval.is_dense(HERE):
            return {each: low + each - begin for each in places}
        if not interval.records:
            return dict.fromkeys(places, low)
        log = self._log(interval, HERE)
        start = await log.start()
        if start <= begin and not _compacts(interval):
            count = await count_to(log, begin, places, places[-1])
            return {each: low + rank for each, rank in count.found.items()}
        count = await count_to(log, max(begin, start), places, end)
        if start <= begin and count.total == interval.records:
            return {each: low + rank for each, rank in count.found.items()}
        if start <= begin or not _is_counted(interval):
            return None
        left = low + interval.records - count.total  # rank of the first record that is there
        return {
            each: max(low, left + rank - max(0, start - each)) for each, rank in count.found.items()
        }

    async def _offsets(self, interval: OffsetInterval, ranks: set[int]) -> dict[int, int] | None:
        """Return the offsets of the records of these ranks; None: compaction deleted some."""
        (begin, end), low = interval.span(THERE), interval.low.records
        if interval.is_dense(THERE) or not ranks:
            return {each: begin + each - low for each in ranks}
        log = self._log(interval, THERE)
        start = await log.start()
        if start <= begin and not _compacts(interval):
            count = await seek(log, begin, {each - low for each in ranks}, end)
            found = {each + low: offset for each, offset in count.found.items()}
            return found if found.keys() == ranks else None
        relative = {each - low for each in ranks}
        count = await seek(log, max(begin, start), relative | {0}, end, whole=True)
        if start <= begin and count.total == interval.records:
            return {each: count.found[each - low] for each in ranks}
        if start <= begin or not _is_counted(interval):
            return None
        gone = (interval.records or 0) - count.total
        first = count.found.get(0, end)
        shifted = {max(0, each - low - gone) for each in ranks}
        again = await seek(log, max(begin, start), shifted, end)
        return {each: again.found.get(max(0, each - low - gone), first) for each in ranks}

    async def _by_content(
        self, interval: OffsetInterval, places: Sequence[int]
    ) -> dict[int, Answer]:
        """Find the first record at or behind each place that both logs still hold.

        Used where compaction deleted records to be counted. A skipped record is missing in one of
        the logs, because that log holds a later record of its key. Among equal records the first
        possible one is used. An interval that is too long to be decoded has no exact answers.
        """
        (begin, end), (there, end_there) = interval.span(HERE), interval.span(THERE)
        if max(end - begin, end_there - there) > _MAX_DECODED:
            return {each: Answer(interval.lowest(each), exact=False) for each in places}
        theirs: dict[int, list[int]] = {}
        async for offset, digest in self._log(interval, THERE).records(there, end_there):
            theirs.setdefault(digest, []).append(offset)
        ours = [each async for each in self._log(interval, HERE).records(begin, end)]
        found: dict[int, Answer] = {}
        for place in places:
            lowest, at = interval.lowest(place), bisect_left(ours, (place,))
            both = (t for _, digest in ours[at:] for t in theirs.get(digest, ()) if t >= lowest)
            if (first := next(both, None)) is not None:
                found[place] = Answer(first)
        return found

    async def _open(self, low: SyncPoint, places: Sequence[int]) -> dict[int, Answer]:
        """Answer behind the last sync point, for source offsets."""
        further = [each for each in places if each > low.source]
        if not further or not self.ahead:
            if len(further) == len(places):
                return dict.fromkeys(places, NOT_YET)
            first = await seek(self.target, low.target, {0}, None)
            answer = Answer(first.found.get(0, self.target.end))
            return {each: answer if each <= low.source else NOT_YET for each in places}
        async with aclosing(self.target.spans(low.target)) as reading:
            spans = [each async for each in reading]
        ours = [offset for span in spans for offset in span]
        end = self.target.end
        count = await count_to(self._newest, low.source, places, places[-1], len(ours))
        where = [*ours, end]
        return {
            each: Answer(where[rank] if rank is not None and rank <= len(ours) else None)
            for each in places
            for rank in (count.found.get(each),)
        }

    async def _open_back(self, low: SyncPoint, places: Sequence[int]) -> dict[int, Answer]:
        """Answer behind the last sync point, for target offsets."""
        count = await count_to(self.target, low.target, places, places[-1])
        source = self._newest
        found = await seek(source, low.source, set(count.found.values()), None)
        end = source.end
        return {
            each: Answer(found.found.get(rank, end if rank == found.total else None))
            for each, rank in count.found.items()
        }

    def _log(self, interval: OffsetInterval, side: int) -> CountedLog:
        if (side == HERE) == interval.back:
            return self.target
        return self.source(interval.high or interval.low)

    @property
    def _newest(self) -> CountedLog:
        """The source log as it is copied now."""
        return self.source(self.sync_points[-1])


def _compacts(interval: OffsetInterval) -> bool:
    """Say whether compaction may have deleted records to be counted."""
    return (interval.high or interval.low).mode == Mode.TRANSACTIONAL


def _is_counted(interval: OffsetInterval) -> bool:
    """Say whether the sync points' record counts are exact, counted from either end."""
    return (interval.high or interval.low).mode == Mode.APPEND


def _that_is_there(answer: Answer, start: int) -> Answer:
    """Move an offset below the log start to the log start."""
    if answer.offset is None or answer.offset >= start:
        return answer
    return answer._replace(offset=start)
