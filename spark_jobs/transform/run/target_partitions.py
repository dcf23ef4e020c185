"""How many partitions the topics have that a transform writes to."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.errors import ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

_REFRESH_S = 10.0  # between two looks at the partition counts of target topics


@dataclass(slots=True)
class TargetPartitions:
    """The partition counts of topics on the target; ``listed`` asks for those of all.

    ``routes`` are topics that records may be routed to; they may be missing.
    """

    listed: Callable[[], Mapping[str, int]]
    routes: Collection[str]
    _counts: Mapping[str, int] = field(default_factory=dict)
    _counted_at: float = 0.0

    def of(self, topics: Collection[str]) -> Mapping[str, int]:
        """Return the counts of these topics and of the routes, at most 10 s old.

        Raises ClusterUnavailable where one of ``topics`` is missing.
        """
        is_old = time.monotonic() - self._counted_at > _REFRESH_S
        if is_old or not {*topics} <= self._counts.keys():
            self._counts, self._counted_at = self.listed(), time.monotonic()
        if missing := sorted({*topics} - self._counts.keys()):
            raise ClusterUnavailable(f"the target does not list {missing[0]} yet")
        needed = {*topics, *self.routes}
        return {name: self._counts[name] for name in needed if name in self._counts}
