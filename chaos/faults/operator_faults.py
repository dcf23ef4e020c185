"""An operator who pauses or stops the flow, and lets it run again."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from chaos.application import FLOW, SOURCE
from chaos.schedule import Side
from replication.adapters.topics.state_store import StateStore
from replication.clock import now_ms
from replication.errors import ClusterUnavailable
from replication.model import Desired
from replication.state import Intent, status_topic

if TYPE_CHECKING:
    from chaos.faults.scene import Scene
    from chaos.schedule import ScheduledFault

_RESUME_S = 180.0  # outages of the target end before
_AGAIN_S = 1.0


def pause(scene: Scene, fault: ScheduledFault) -> str:
    """Pause or stop the flow for a while, often a shorter one than what it is at takes to end."""
    desired = Desired.STOP if fault.pick % 2 else Desired.PAUSE
    with closing(StateStore(scene.stage.client(Side.TARGET), scene.stage.brokers)) as store:
        try:
            _write(store, desired)
            scene.stage.over.wait(fault.for_s)
        finally:
            _resume(store)
    return f"{desired} for {fault.for_s:.1f} s"


def _resume(store: StateStore) -> None:
    deadline = time.monotonic() + _RESUME_S
    while True:
        try:
            _write(store, Desired.RUN)
        except ClusterUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


def _write(store: StateStore, desired: Desired) -> None:
    store.write(status_topic(SOURCE), Intent(FLOW, desired, "chaos", now_ms()))
