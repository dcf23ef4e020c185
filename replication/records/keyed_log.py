"""The records of a compacted log by key and content, and which of them are copies of which. Pure.

Equal contents are no rarity: a key gets the same value again, and where the target sets timestamps
they are not compared. So equal records are told apart by their places.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Keyed(NamedTuple):
    """A record's offset, the fingerprints of its key and its content; tombstone: it has no value.

    A record without a key replaces no other; give it one that no other record has.
    """

    offset: int
    key: int
    digest: int
    tombstone: bool = False


@dataclass(slots=True)
class KeyedLog:
    """All records of one side, in order."""

    records: list[Keyed] = field(default_factory=list)
    last: dict[int, Keyed] = field(default_factory=dict)  # of each key
    places: dict[int, int] = field(default_factory=dict)  # offset of each content, the last one
    again: dict[int, list[int]] = field(default_factory=dict)  # all, of contents that come again

    @classmethod
    def of(cls, stream: Iterable[Keyed]) -> KeyedLog:
        log = cls()
        for each in stream:
            log.records.append(each)
            log.last[each.key] = each
            if (before := log.places.get(each.digest)) is not None:
                log.again.setdefault(each.digest, [before]).append(each.offset)
            log.places[each.digest] = each.offset
        return log

    def offsets(self, digest: int) -> Sequence[int]:
        """Return all offsets of a content that this side has."""
        return self.again.get(digest) or (self.places[digest],)

    def front(self, other: KeyedLog) -> int:
        """Return the offset of the first record that ``other`` has as well.

        Retention of ``other`` may have deleted what stands before it: all, if ``other`` is empty.
        """
        common = (each.offset for each in self.records if each.digest in other.places)
        after = self.records[-1].offset + 1 if self.records and not other.records else 0
        return next(common, after)


@dataclass(slots=True)
class _Equals:
    """The source's records of one content that have no copy yet, by offset."""

    before: deque[int]
    passed: list[int] = field(default_factory=list)  # those behind: no copy was in their place

    def take(self, after: int) -> int | None:
        """Return the last one before ``after``, once."""
        while self.before and self.before[-1] >= after:
            self.passed.append(self.before.pop())
        return self.before.pop() if self.before else None

    def take_any(self) -> int | None:
        """Return any one, once."""
        left = self.passed or self.before
        return left.pop() if left else None


class Pairing:
    """Gives target records the source records that they are copies of, from the last one on.

    A cleaner deletes the first ones of equal records: so the last ones belong together.
    """

    def __init__(self, source: KeyedLog) -> None:
        self._source = source
        self._after = source.records[-1].offset + 1 if source.records else 0
        self._copied: set[int] = set()  # offsets on the source
        self._equals: dict[int, _Equals] = {}  # of contents that come again there

    def place(self, digest: int, *, in_order: bool) -> int | None:
        """Return the source offset of a content that the source has; None: no such record is left.

        ``in_order``: before that of the last one returned, or anywhere. It is returned once.
        """
        found = self._one_of(digest, in_order=in_order)
        if found is not None:
            self._copied.add(found)
            self._after = found
        return found

    def _one_of(self, digest: int, *, in_order: bool) -> int | None:
        if digest not in self._source.again:
            only = self._source.places[digest]
            is_left = only not in self._copied and (only < self._after or not in_order)
            return only if is_left else None
        if digest not in self._equals:
            self._equals[digest] = _Equals(deque(self._source.again[digest]))
        equals = self._equals[digest]
        return equals.take(self._after) if in_order else equals.take_any()

    def is_copied(self, record: Keyed) -> bool:
        """Say whether a source record was returned."""
        return record.offset in self._copied

    def without_copy(self, digest: int) -> Sequence[int]:
        """Return the offsets of the source's records of a content that were not returned."""
        return [each for each in self._source.offsets(digest) if each not in self._copied]
