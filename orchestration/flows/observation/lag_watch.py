"""Computes the lag of flows from one look to the next."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from replication.supervision.lag import FlowLag, caught_up, last_known

if TYPE_CHECKING:
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.model import TopicPartition


class LagWatch:
    """Computes lag; keeps when each partition's lag was last known, and when it was last 0.

    Both are safe to lose.
    """

    def __init__(self) -> None:
        self._caught_up: dict[str, dict[TopicPartition, int]] = {}
        self._known: dict[str, dict[TopicPartition, int]] = {}
        self._lock = threading.Lock()  # sensors run in threads

    def lag(self, look: FlowLook) -> FlowLag:
        """Return the flow's lag and remember which partitions had none."""
        name, now = look.flow.name, look.seen.now_ms
        with self._lock:
            idle, known = self._caught_up.get(name, {}), self._known.get(name, {})
            lag = look.lag(idle, known)
            self._caught_up[name] = caught_up(idle, lag, now)
            self._known[name] = last_known(known, lag, now)
        return lag
