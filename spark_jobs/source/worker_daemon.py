"""Spark forks its Python workers from this process, with what they need imported already.

Imported after the fork, it would cost every worker a second of CPU and its own memory.
"""

from __future__ import annotations

import contextlib
import importlib
import sys

from pyspark.daemon import manager

_OF_TASKS = ("pyarrow", "pandas", "spark_jobs.source.data_source", "replication.copier")


def main() -> None:
    """Import, then do what Spark's own daemon does."""
    module = sys.argv[1]
    with contextlib.suppress(ImportError):  # the worker will say it better
        importlib.import_module(module)
        for each in _OF_TASKS if module == "pyspark.worker" else ():
            importlib.import_module(each)
    manager()


if __name__ == "__main__":
    main()
