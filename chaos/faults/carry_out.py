"""Runs a schedule: each fault at its time, in a thread, with a line about its outcome."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from kafka.errors import KafkaError

from chaos.faults.cluster_faults import grow, move_leaders, outage, restart_broker
from chaos.faults.network_faults import block, cut, slow, swap
from chaos.faults.operator_faults import pause
from chaos.faults.policy_faults import compact, expire_state
from chaos.faults.process_faults import freeze, kill, kill_watcher, second_driver
from chaos.faults.session_faults import freeze_session
from chaos.faults.state_faults import delete, lose
from chaos.schedule import FaultKind
from replication.errors import ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.faults.scene import Scene
    from chaos.schedule import Schedule, ScheduledFault

_ACTIONS: dict[FaultKind, Callable[[Scene, ScheduledFault], str]] = {
    FaultKind.KILL_WORKER: kill,
    FaultKind.KILL_JVM: kill,
    FaultKind.KILL_DRIVER: kill,
    FaultKind.KILL_WATCHER: kill_watcher,
    FaultKind.FREEZE_WORKER: freeze,
    FaultKind.FREEZE_DRIVER: freeze,
    FaultKind.SECOND_DRIVER: second_driver,
    FaultKind.STOP_BROKER: restart_broker,
    FaultKind.KILL_BROKER: restart_broker,
    FaultKind.OUTAGE: outage,
    FaultKind.SLOW: slow,
    FaultKind.BLOCK: block,
    FaultKind.STRAND: cut,
    FaultKind.CUT: cut,
    FaultKind.GROW: grow,
    FaultKind.MOVE_LEADERS: move_leaders,
    FaultKind.COMPACT: compact,
    FaultKind.EXPIRE_STATE: expire_state,
    FaultKind.LOSE_STATE: lose,
    FaultKind.DELETE_STATE: delete,
    FaultKind.FREEZE_SESSION: freeze_session,
    FaultKind.SWAP: swap,
    FaultKind.PAUSE: pause,
}
_NETWORK = (FaultKind.SLOW, FaultKind.BLOCK, FaultKind.SWAP)
# They report it themselves, or copying does not stop because of them.
_NOT_AWAITED = (FaultKind.GROW, FaultKind.SECOND_DRIVER)
_END_S = 240.0
_PASSING = (ClusterUnavailable, KafkaException, KafkaError)


class Faults:
    """The faults of one run. ``say`` prints a line."""

    def __init__(self, scene: Scene, say: Callable[[str], None]) -> None:
        self.begun = self.done = 0
        self._scene, self._say = scene, say
        self._threads: list[threading.Thread] = []
        self._under_way: dict[int, str] = {}

    @property
    def under_way(self) -> list[str]:
        return list(self._under_way.values())

    def begin_due(self, schedule: Schedule, elapsed_s: float) -> None:
        """Begin every fault whose time has come."""
        while self.begun < len(schedule.faults) and schedule.faults[self.begun].at_s <= elapsed_s:
            fault = schedule.faults[self.begun]
            thread = threading.Thread(target=self._carry_out, args=(self.begun, fault), daemon=True)
            self.begun += 1
            self._threads.append(thread)
            thread.start()

    def await_end(self) -> None:
        """Wait until each fault has ended and healed; ``over`` makes them hurry."""
        deadline = time.monotonic() + _END_S
        for each in self._threads:
            each.join(max(0.0, deadline - time.monotonic()))
        if left := self.under_way:
            self._scene.problems.append(f"these faults did not end: {', '.join(left)}")

    def _carry_out(self, number: int, fault: ScheduledFault) -> None:
        name = f"{fault.side}: {fault.kind}" if fault.side else str(fault.kind)
        self._under_way[number] = name
        try:
            with self._scene.stage.locks[_subject(fault)]:
                if self._scene.stage.over.is_set():
                    return
                outcome = _ACTIONS[fault.kind](self._scene, fault)
            if fault.kind not in _NOT_AWAITED:
                outcome = f"{outcome}; {self._scene.monitor.await_copying()}"
            self.done += 1
        except _PASSING as error:  # another fault was in the way
            outcome = f"could not be done: {error}"
        except Exception as error:  # noqa: BLE001 - the run continues, and reports it at the end
            outcome = f"went wrong: {type(error).__name__}: {error}"
            if not self._scene.stage.over.is_set():
                self._scene.problems.append(f"{name} {outcome}")
        finally:
            del self._under_way[number]
        self._say(f"{name}: {outcome}")


def _subject(fault: ScheduledFault) -> str:
    """Return what a fault needs for itself: of two faults of a broker one waits for the other."""
    if fault.side is None:
        return "driver"
    return f"network of the {fault.side}" if fault.kind in _NETWORK else str(fault.side)
