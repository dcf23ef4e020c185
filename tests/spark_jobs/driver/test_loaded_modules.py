"""What a driver and Spark's planner load: each module more delays every start."""

from __future__ import annotations

import subprocess
import sys

# Imports the modules named first, and prints which of the other ones that has loaded.
PROGRAM = """
import importlib, sys
imported, asked = (each.split(",") for each in sys.argv[1:])
for each in imported:
    importlib.import_module(each)
print(*(each for each in asked if each in sys.modules))
"""


def loaded_by(*modules: str, of: tuple[str, ...]) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, ",".join(modules), ",".join(of)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_a_driver_without_transforms_loads_no_pandas():
    heavy = ("pandas", "numpy", "pyarrow")
    assert loaded_by("spark_jobs.driver.driver_loop", of=(*heavy, "pyspark")) == ["pyspark"]


def test_sparks_planner_loads_no_engine():
    engine = ("replication.copier.host", "replication.copier.unit", "kafka")
    reported = loaded_by("spark_jobs.source.data_source", of=(*engine, "replication.copier.spec"))
    assert reported == ["replication.copier.spec"]
