"""Finds our PySpark, also where PYTHONPATH, set for other Spark jobs, puts another one first."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from replication.errors import EnvironmentProblem


def pyspark_home() -> Path:
    """Return the directory of pyspark, without importing it.

    Raises EnvironmentProblem: it is not installed, or it or py4j, with which it calls the JVM,
    would be imported from elsewhere.
    """
    _own("py4j")
    return _own("pyspark")


def _own(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise EnvironmentProblem(
            f"{package} is not installed: install the project's locked dependencies again"
        )
    found, own = Path(spec.origin).parent, _installed(package)
    if own is not None and found.resolve() != own.resolve():
        raise EnvironmentProblem(
            f"{package} is found in {found} before Isthmus' own in {own}: remove {found.parent} "
            "from PYTHONPATH for Isthmus"
        )
    return found


def _installed(package: str) -> Path | None:
    try:
        return Path(str(distribution(package).locate_file(package)))
    except PackageNotFoundError:
        return None
