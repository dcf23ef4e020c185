"""The process of a bounded job: reads its request, and ends with one line where it fails."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.errors import ReplicationError
from spark_jobs.process.logs import configure_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def job_process(carry_out: Callable[[dict[str, Any]], None]) -> int:
    """Carry out the request in the file that the first argument names; return the exit code.

    Standard output belongs to the job's results. To standard error go logs, what a user's function
    prints in Spark's processes, and as the last line why the job failed.
    """
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # which the JVM and its Python workers get
    configure_logs()
    try:
        carry_out(json.loads(Path(sys.argv[1]).read_text()))
    except ReplicationError as error:
        print(error, file=sys.stderr)  # noqa: T201 - whoever started it shows that
        return 1
    return 0


def report(what: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Write a result, or how far the job is, as a line of JSON at once."""
    print(json.dumps(what), flush=True)  # noqa: T201 - whoever started the job reads that
