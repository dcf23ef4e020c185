"""What operators read of a partition's copy: why it waits, is tried again or was halted.

A partition keeps the state RUNNING while it is tried again: leaders move, brokers restart. One that
is tried again for ever is not RUNNING.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from replication.model import PartitionState

PATIENCE_S = 30.0
_SAME_S = 60.0  # a later failure begins a new series: requests time out within this time


@dataclass(slots=True, eq=False)
class Retries:
    """One series of failures without success. Times are monotonic seconds."""

    are_long: bool = False  # it has lasted for PATIENCE_S
    _first: float | None = None
    _last: float = 0.0

    def note(self, now: float) -> None:
        """Note a failure after which the partition is tried again."""
        if self._first is None or now - self._last > _SAME_S:
            self._first = now
        self._last = now
        self.are_long = now - self._first >= PATIENCE_S

    def end(self) -> None:
        """Note a success."""
        self._first, self.are_long = None, False


@dataclass(slots=True)
class CopyStatus:
    """The reasons of a partition's state; the most important one is reported."""

    reason: str = ""
    stalled_lso: str = ""  # reason when an open transaction blocks the source's last stable offset
    remark: str = ""  # shown to operators while RUNNING without a reason
    stuck: tuple[PartitionState, str] | None = None  # last reported halt, until it is over
    retries: Retries = field(default_factory=Retries)

    def of(self, state: PartitionState) -> tuple[PartitionState, str]:
        """Return state and reason as reported: a halted one that is retried is not RUNNING yet.

        Nor is one that has been tried again for long.
        """
        if self.stuck is not None and state is PartitionState.RUNNING:
            return self.stuck
        if self.retries.are_long and state is PartitionState.RUNNING:
            state = PartitionState.WAITING
        return state, self.reason or self.stalled_lso or self.remark

    def recovered(self) -> bool:
        """Forget the reason of earlier retries; return whether there was one."""
        had_reason = bool(self.reason) or self.retries.are_long
        self.reason = ""
        self.retries.end()
        return had_reason
