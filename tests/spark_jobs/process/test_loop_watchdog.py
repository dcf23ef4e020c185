"""The watchdog ends a driver whose main loop hangs."""

from __future__ import annotations

import signal
import threading
import time
from functools import partial
from types import SimpleNamespace

import pytest

from spark_jobs.driver import driver_loop
from spark_jobs.process.loop_watchdog import LoopWatchdog


@pytest.fixture
def silence() -> threading.Event:
    return threading.Event()


def test_bl_122_a_loop_that_stands_still_is_noticed(silence):
    watchdog = LoopWatchdog(silence.set, checks=3, check_s=0.01)
    watchdog.beat()
    watchdog.start()
    assert silence.wait(10)


def test_a_loop_that_goes_on_is_left_alone(silence):
    watchdog = LoopWatchdog(silence.set, checks=200, check_s=0.02)
    watchdog.start()
    until = time.monotonic() + 4.5
    while time.monotonic() < until:
        watchdog.beat()
        time.sleep(0.01)
    watchdog.stop()
    assert not silence.is_set()


def test_bl_122_a_driver_that_waits_for_a_jvm_that_hangs_ends(monkeypatch, silence):
    exits = []

    def die(reason: str) -> None:
        exits.append(reason)
        silence.set()

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(driver_loop, "LoopWatchdog", partial(LoopWatchdog, checks=3, check_s=0.01))
    monkeypatch.setattr(driver_loop, "_die", die)
    flow = type("Flow", (), {"done": property(lambda _: silence.is_set())})()
    flow.lease = SimpleNamespace(close=lambda: None)
    hung = driver_loop.Driver.__new__(driver_loop.Driver)
    hung._flows = [flow]
    hung._drive = lambda *_: silence.wait(10)
    hung._loop(None)
    assert exits == ["the driver's main loop hangs; Spark's JVM may not respond"]
