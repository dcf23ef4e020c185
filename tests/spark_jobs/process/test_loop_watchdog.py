"""The watchdog ends a driver whose main loop hangs."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from spark_jobs.process import loop_watchdog
from spark_jobs.process.jvm import DIED
from spark_jobs.process.loop_watchdog import LoopWatchdog


@pytest.fixture
def silence() -> threading.Event:
    return threading.Event()


def test_bl_122_a_loop_that_stands_still_is_noticed(silence):
    watchdog = LoopWatchdog(silence.set, checks=3, check_s=0.01)
    watchdog.beat()
    watchdog.start()
    assert silence.wait(10)


def test_a_loop_that_goes_on_is_left_alone(silence, monkeypatch):
    """The loop beats in each of 500 checks, and after 499 of another one it does not."""
    checks, beats_in = iter(range(1000)), {*range(500), 999}
    watchdog = LoopWatchdog(silence.set, checks=500, check_s=0)

    def pause(_: float) -> None:
        number = next(checks, None)
        if number is None:
            watchdog.stop()
        elif number in beats_in:
            watchdog.beat()

    monkeypatch.setattr(loop_watchdog.time, "sleep", pause)
    watchdog._watch()
    assert next(checks, None) is None, "it watched to the end"
    assert not silence.is_set()


HUNG_DRIVER = """
from types import SimpleNamespace
from spark_jobs.driver import driver_loop
from spark_jobs.process import logs, loop_watchdog
import threading

class HangingJvm:
    alive = True

class Flow:
    done, restart_reason = False, ""
    cycle = SimpleNamespace(query="a query", stalls=lambda **_: False)
    ticks = 0
    def tick(self):
        self.ticks += 1
        if self.ticks == 3:
            print("hanging", flush=True)
            threading.Event().wait()  # as a call into a JVM that does not answer

logs.configure_logs()
driver_loop.LoopWatchdog = lambda die: loop_watchdog.LoopWatchdog(die, checks=3, check_s=0.1)
driver_loop._TICK_S = 0.02
driver = driver_loop.Driver.__new__(driver_loop.Driver)
driver._flows, driver._ending, driver._exposition, driver._spark = [Flow()], False, None, None
driver._blocks, driver._batch, driver._dump_classes = (), None, lambda jvm: None
driver._follow = lambda: None
driver._parts = SimpleNamespace(follow_load=lambda _: None)
driver._loop(HangingJvm())
"""


def test_bl_122_a_driver_that_waits_for_a_jvm_that_hangs_ends():
    ran = subprocess.run(
        [sys.executable, "-c", HUNG_DRIVER], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == DIED, ran.stderr
    assert ran.stdout == "hanging\n"
    assert "the driver's main loop hangs; Spark's JVM may not respond" in ran.stderr
