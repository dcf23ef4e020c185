"""Time a unit's epoch and the grace after it; end the unit where a newer driver took over.

H  Between two epochs a unit is still an appender: its claims stand, and no anchor is clean. So
   nothing is written or trusted at a boundary: another process that gets the unit fences and counts
   as after a crash (B, C), and a fenced unit ends. The unit ends cleanly (G) once, if no epoch
   begins within the grace period, which does not become longer because the unit was frozen (W).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.moment import Moment
from replication.client.state_topic.state_log import StateLog
from replication.errors import ClusterUnavailable, FlowTaken
from replication.state import Control, FlowStatus, status_topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.client.network import Network
    from replication.copier.spec import UnitSpec
    from replication.state import Stored

_STATUS_TAIL = 200  # last records of the status topic that are read at the start
_CONTROL_WAIT_MS = 2000  # a long poll; the driver writes its status every second anyway
_RETRY_S = 0.5


@dataclass(slots=True)
class EpochTimer:
    """The epoch of one unit and the grace period after it."""

    spec: UnitSpec  # of the current or last epoch
    over: asyncio.Event = field(default_factory=asyncio.Event)  # the epoch has ended
    ended: asyncio.Event = field(default_factory=asyncio.Event)  # the unit has to end too
    _timer: asyncio.TimerHandle | None = None
    _began: Moment = field(default_factory=Moment.now)

    def begin(self, spec: UnitSpec) -> None:
        """Begin the first epoch, or the next one of a unit that has not ended."""
        self.spec, self._began = spec, Moment.now()
        self.over.clear()
        self._after(spec.epoch_s, self.end_epoch)

    def end_epoch(self) -> None:
        """End the epoch; the unit ends too unless another epoch begins in time.

        A unit that was frozen beyond its grace period ends at once: another process may copy it.
        """
        if self.over.is_set():
            return
        self.over.set()
        late = self._began.elapsed_s() - self.spec.epoch_s
        if late < self.spec.grace_s:
            self._after(self.spec.grace_s, self.end)
        else:
            self.end()

    def end(self) -> None:
        """End the unit now."""
        self.close()
        self.over.set()
        self.ended.set()

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _after(self, seconds: float, do: Callable[[], None]) -> None:
        self.close()
        self._timer = asyncio.get_running_loop().call_later(seconds, do)

    async def watch(self, target: Network) -> None:
        """Read the status topic until cancelled. Raises FlowTaken when a newer driver took over."""
        log = StateLog(target, status_topic(self.spec.source_alias))
        while True:
            try:
                if log.position < 0:
                    await log.start_near_end(_STATUS_TAIL)
                records = await log.wait_for_more(_CONTROL_WAIT_MS)
            except ClusterUnavailable:
                await asyncio.sleep(_RETRY_S)
                continue
            for record in records:
                self.on_record(record)

    def on_record(self, record: Stored) -> None:
        """Handle one record of the status topic."""
        spec = self.spec
        match record:
            case FlowStatus(flow=spec.flow) if record.generation > spec.generation:
                who = f"the driver on {record.host} (process {record.pid})"
                if not record.pid:  # an operator, who fails over
                    who = record.host
                since = f"generation {record.generation}"
                raise FlowTaken(f"{spec.flow}: {who} took over ({since}); this driver stops")
            case Control(flow=spec.flow, generation=spec.generation):
                if record.end_epoch >= spec.epoch:
                    (self.end if record.last else self.end_epoch)()
