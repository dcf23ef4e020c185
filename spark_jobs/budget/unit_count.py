"""Decides how many units a flow has between ``tasks.min`` and ``tasks.max``, by their load. Pure.

A unit uses one core at most. Only where the busiest one is near that do more units copy more: a
unit that waits for brokers, a quota or a budget is not busy, and another one would wait too. Each
change ends an epoch and moves partitions, so it takes a while of the same load:

- more: the busiest unit has used most of a core for a minute; then twice as many;
- back: neither has the flow got more CPU time from them nor has the busiest unit got less to do,
  as where one partition is all the load;
- fewer: for ten minutes fewer units would have had half a core each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from replication.settings.flow_settings import Flow

_SATURATED = 0.8  # cores of the busiest unit
_RELAXED = 0.5  # cores of each unit that fewer ones may come to
_MORE_S, _FEWER_S = 60.0, 600.0
_HELPED = 0.1  # of the CPU time that more units could use: less is no gain


class EpochLoad(NamedTuple):
    """What a flow's units used in an epoch, in cores; ``partitions`` is how many they copy.

    ``is_typical``: no takeover, no partition that waits, and no broker that throttled.
    """

    busiest: float
    all: float
    partitions: int
    is_typical: bool = True


class UnitCount:
    """The number of units of one flow."""

    def __init__(self, least: int, most: int) -> None:
        self.units = self._least = least
        self._most = most
        self._saturated_at: float | None = None  # since when, in s of a monotonic clock
        self._relaxed_at: float | None = None
        self._before: tuple[int, EpochLoad] | None = None  # units and load when it was raised
        self._useless: int | None = None  # more than so many units did not help

    def limit(self, least: int, most: int) -> None:
        """Follow an edit of the file."""
        self._least, self._most = least, most
        self._set(min(max(self.units, least), most))
        self._useless = None

    def see(self, load: EpochLoad, now: float) -> int:
        """Return the number of units after an epoch that ended at ``now`` with this load."""
        if not load.is_typical:
            self._saturated_at = self._relaxed_at = None
            return self.units
        if load.busiest < _RELAXED:
            self._useless = None
        if load.busiest >= _SATURATED:
            self._see_saturated(load, now)
        else:
            self._saturated_at = None
        self._see_relaxed(load, now)
        return self.units

    def _see_saturated(self, load: EpochLoad, now: float) -> None:
        if self._saturated_at is None:
            self._saturated_at = now
        if now - self._saturated_at < _MORE_S:
            return
        self._saturated_at = now
        if self._before is not None and not self._has_helped(*self._before, load):
            units, _ = self._before
            self._useless = units
            self._set(max(self._least, units))
            return
        most = min(self._most, load.partitions, self._useless or self._most)
        if most > self.units:
            before = self.units, load
            self._set(min(self.units * 2, most))
            self._before = before

    def _has_helped(self, units: int, before: EpochLoad, load: EpochLoad) -> bool:
        """Say whether more than ``units`` got more CPU time, or spread what there is to do."""
        gained = load.all >= before.all * (1 + _HELPED * (self.units / units - 1))
        return gained or load.busiest < before.busiest * (1 + units / self.units) / 2

    def _see_relaxed(self, load: EpochLoad, now: float) -> None:
        fewer = max(self._least, math.ceil(load.all / _RELAXED), 1)
        if fewer >= self.units:
            self._relaxed_at = None
            return
        if self._relaxed_at is None:
            self._relaxed_at = now
        if now - self._relaxed_at >= _FEWER_S and load.busiest < _SATURATED:
            self._set(fewer)

    def _set(self, units: int) -> None:
        self.units = units
        self._before = self._saturated_at = self._relaxed_at = None


def count_of(flow: Flow) -> UnitCount:
    """Return the number of units of a flow as its file has it; it begins with the fewest."""
    return UnitCount(least_units(flow), flow.copying.units)


def least_units(flow: Flow) -> int:
    """Return ``tasks.min``; without it the number is ``tasks.max`` and stays."""
    return flow.copying.units if flow.least_units is None else flow.least_units
