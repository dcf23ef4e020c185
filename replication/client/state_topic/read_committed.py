"""Buffers records of open transactions until their markers arrive (read_committed). Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from replication.state import Stored


class DecidedRecords(NamedTuple):
    """A record and its offset."""

    offset: int
    record: Stored


@dataclass(slots=True)
class ReadCommittedBuffer:
    """Returns the decided records of a compacted log.

    The last record of a key counts. So a record is dropped if a later one of its key was returned
    meanwhile, because the marker of its transaction came late.
    """

    _undecided: dict[int, list[DecidedRecords]] = field(default_factory=dict)  # by producer id
    _newest: dict[bytes, int] = field(default_factory=dict)  # offsets by key, while some are

    def hold(self, producer_id: int, found: list[DecidedRecords]) -> None:
        """Hold records that are part of the producer's open transaction."""
        self._undecided.setdefault(producer_id, []).extend(found)

    def end(self, producer_id: int, *, commits: bool) -> list[Stored]:
        """Return the records that the producer's transaction commits; drop those it aborts."""
        held = self._undecided.pop(producer_id, [])
        return self.committed(held if commits else [])

    def committed(self, found: list[DecidedRecords]) -> list[Stored]:
        """Return the records of ``found``, without those that a newer committed one replaces."""
        if not self._undecided and not self._newest:
            return [each.record for each in found]
        news = [e for e in found if e.offset > self._newest.get(e.record.key(), -1)]
        if self._undecided:
            self._newest.update((each.record.key(), each.offset) for each in news)
        else:
            self._newest.clear()
        return [each.record for each in news]
