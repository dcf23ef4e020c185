"""Limit a unit's fetches to ``copy.max.bytes.per.second``, priority topics first. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.client.fetch_session import FetchOptions
    from replication.copier.partition.partition_copy import PartitionCopy

_BURST_S = 0.1  # largest burst after an idle time, in seconds of the rate
_LEAST_FETCH = 64 << 10
_SHARE_EVERY_S = 1.0
_SHARE = 1 << 20  # bytes
_ANSWER_EVERY_S = 1 / 1000  # more small responses cost more CPU time than the latency is worth
_USELESS_EVERY_S = 1 / 20  # a broker that has nothing new waits, unless it is broken
_SAVED_S = 0.05  # largest burst of small responses after a quiet time, in seconds


@dataclass(slots=True)
class Throttle:
    """Shared by all fetchers of a unit.

    A token bucket fills with ``rate`` bytes a second; a Fetch may overdraw it, and then all wait
    until it is filled again. While a partition of a priority topic is behind, the others get one
    Fetch of 1 MiB a second from each broker, so that none starves.
    """

    rate: int = 0  # bytes a second; 0: no limit
    behind: set[PartitionCopy] = field(
        default_factory=set
    )  # of priority topics, with more to fetch
    _saved: float = 0.0
    _at: float = 0.0

    def spend(self, size: int, now: float) -> None:
        """Take ``size`` fetched bytes from the bucket."""
        if self.rate:
            self._fill(now)
            self._saved -= size

    def pause_s(self, now: float, begun: float, *, first: bool) -> float:
        """Return how many seconds a fetcher has to wait whose last Fetch was sent at ``begun``."""
        debt = 0.0
        if self.rate:
            self._fill(now)
            debt = max(0.0, -self._saved / self.rate)
        if first or not self.yields():
            return debt
        return max(debt, begun + _SHARE_EVERY_S - now)

    def yields(self) -> bool:
        """Say whether partitions of other topics have to yield to a priority partition."""
        return bool(self.behind) and any(each.fetches for each in self.behind)

    def on_response(self, partition: PartitionCopy) -> None:
        """Record whether a priority partition is behind after a Fetch response."""
        if partition.plan.first and partition.position < partition.source_log.end:
            self.behind.add(partition)
        else:
            self.behind.discard(partition)

    def limited(self, options: FetchOptions) -> FetchOptions:
        """Return ``options`` with responses so small that the rate is spent evenly."""
        if not self.rate:
            return options
        most = max(_LEAST_FETCH, int(self.rate * _BURST_S))
        return replace(
            options,
            max_bytes=min(options.max_bytes, most),
            partition_bytes=min(options.partition_bytes, most),
        )

    def shared(self, options: FetchOptions, *, first: bool) -> FetchOptions:
        """Return ``options``, limited to the small share of other topics while they yield."""
        if first or not self.yields():
            return options
        return replace(options, max_bytes=min(options.max_bytes, _SHARE))

    def _fill(self, now: float) -> None:
        gained = (now - self._at) * self.rate
        self._saved = min(self._saved + gained, self.rate * _BURST_S)
        self._at = now


@dataclass(slots=True)
class FetchRateLimit:
    """Limits the small responses of one fetcher: beyond 1,000 a second each is followed by a pause.

    So a single record is copied at once, and the CPU cost of many small responses is bounded. Those
    that bring nothing and come at once are limited to 20 a second.
    """

    _paid_until: float = 0.0

    def pause_s(self, now: float, *, useless: bool = False) -> float:
        """Count a small response at ``now``, in seconds; return how long to pause after it."""
        cost = _USELESS_EVERY_S if useless else _ANSWER_EVERY_S
        self._paid_until = max(self._paid_until, now - _SAVED_S) + cost
        return max(0.0, self._paid_until - now)
