"""What is fetched of a partition next, what keeps it from that, and what its source last said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from replication.model import NO_LEADER_EPOCH, OffsetAndEpoch, PartitionState

if TYPE_CHECKING:
    from replication.copier.partition.broker_errors import PartitionError


def leader_epoch_at(known: OffsetAndEpoch, offset: int) -> int:
    """Return the leader epoch of the batch before ``offset`` if ``known`` is at ``offset``."""
    return known.epoch if known.offset == offset else NO_LEADER_EPOCH


@dataclass(slots=True, eq=False, kw_only=True)
class FetchState:
    """Adds itself to ``fetch_changes`` and ``anchor_changes`` whenever a field changes.

    So each round costs as much as the number of changed partitions, not of all partitions.
    """

    fetch_changes: set[Any] = field(default_factory=set)  # looked at before the next Fetch
    anchor_changes: set[Any] = field(default_factory=set)  # these may need a new anchor
    leaving: bool = False  # the new plan lacks it: nothing is sent after what is in flight
    _position: int = 0
    _fetched_to: int = 0  # offset
    _fetched_epoch: int = NO_LEADER_EPOCH  # source leader epoch of the batch before that
    _state: PartitionState = PartitionState.WAITING
    _error: PartitionError | None = None
    _retry_at: float | None = None

    def touch(self) -> None:
        """Mark the partition as changed for its fetcher and its anchor."""
        self.fetch_changes.add(self)
        self.anchor_changes.add(self)

    @property
    def position(self) -> int:
        """Next source offset to fetch."""
        return self._position

    @position.setter
    def position(self, offset: int) -> None:
        self._position = offset
        self.touch()

    @property
    def last_epoch(self) -> int:
        """Source leader epoch of the last batch fetched; unknown after a jump of the position."""
        known = self._fetched_to == self._position
        return self._fetched_epoch if known else NO_LEADER_EPOCH

    @property
    def fetched_to(self) -> OffsetAndEpoch:
        """Offset after the last batch fetched, and that batch's leader epoch."""
        return OffsetAndEpoch(self._fetched_to, self._fetched_epoch)

    def resume_at(self, offset: int, epoch: int = NO_LEADER_EPOCH) -> None:
        """Fetch from ``offset`` on; the batch before it has the source's leader ``epoch``."""
        self._position = self._fetched_to = offset
        self._fetched_epoch = epoch
        self.touch()

    @property
    def state(self) -> PartitionState:
        return self._state

    @state.setter
    def state(self, state: PartitionState) -> None:
        self._state = state
        self.touch()

    @property
    def error(self) -> PartitionError | None:
        """The error to recover from once no response is outstanding."""
        return self._error

    @error.setter
    def error(self, error: PartitionError | None) -> None:
        self._error = error
        self.touch()

    @property
    def retry_at(self) -> float | None:
        """Monotonic time of the next try; None: not backing off."""
        return self._retry_at

    @retry_at.setter
    def retry_at(self, moment: float | None) -> None:
        self._retry_at = moment
        self.touch()

    @property
    def fetches(self) -> bool:
        return (
            self._state is PartitionState.RUNNING
            and not self.leaving
            and self._error is None
            and self._retry_at is None
        )


@dataclass(slots=True)
class SourceLog:
    """A partition's log at the source, as of its Fetch responses."""

    end: int = 0  # log end (or last stable offset) in the last Fetch response
    silent_since_ms: int = 0  # when the source last answered, while it does not; 0: it does
    unread: int | None = None  # offset of a batch that was seen and could not be read

    def answered(self, end: int) -> None:
        """Note the log's end of a Fetch response without an error."""
        self.end, self.silent_since_ms = end, 0

    def is_silent(self, since_ms: int) -> None:
        """Note since when the source has given no answer; an earlier time stays."""
        self.silent_since_ms = self.silent_since_ms or since_ms

    def silent_ms(self, now_ms: int) -> int:
        """Return for how long the source has given no answer, 0 if it does."""
        return max(0, now_ms - self.silent_since_ms) if self.silent_since_ms else 0

    def has_unread(self, begin: int, end: int) -> bool:
        """Say whether a batch between two offsets was seen and could not be read."""
        return self.unread is not None and begin <= self.unread < end
