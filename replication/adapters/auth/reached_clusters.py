"""The cluster id that each address led to last, as any client of the process was answered.

A client of librdkafka that has learned another cluster's brokers asks them for ever, also when the
address leads back. So whoever hears a cluster's id says it here, and each client of that address is
made anew once the id is another one than before. No client needs to know which id is right for
that; whoever knows may ask the last answer without a request.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ReachedCluster:
    """Where some bootstrap addresses lead. Threads may share it."""

    def __init__(self) -> None:
        self.turns = 0  # how often another id was found than before
        self._last_id = ""
        self._lock = threading.Lock()

    def learn(self, cluster_id: str, before: str = "") -> None:
        """Take the id of the cluster that has just answered, and what the same client knew before.

        ``before`` counts as long as no id is known.
        """
        with self._lock:
            if cluster_id != (self._last_id or before or cluster_id):
                self.turns += 1
            self._last_id = cluster_id

    def require(self, verify: Callable[[str], None] | None) -> None:
        """Call ``verify``, which raises WrongCluster, with the last id, if any."""
        if verify is not None and self._last_id:
            verify(self._last_id)


_REACHED: dict[str, ReachedCluster] = {}  # of this process


def reached_by(settings: Mapping[str, Any]) -> ReachedCluster:
    """Return what the process shares about the bootstrap addresses of librdkafka's settings."""
    return _REACHED.setdefault(str(settings.get("bootstrap.servers", "")), ReachedCluster())
