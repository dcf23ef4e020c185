"""The daemon that forks Spark's Python workers, with their modules already imported.

Imported after the fork, it would cost every worker a second of CPU and its own memory.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys

from pyspark.daemon import manager

_OF_TASKS = (
    "pyarrow",
    "spark_jobs.source.data_source",
    "replication.copier.host",
    "replication.adapters.wire",
)


def main() -> None:
    """Import the workers' modules, then run Spark's own daemon."""
    module = sys.argv[1]
    with contextlib.suppress(ImportError):  # the worker reports it better
        importlib.import_module(module)
        for each in _OF_TASKS if module == "pyspark.worker" else ():
            importlib.import_module(each)
    # A worker collects garbage after each of its tasks: without this it looks at all modules, which
    # takes 30 ms of CPU time, and writes into memory that it shares with the daemon.
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
