"""Writes the flows' signs of life while the driver's main thread waits for Spark to start or stop.

Without beats a driver that waits looks like one that hangs, and is ended as one. A start that never
ends would look well for ever: so it has a limit, which the flows' statuses name.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Self

from replication.errors import FlowTaken
from replication.model import FlowState
from spark_jobs.driver.flow_lease import BEAT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spark_jobs.driver.flow_lease import FlowLease

START_S = 300.0  # Spark on a cluster waits for its resources meanwhile


class DriverHeartbeats:
    """Repeats, as a context, what the flows' statuses say: each second, from a thread of its own.

    Leaving it raises FlowTaken, if another driver has a flow.
    """

    def __init__(self, leases: Sequence[FlowLease]) -> None:
        self._leases = leases
        self._over = threading.Event()
        self._taken: FlowTaken | None = None
        self._thread = threading.Thread(target=self._run, name="beats", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._over.set()
        self._thread.join()
        if self._taken is not None and error is None:
            raise self._taken

    def _run(self) -> None:
        try:
            self._repeat(math.inf)
        except FlowTaken as taken:
            self._taken = taken

    def _repeat(self, deadline: float) -> bool:
        """Beat until the context is left; return False at the deadline."""
        while not self._over.wait(BEAT_S):
            if time.monotonic() >= deadline:
                return False
            for each in self._leases:
                each.poll()
                each.beat(state=each.status.state, reason=each.status.reason)
        return True


class StartHeartbeats(DriverHeartbeats):
    """The same while Spark starts: it is said, and given up after ``limit_s``.

    ``give_up`` is called, from the thread of the beats, with the reason.
    """

    def __init__(
        self, leases: Sequence[FlowLease], give_up: Callable[[str], None], limit_s: float = START_S
    ) -> None:
        super().__init__(leases)
        self._give_up = give_up
        self._limit_s = limit_s

    def _run(self) -> None:
        deadline = time.monotonic() + self._limit_s
        try:
            self._say(FlowState.STARTING, "starting Spark")
            if not self._repeat(deadline):
                self._end()
        except FlowTaken as taken:
            self._taken = taken

    def _end(self) -> None:
        reason = (
            f"Spark did not start within {self._limit_s:.0f} s: check spark.master, its "
            "cluster, and the driver's log"
        )
        self._say(FlowState.FAILED, reason)
        for each in self._leases:
            each.close()
        self._give_up(reason)

    def _say(self, state: FlowState, reason: str) -> None:
        for each in self._leases:
            each.beat(state=str(state), reason=reason)
