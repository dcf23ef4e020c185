"""PYTHONPATH as other Spark jobs need it, with a Spark of the machine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HOME = "from replication.adapters.local.pyspark_home import pyspark_home; print(pyspark_home())"


def found(*paths: object) -> str:
    """Return what a process with this PYTHONPATH finds, or the last line of its error."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    ran = subprocess.run(
        [sys.executable, "-c", HOME], capture_output=True, text=True, check=False, env=environment
    )
    return (ran.stdout or ran.stderr).splitlines()[-1]


@pytest.mark.parametrize("package", ["pyspark", "py4j"])
def test_bl_239_another_spark_on_the_path_is_refused_by_name(tmp_path, package):
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    own = found(tmp_path / "nothing")
    assert own.endswith("site-packages/pyspark")
    assert found(tmp_path) == (
        f"replication.errors.EnvironmentProblem: {package} is found in {tmp_path / package} before "
        f"Isthmus' own in {own.removesuffix('pyspark')}{package}: remove {tmp_path} from "
        "PYTHONPATH for Isthmus"
    )
