"""What a fault has to do with."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NamedTuple

from chaos.application import send

if TYPE_CHECKING:
    from chaos.monitor import Monitor
    from chaos.schedule import ScheduledFault, Side
    from chaos.stage import ChaosStage

TAKEN = 75  # the exit code of a driver whose flows another one copies


class Scene(NamedTuple):
    """The stage, what is seen of it, and what must not happen, whatever the faults."""

    stage: ChaosStage
    monitor: Monitor
    problems: list[str]

    def kill_driver(self) -> None:
        """SIGKILL of the driver within a fault of a cluster; waits for faults of the driver."""
        with self.stage.locks["driver"]:
            send(self.stage.application.driver(), signal.SIGKILL)


def side_of(fault: ScheduledFault) -> Side:
    """Return the cluster of a fault that has one."""
    if fault.side is None:
        raise ValueError(f"{fault.kind} without a cluster")
    return fault.side
