"""Decide how many bytes a second a unit fetches while its target throttles it. Pure.

A broker that throttles reads nothing of a connection for as long as one request was too large for
the quota, also no anchor. At the rate that it takes anyway it does not have to.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

LOOK_S = 1.0
_LOOKS = 11  # brokers average rates over as many seconds by default
_BELOW = 0.95  # of the rate that the target took
_GROWTH = 1.02  # a look without a throttle
_LIFTED = 3.0  # times the rate that the target took: then the quota is another one, or gone
_LEAST = 64 << 10  # bytes a second


@dataclass(slots=True)
class RateBackoff:
    """The byte rate of one unit, looked at every ``LOOK_S``.

    ``budget`` is the configured rate in bytes a second, 0: none. ``limit`` is the rate that it
    backed off to, 0: it has not.
    """

    budget: int = 0
    limit: float = 0.0
    _appended: deque[int] = field(default_factory=lambda: deque(maxlen=_LOOKS))
    _throttled_ms: int | None = None
    _taken: float = 0.0  # the rate that the target took when it last throttled

    def look(self, appended: int, throttled_ms: int) -> int:
        """Return the rate from now on in bytes a second, 0: no limit.

        ``appended`` are the bytes that the target has acknowledged, ``throttled_ms`` is for how
        long it has throttled us, both since some moment in the past.
        """
        self._appended.append(appended)
        before, self._throttled_ms = self._throttled_ms, throttled_ms
        if before is not None and throttled_ms > before:
            self._back_off()
        elif self.limit:
            self._recover()
        return self.rate

    @property
    def rate(self) -> int:
        """The rate now in bytes a second, 0: no limit."""
        return min(filter(None, (self.budget, int(self.limit))), default=0)

    def _back_off(self) -> None:
        looks = len(self._appended) - 1
        taken = (self._appended[-1] - self._appended[0]) / (looks * LOOK_S)
        self._taken = max(taken, _LEAST)
        self.limit = max(_LEAST, _BELOW * min(filter(None, (self._taken, self.limit, self.budget))))

    def _recover(self) -> None:
        self.limit *= _GROWTH
        if self.limit >= (self.budget or self._taken * _LIFTED):
            self.limit = 0.0
