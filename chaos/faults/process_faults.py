"""Faults of Isthmus' processes: kills, freezes, a second driver."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

from chaos.application import send
from chaos.faults.scene import TAKEN
from chaos.schedule import FaultKind

if TYPE_CHECKING:
    from chaos.faults.scene import Scene
    from chaos.schedule import ScheduledFault

_READY_S = 90.0
_REFUSED_S = 60.0


def kill(scene: Scene, fault: ScheduledFault) -> str:
    """SIGKILL of one process of the application."""
    application = scene.stage.application
    if fault.kind is FaultKind.KILL_WORKER:
        workers = application.workers()
        pid = workers[fault.pick % len(workers)] if workers else None
    else:
        pid = application.jvm() if fault.kind is FaultKind.KILL_JVM else application.driver()
    return f"process {pid}" if send(pid, signal.SIGKILL) else "there was none just then"


def kill_watcher(scene: Scene, fault: ScheduledFault) -> str:
    """SIGKILL of watcher and driver; a new watcher comes after a while."""
    scene.stage.application.kill_all()
    scene.stage.over.wait(fault.for_s)
    scene.stage.application.start()
    return f"started again after {fault.for_s:.0f} s"


def freeze(scene: Scene, fault: ScheduledFault) -> str:
    """SIGSTOP, and SIGCONT after a while."""
    application = scene.stage.application
    driver = application.driver()
    chosen = application.workers() if fault.kind is FaultKind.FREEZE_WORKER else [driver]
    frozen = [pid for pid in chosen if send(pid, signal.SIGSTOP)]
    try:
        scene.stage.over.wait(fault.for_s if frozen else 0.0)
    finally:
        for pid in frozen:
            send(pid, signal.SIGCONT)
    return f"{len(frozen)} for {fault.for_s:.0f} s" if frozen else "there was none just then"


def second_driver(scene: Scene, fault: ScheduledFault) -> str:
    """Start a driver beside a healthy one: it must be refused, and the first must not notice."""
    if not scene.monitor.await_running(_READY_S):
        return "there was no first one"
    first = scene.monitor.status.instance
    state = "state" if fault.pick % 2 else f"elsewhere-{fault.pick}"
    second = scene.stage.application.start_second(state)
    try:
        code = second.wait(_REFUSED_S)
    except subprocess.TimeoutExpired:
        code = None
        second.kill()
        second.wait()
    if scene.monitor.status.instance != first:  # others of our faults let go of the driver's lock
        return f"the first one was replaced meanwhile; the second ended with {code}"
    if code is None and not scene.stage.clusters_are_up():
        return "it waited for the target, and was killed"
    if code != TAKEN:
        scene.problems.append(f"a second driver ended with {code}, not {TAKEN}")
    return f"it ended with {code} ({'same' if state == 'state' else 'another'} state directory)"
