"""Measure the record age at fetch and the replication latency of one partition. Pure.

Both are MirrorMaker 2's metrics, measured per batch: the age of the latest record counts for all
records of its batch. Producers' clocks may be ahead; a negative delay counts as 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.copier.partition.producer_batch import ProducerBatch

_WINDOW_MS = 30_000  # the maximum covers the last one to two windows


@dataclass(slots=True)
class LatencyGauge:
    """One kind of delay in ms. ``total`` sums over all records since the flow's first start."""

    last: int = 0
    total: int = 0
    _longest: int = 0
    _longest_before: int = 0  # of the previous window
    _since: int = 0  # when the window began

    def note(self, delay_ms: int, records: int, now_ms: int) -> None:
        self._roll(now_ms)
        self.last = max(0, delay_ms)
        self.total += self.last * records
        self._longest = max(self._longest, self.last)

    def for_anchor(self, now_ms: int) -> tuple[int, int, int]:
        """Return the last delay, the recent maximum and the total, as an anchor stores them."""
        self._roll(now_ms)
        return self.last, max(self._longest, self._longest_before), self.total

    def _roll(self, now_ms: int) -> None:
        windows = (now_ms - self._since) // _WINDOW_MS
        if windows:
            self._longest_before = self._longest if windows == 1 else 0
            self._longest, self._since = 0, now_ms


@dataclass(slots=True)
class CopyLatency:
    """Record age and replication latency of one partition, over ``records`` records."""

    records: int = 0
    age: LatencyGauge = field(default_factory=LatencyGauge)
    latency: LatencyGauge = field(default_factory=LatencyGauge)

    @classmethod
    def of(cls, records: int, age: Sequence[int], latency: Sequence[int]) -> Self:
        """Continue from the values in an anchor."""
        return cls(records, LatencyGauge(age[0], age[2]), LatencyGauge(latency[0], latency[2]))

    def as_now(self) -> Self:
        """Return a copy that later batches do not change."""
        return replace(self, age=replace(self.age), latency=replace(self.latency))

    def note(self, producer_batch: ProducerBatch, now_ms: int) -> None:
        """Record the delays of a batch that was acknowledged at ``now_ms``."""
        if producer_batch.timestamp < 0:  # it has none
            return
        self.records += producer_batch.count
        self.age.note(
            producer_batch.fetched_ms - producer_batch.timestamp, producer_batch.count, now_ms
        )
        self.latency.note(now_ms - producer_batch.timestamp, producer_batch.count, now_ms)
