"""What a process of tasks keeps from task to task."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from spark_jobs.transform.task import task_process as module

FAULTS = """
import resource
import numpy as np
from spark_jobs.transform.task.task_process import task_process
task_process()
for _ in range(3):
    [np.ones(1 << 17) for _ in range(8)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    [np.ones(1 << 17) for _ in range(8)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="another C library decides by itself")
def test_memory_of_columns_is_kept_for_the_next_ones():
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 1000  # of 41,000 pages


def test_what_is_imported_is_not_looked_at_for_garbage(monkeypatch):
    monkeypatch.setattr(module, "_here", None)
    try:
        first = module.task_process()
        assert gc.get_freeze_count() > 10_000
        assert module.task_process() is first
    finally:
        gc.unfreeze()
