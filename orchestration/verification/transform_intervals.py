"""Between which points the results of a transform are compared. Pure.

A point names offsets of both sides that belong together, for ever. So what a transform read between
two of them, and what it wrote between them, are compared apart from everything else.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestration.verification.partition_plan import Selected
    from replication.state import TransformPoint, TransformStart, TransformVerified

Listed = Mapping[str, Sequence[int | None]]  # by topic, an offset a partition
Offsets = Mapping[TopicPartition, int]


class Interval(NamedTuple):
    """What is compared together; ``end`` None: all that there is by now."""

    begin: TransformStart | TransformPoint | TransformVerified
    end: TransformPoint | None


class ChosenIntervals(NamedTuple):
    """The intervals of a run, in order, of all that is behind ``first``."""

    first: TransformStart | TransformVerified
    intervals: tuple[Interval, ...]
    skipped: int = 0  # that were not chosen


@dataclass(frozen=True, slots=True)
class TransformPast:
    """What is known of the past of a transform.

    ``reached``: the source offsets that it has passed, as they were known before its points.
    ``times``: the source offsets of a run's ``since`` and ``until``, empty where all is meant.
    """

    start: TransformStart
    points: Sequence[TransformPoint]
    verified: TransformVerified | None
    reached: Offsets
    times: tuple[Offsets, Offsets] = ({}, {})

    @property
    def began_anew(self) -> bool:
        """Whether what an earlier run verified was before this start."""
        return self.verified is not None and self.verified.era != self.start.began_ms

    def choose(self, selected: Selected) -> ChosenIntervals:
        """Return what a run compares."""
        first: TransformStart | TransformVerified = self.start
        if self.verified is not None and not self.began_anew and not selected.full:
            first = self.verified
        if not selected.is_partial:
            return ChosenIntervals(first, (Interval(first, None),))
        behind = [each for each in self.known_points() if self._passed(each) > self._passed(first)]
        every = list(map(Interval, (first, *behind), (*behind, None)))
        within = [each for each in every if any(self._has(each, e) for e in self.reached)]
        taken = _sample(within, selected, self.start.number)
        return ChosenIntervals(first, tuple(_joined(taken)), len(every) - len(taken))

    def known_points(self) -> list[TransformPoint]:
        """Return the points of this start up to what is reached, in order."""
        mine = (each for each in self.points if each.era == self.start.began_ms)
        return sorted(filter(self._is_reached, mine), key=self._passed)

    def begin_of(self, interval: Interval, where: TopicPartition) -> int | None:
        """Return at which source offset an interval begins; None: it was never transformed."""
        return self._at(interval.begin, where)

    def end_of(self, interval: Interval, where: TopicPartition) -> int | None:
        """Return at which source offset an interval ends; None: it is not known yet."""
        return None if interval.end is None else self._at(interval.end, where)

    def _at(
        self, place: TransformStart | TransformPoint | TransformVerified, where: TopicPartition
    ) -> int | None:
        """Return a source offset of a place; a partition that it does not name began behind it."""
        found = offset_in(place.sources, where)
        return offset_in(self.start.sources, where) if found is None else found

    def _passed(self, place: TransformStart | TransformPoint | TransformVerified) -> int:
        """Return what grows from each place to the next one."""
        begun = (
            TopicPartition(topic, number)
            for topic, listed in self.start.sources.items()
            for number in range(len(listed))
        )
        return sum(self._at(place, where) or 0 for where in begun)

    def _is_reached(self, point: TransformPoint) -> bool:
        return all(
            offset is None or offset <= self.reached.get(TopicPartition(topic, number), -1)
            for topic, listed in point.sources.items()
            for number, offset in enumerate(listed)
        )

    def _has(self, interval: Interval, where: TopicPartition) -> bool:
        """Say whether records of a partition, of the times that are meant, are in an interval."""
        begin, end = self.begin_of(interval, where), self.end_of(interval, where)
        if begin is None:
            return False
        end = self.reached[where] if end is None else end
        since, until = (each.get(where) for each in self.times)
        first = begin if since is None else max(begin, since)
        return first < (end if until is None else min(end, until))


def offset_in(listed: Listed, where: TopicPartition) -> int | None:
    """Return the offset of a partition; None: it is not named."""
    found = listed.get(where.topic, ())
    return found[where.partition] if where.partition < len(found) else None


def _sample(within: Sequence[Interval], selected: Selected, number: int) -> list[Interval]:
    if selected.sample >= 1 or not within:
        return [*within]
    chance = random.Random(f"{selected.seed}/transform {number}")  # noqa: S311 - no secret
    found = [each for each in within if chance.random() < selected.sample]
    return found or [chance.choice(within)]


def _joined(taken: Iterable[Interval]) -> list[Interval]:
    """Return intervals, those that follow on as one."""
    found: list[Interval] = []
    for each in taken:
        if found and found[-1].end is each.begin:
            found[-1] = Interval(found[-1].begin, each.end)
        else:
            found.append(each)
    return found
