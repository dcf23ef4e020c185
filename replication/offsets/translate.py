"""Translates offsets of one partition, both ways, by counting records in batch headers.

A sync point says how many records were copied before it. So the *rank* of an offset among the
copied records is counted in one log, from the sync point before it, and the record of that rank is
found in the other log, counting from the same sync point. Where a log has only copied records
between two sync points nothing is read: rank and offset grow together. Where retention has deleted
the sync point's offset, the remaining records are counted back from the next sync point.
"""

from __future__ import annotations

from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.model import OffsetRange
from replication.offsets.closed_interval import HERE, ClosedInterval
from replication.offsets.log_bounds import SIDES, nonexistent, within
from replication.offsets.offset_map import NOT_YET, Answer, interval_of, intervals, without_answer
from replication.offsets.record_counts import count_to, seek

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractAsyncContextManager

    from replication.offsets.counted_log import CountedLog
    from replication.offsets.offset_map import OffsetInterval, SyncPoint

LOST = without_answer("follows the copy of a record that the source no longer has")


@dataclass(slots=True)
class Translation:
    """Both logs of one partition and their sync points, which must not be empty.

    The deliverable source records may differ between sync points: ``source`` returns the log as it
    was copied up to one. ``ahead``: records copied since the last sync point are counted too;
    otherwise they are not copied yet. ``stored`` are earlier answers for source offsets that stay;
    new ones are added. ``turn`` is held while the logs are read. ``kept``: up to where the source's
    log is the one that was copied; None: all of it.
    """

    source: Callable[[SyncPoint], CountedLog]
    target: CountedLog
    sync_points: Sequence[SyncPoint]
    ahead: bool = True
    stored: dict[int, Answer] = field(default_factory=dict)
    turn: AbstractAsyncContextManager[object] = field(default_factory=nullcontext)
    kept: int | None = None

    async def translate(self, offsets: Collection[int], *, back: bool = False) -> dict[int, Answer]:
        """Return the answer for each of ``offsets``; ``back``: they are the target's."""
        if not offsets:
            return {}
        here, there = (self.target, self._newest) if back else (self._newest, self.target)
        side, other = SIDES[::-1] if back else SIDES
        last = self.sync_points[-1]
        end = await here.high_watermark(max(*offsets, last.target if back else last.source))
        answers = nonexistent(offsets, end, side)
        if not back:
            answers |= self._came_later(offsets, end)
        async with self.turn:
            found = await self._from_stored(set(offsets) - answers.keys(), back=back)
        start = await there.start()
        known = max((each.offset or 0 for each in found.values()), default=0)
        log = OffsetRange(start, await there.high_watermark(known) if found else start)
        answers |= {each: within(answer, log, other) for each, answer in found.items()}
        return {each: self._kept(answers[each]) if back else answers[each] for each in offsets}

    def _came_later(self, offsets: Collection[int], end: int) -> dict[int, Answer]:
        """Return the answers for source offsets from where the source lost what was copied.

        The records there, and the one that comes at the end, are not those that were copied.
        """
        kept = end if self.kept is None else min(end, self.kept)
        if kept >= self.sync_points[-1].source:
            return {}
        return dict.fromkeys((each for each in offsets if kept <= each <= end), NOT_YET)

    def _kept(self, answer: Answer) -> Answer:
        """Return the answer for a target offset if the source still has the record of its copy."""
        if answer.offset is None or self.kept is None or answer.offset <= self.kept:
            return answer
        return LOST

    async def _from_stored(self, offsets: Collection[int], *, back: bool) -> dict[int, Answer]:
        """Return the answers, whether these offsets exist or not; store those that stay."""
        stored = {} if back else self.stored
        found = await self._counted([each for each in offsets if each not in stored], back=back)
        copied = self.sync_points[-1].target
        stored |= {
            offset: answer
            for offset, answer in found.items()
            if answer.exact and answer.offset is not None and answer.offset < copied
        }
        return {each: found[each] if each in found else stored[each] for each in offsets}

    async def _counted(self, offsets: Collection[int], *, back: bool) -> dict[int, Answer]:
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
        return answers

    async def _within(self, interval: OffsetInterval, places: Sequence[int]) -> dict[int, Answer]:
        """Return answers; a place behind the last record of a closed interval has none in it."""
        if interval.high is None:
            return await (self._open_back if interval.back else self._open)(interval.low, places)
        source = self.source(interval.high)
        here, there = (self.target, source) if interval.back else (source, self.target)
        return await ClosedInterval(interval, here, there).answers(places)

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
            ours = [offset for span in [each async for each in reading] for offset in span]
        where, source = [*ours, self.target.end], self._newest
        count = await count_to(source, low.source, places, places[-1], len(ours))
        whole = not ours or (await _begins(source, low.source, self.target, low.target))
        return {
            each: (Answer(where[rank]) if whole else Answer(low.target, exact=False))
            if rank is not None and rank <= len(ours) and each <= source.end
            else NOT_YET
            for each in places
            for rank in (count.found.get(each),)
        }

    async def _open_back(self, low: SyncPoint, places: Sequence[int]) -> dict[int, Answer]:
        """Answer behind the last sync point, for target offsets.

        Where an open transaction hides records, or retention took some, no more is known than which
        record it is at least.
        """
        count = await count_to(self.target, low.target, places, places[-1])
        source = self._newest
        found = await seek(source, low.source, set(count.found.values()), None)
        from_low = await self.target.start() <= low.target
        if await source.start() > low.source:
            return {
                each: Answer(low.source, exact=from_low and not rank)
                for each, rank in count.found.items()
            }
        offsets = {found.total: source.end} | found.found
        return {
            each: Answer(offsets[rank], exact=from_low and each <= self.target.end)
            if rank in offsets
            else LOST
            for each, rank in count.found.items()
        }

    @property
    def _newest(self) -> CountedLog:
        """The source log as it is copied now."""
        return self.source(self.sync_points[-1])


async def _begins(source: CountedLog, at: int, target: CountedLog, there: int) -> bool:
    """Say whether both logs still begin at or before these offsets."""
    return await source.start() <= at and await target.start() <= there
