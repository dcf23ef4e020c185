"""How far MirrorMaker 2 has copied a partition, proven by the content of its copy. Pure.

MirrorMaker 2 stores its position now and then. After a crash it goes back to the stored one, so a
copy is a row of *runs*, each a stretch of the source in order; a later run begins where an earlier
one already was::

    source   a b c d e f g h
    copy     a b c d e c d          the last run ends with d, yet all up to e is there

P  The position is behind the furthest record of any run. As each run begins at or before the end
   of the earlier ones, everything before that record is on the target too.
S  Where contents repeat and several places fit equally well, the earliest one counts: records may
   then come again, none is left out. ``Proof.ambiguous`` says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.records.comparison_result import Fingerprint

_CONTEXT = 500  # records before a place that are compared where several places fit
_MOST_PLACES = 200


class Proof(NamedTuple):
    """``last`` is the source offset of the furthest record that the copy has; None: it has none."""

    last: int | None
    runs: int = 0  # more than one: records were repeated, or foreign ones are in between
    foreign: int = 0  # records at the copy's end that this part of the source does not have
    ambiguous: bool = False


def furthest(
    copy: Sequence[Fingerprint], source: Sequence[Fingerprint], stored: int | None = None
) -> Proof:
    """Return the furthest record of ``source`` that the end of a copy holds.

    Both are in order. The last run ends at or behind ``stored``, if it can be found there.
    """
    return _Search(copy, source, stored).run()


@dataclass(slots=True)
class _Search:
    copy: Sequence[Fingerprint]
    source: Sequence[Fingerprint]
    stored: int | None
    places: dict[int, list[int]] = field(default_factory=dict)
    best: int | None = None  # index of the furthest record found
    tied: int | None = None  # the furthest place that would have fitted as well

    def run(self) -> Proof:
        for index, record in enumerate(self.source):
            self.places.setdefault(record.digest, []).append(index)
        at, runs, foreign = len(self.copy) - 1, 0, 0
        while at >= 0:
            length = self._take_run(at)
            if length:
                runs += 1
            elif not runs:
                foreign += 1
            at -= length or 1
        if self.best is None:
            return Proof(None, runs, foreign)
        ambiguous = self.tied is not None and self.tied > self.best
        return Proof(self.source[self.best].offset, runs, foreign, ambiguous)

    def _take_run(self, at: int) -> int:
        """Find the run that ends at ``at`` of the copy; return how many records it has here."""
        places = self.places.get(self.copy[at].digest, [])
        stored = self.stored
        if self.best is None and stored is not None:
            places = [p for p in places if self.source[p].offset >= stored] or places
        if not places:
            return 0
        if len(places) > 1:
            places = self._best_of(at, places)
        self.best = places[0] if self.best is None else max(self.best, places[0])
        return self._match(at, places[0], len(self.copy))

    def _best_of(self, at: int, places: list[int]) -> list[int]:
        """Return the places before which most is equal, the earliest first."""
        some = places[:_MOST_PLACES]
        lengths = {place: self._match(at, place, _CONTEXT) for place in some}
        longest = max(lengths.values())
        fitting = [place for place in some if lengths[place] == longest]
        known = () if self.tied is None else (self.tied,)
        self.tied = max([*known, fitting[-1], *places[_MOST_PLACES:]])
        return fitting

    def _match(self, at: int, place: int, most: int) -> int:
        length = 0
        while (
            length < most
            and length <= min(at, place)
            and self.copy[at - length].digest == self.source[place - length].digest
        ):
            length += 1
        return length
