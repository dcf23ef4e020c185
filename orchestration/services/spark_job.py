"""Runs a bounded Spark job in a process of its own: ``python -m JOB REQUEST``.

The request is a JSON file that only this user can read: arguments are seen by all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def run_job(
    job: str, request: Mapping[str, Any], on_line: Callable[[str], None], failed: str = ""
) -> None:
    """Run the module ``job`` until it ends; ``on_line`` gets each line of its output as it comes.

    Raises ReplicationError with the last line of its stderr, behind ``failed``, if its exit code is
    not 0. What ``on_line`` raises, or Ctrl-C, ends the job.
    """
    with (
        tempfile.NamedTemporaryFile("w", prefix="isthmus-", suffix=".json") as file,
        tempfile.TemporaryFile("w+") as errors,
    ):
        json.dump(request, file)
        file.flush()
        command = [sys.executable, "-m", job, file.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            try:
                for line in process.stdout or ():
                    on_line(line)
            except BaseException:
                process.terminate()
                raise
        if process.returncode:
            errors.seek(0)
            why = errors.read().strip().splitlines() or [
                f"the Spark job ended with exit code {process.returncode} and no error message"
            ]
            raise ReplicationError(f"{failed}: {why[-1]}" if failed else why[-1])
