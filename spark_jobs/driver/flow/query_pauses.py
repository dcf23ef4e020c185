"""How long a flow waits after a query that failed, before it starts the next one."""

from __future__ import annotations

import time

_FIRST_REST_S = 1.0
_LONGEST_REST_S = 30.0
_SPACE_REST_S = 5.0  # between two looks whether there is space for a query
_HEALED_S = 60.0  # a query that ran this long restarts at once


class QueryPauses:
    """The pauses of one flow: longer each time, unless the query had run for long."""

    def __init__(self) -> None:
        self._rest_s = 0.0
        self._until = 0.0

    @property
    def over(self) -> bool:
        """Whether the next query may start."""
        return time.monotonic() >= self._until

    def begin(self, lived_s: float) -> None:
        """Pause after a query that failed when it had run for ``lived_s``."""
        if lived_s >= _HEALED_S:
            self._rest_s = 0.0
        self._until = time.monotonic() + self._rest_s
        self._rest_s = min(max(self._rest_s * 2, _FIRST_REST_S), _LONGEST_REST_S)

    def begin_without_space(self) -> None:
        """Pause until the next look for space; the pauses of failures begin anew after that."""
        self._rest_s = 0.0
        self._until = time.monotonic() + _SPACE_REST_S
