"""How old records are when they are read, and when they are on the target. Pure: times come in.

As MirrorMaker 2 measures them, but a batch at a time: the age of its latest record counts for all
of its records. Clocks of producers may be ahead; what would be negative is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.copier.partition.producer_batch import ProducerBatch

_WINDOW_MS = 30_000  # the longest of the last one to two windows is shown


@dataclass(slots=True)
class LatencyGauge:
    """One kind of delay in ms. ``total`` is the sum over records, since the flow's first start."""

    last: int = 0
    total: int = 0
    _longest: int = 0
    _longest_before: int = 0  # of the window before
    _since: int = 0  # when the window began

    def note(self, delay_ms: int, records: int, now_ms: int) -> None:
        self._turn(now_ms)
        self.last = max(0, delay_ms)
        self.total += self.last * records
        self._longest = max(self._longest, self.last)

    def for_anchor(self, now_ms: int) -> tuple[int, int, int]:
        """Return the last one, the longest of late and the total, as an anchor has them."""
        self._turn(now_ms)
        return self.last, max(self._longest, self._longest_before), self.total

    def _turn(self, now_ms: int) -> None:
        windows = (now_ms - self._since) // _WINDOW_MS
        if windows:
            self._longest_before = self._longest if windows == 1 else 0
            self._longest, self._since = 0, now_ms


@dataclass(slots=True)
class CopyLatency:
    """The delays of one partition; ``records`` were measured."""

    records: int = 0
    age: LatencyGauge = field(default_factory=LatencyGauge)
    latency: LatencyGauge = field(default_factory=LatencyGauge)

    @classmethod
    def of(cls, records: int, age: Sequence[int], latency: Sequence[int]) -> Self:
        """Go on from what an anchor says."""
        return cls(records, LatencyGauge(age[0], age[2]), LatencyGauge(latency[0], latency[2]))

    def as_now(self) -> Self:
        """Return a copy, which further pieces leave as it is."""
        return replace(self, age=replace(self.age), latency=replace(self.latency))

    def note(self, producer_batch: ProducerBatch, now_ms: int) -> None:
        """Take in a piece that is on the target since ``now_ms``."""
        if producer_batch.timestamp < 0:  # it has none
            return
        self.records += producer_batch.count
        self.age.note(
            producer_batch.fetched_ms - producer_batch.timestamp, producer_batch.count, now_ms
        )
        self.latency.note(now_ms - producer_batch.timestamp, producer_batch.count, now_ms)
