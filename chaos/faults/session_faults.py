"""A driver that sleeps with all of its processes while another one takes over, and wakes."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from chaos.application import send
from chaos.faults.scene import TAKEN
from replication.adapters.local.process_tree import below
from spark_jobs.watch import kill_session

if TYPE_CHECKING:
    from chaos.application import TestedApplication
    from chaos.faults.scene import Scene
    from chaos.schedule import ScheduledFault

_RUNS_S = 120.0  # a takeover from ids that the target has forgotten waits for 40 s
_YIELDS_S = 60.0
_STOPS_S = 60.0


def freeze_session(scene: Scene, fault: ScheduledFault) -> str:
    """SIGSTOP of a whole driver until another one copies, and for so long; then SIGCONT.

    The one that wakes must end with 75, without having appended anything.
    """
    application, began = scene.stage.application, time.monotonic()
    driver = application.driver()
    if driver is None:
        return "there was none just then"
    application.is_replaced = True
    frozen = [driver, *(each.pid for each in below(driver))]
    try:
        for pid in frozen:
            send(pid, signal.SIGSTOP)
        try:
            second = application.start_second(f"other-{fault.pick}")
            runs = scene.monitor.await_driver(second.pid, _RUNS_S)
            scene.stage.over.wait(max(0.0, fault.for_s - (time.monotonic() - began)))
        finally:
            for pid in frozen:
                send(pid, signal.SIGCONT)
        slept = time.monotonic() - began
        outcome = _yielded(scene, second.pid) if runs else "the other one did not copy"
        _end(second)
    finally:
        _start_again(application)
    return f"{len(frozen)} for {slept:.0f} s; {outcome}"


def _yielded(scene: Scene, second: int) -> str:
    """Wait until the watcher of the driver that woke has ended; say how."""
    watcher = scene.stage.application.watcher
    if watcher is None:
        return "its watcher had ended"
    try:
        code = watcher.wait(_YIELDS_S)
    except subprocess.TimeoutExpired:
        if scene.stage.clusters_are_up() and scene.monitor.is_driven_by(second):
            scene.problems.append(f"a driver that was replaced runs on {_YIELDS_S:.0f} s later")
        return f"it has not ended {_YIELDS_S:.0f} s later"
    if code != TAKEN:
        scene.problems.append(f"a driver that was replaced ended with {code}, not {TAKEN}")
    return f"it ended with {code}"


def _end(second: subprocess.Popen[bytes]) -> None:
    second.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        second.wait(_STOPS_S)
        return
    kill_session(second.pid)
    second.wait()


def _start_again(application: TestedApplication) -> None:
    if application.ended_by_itself() is not None or application.watcher is None:
        application.start()
    application.is_replaced = False
