"""Records of transactions, kept back until their markers show how they ended. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from replication.state import Stored


class DecidedRecords(NamedTuple):
    """A record and the offset at which it stands."""

    offset: int
    record: Stored


@dataclass(slots=True)
class ReadCommittedBuffer:
    """Passes on what is decided of a compacted log.

    Of each key the last record counts, so one is left out if another one of its key that stands
    behind it was passed on meanwhile: its marker came late.
    """

    _undecided: dict[int, list[DecidedRecords]] = field(default_factory=dict)  # by producer id
    _newest: dict[bytes, int] = field(default_factory=dict)  # offsets by key, while some are

    def hold(self, producer_id: int, found: list[DecidedRecords]) -> None:
        """Keep records back that are part of the producer's open transaction."""
        self._undecided.setdefault(producer_id, []).extend(found)

    def end(self, producer_id: int, *, commits: bool) -> list[Stored]:
        """Return what the producer's transaction commits; what it aborts is dropped."""
        stalled_lso = self._undecided.pop(producer_id, [])
        return self.pass_on(stalled_lso if commits else [])

    def pass_on(self, found: list[DecidedRecords]) -> list[Stored]:
        """Return the records of ``found``, without those that a newer committed one replaces."""
        if not self._undecided and not self._newest:
            return [each.record for each in found]
        news = [e for e in found if e.offset > self._newest.get(e.record.key(), -1)]
        if self._undecided:
            self._newest.update((each.record.key(), each.offset) for each in news)
        else:
            self._newest.clear()
        return [each.record for each in news]
