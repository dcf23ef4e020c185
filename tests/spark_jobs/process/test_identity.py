"""Whether the driver that wrote a status is gone, if it ran on this machine."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from replication.supervision.driver_lease import Holder
from spark_jobs.process.identity import holder_of, machine, new_status, process_began_ms


def test_a_status_says_who_we_are_and_since_when():
    status = new_status("A->B")
    assert status.pid == os.getpid()
    assert status.instance.endswith(f".{machine()}")
    assert 0 <= time.time() * 1000 - status.started_ms < 24 * 3_600_000
    assert abs(process_began_ms(os.getpid()) - status.started_ms) <= 1_000


def test_a_holder_that_lives_is_not_gone():
    assert holder_of(None) is Holder.UNKNOWN
    assert holder_of(new_status("A->B")) is Holder.UNKNOWN


@pytest.mark.parametrize("reap", [True, False])
def test_a_holder_that_has_ended_is_gone(reap):
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        if reap:
            child.wait()
        else:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert holder_of(replace(new_status("A->B"), pid=child.pid)) is Holder.GONE


def test_a_pid_that_another_process_has_by_now_says_that_the_holder_is_gone():
    ours = new_status("A->B")
    assert holder_of(replace(ours, started_ms=ours.started_ms - 60_000)) is Holder.GONE


def test_a_pid_of_another_machine_means_nothing():
    ours = replace(new_status("A->B"), started_ms=0)
    assert holder_of(replace(ours, instance="0123456789ab.00000000")) is Holder.UNKNOWN
