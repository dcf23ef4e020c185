"""Writes a diverged tail to files, by a bounded Spark job in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from replication.errors import ReplicationError
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.model import TopicPartition
    from replication.recovery.diverged_tail import TailOffsets
    from replication.settings.sections import Config, Flow

_JOB = "spark_jobs.export.tail_export"


def new_export_folder(state: Path, flow: str) -> Path:
    """Return a directory for an export in the state directory; it is not made yet."""
    return (state / "failback" / f"{flow}-{int(time.time())}").absolute()


def export_tail(
    config: Config, flow: Flow, tails: Mapping[TopicPartition, TailOffsets], folder: str
) -> str:
    """Write the tails to ``folder``; return what was done. Raises ReplicationError."""
    directory = Path(folder).absolute()
    parts = [
        {"topic": where.topic, "partition": where.partition, "ranges": tail.ranges}
        for where, tail in tails.items()
        if tail.ranges
    ]
    if not parts:
        return "there is nothing to export"
    request = {
        "config": str(Path(config.path).absolute()),
        "flow": flow.name,
        "directory": str(directory),
        "partitions": parts,
    }
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds records
    except OSError as error:
        raise ReplicationError(
            f"the tail cannot be written to {directory}: {error.strerror}; name another directory"
        ) from error
    with tempfile.NamedTemporaryFile("w", prefix="isthmus-", suffix=".json") as file:
        json.dump(request, file)
        file.flush()
        command = [sys.executable, "-m", _JOB, file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip().splitlines() or ["it ended without a word"]
        raise ReplicationError(f"the tail was not exported to {directory}: {why[-1]}")
    records = sum(each.records for each in tails.values())
    return f"{counted(records, 'record')} in {directory}/parquet and {directory}/json"
