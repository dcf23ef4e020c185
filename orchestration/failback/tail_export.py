"""Writes a diverged tail to files, by a bounded Spark job in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.services.spark_job import run_job
from replication.errors import ReplicationError
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from replication.model import TopicPartition
    from replication.recovery.diverged_tail import TailOffsets
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

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
    export_records(config, flow, parts, directory)
    records = sum(each.records for each in tails.values())
    return f"{counted(records, 'record')} in {directory}/parquet and {directory}/json"


def export_records(
    config: Config, flow: Flow, parts: Sequence[Mapping[str, Any]], directory: Path
) -> None:
    """Write records to a directory, replacing what is there; ``parts``: see the job.

    Raises ReplicationError.
    """
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
            f"the records cannot be written to {directory}: {error.strerror}; name another "
            "directory"
        ) from error
    run_job(_JOB, request, _unread, f"the records were not exported to {directory}")


def _unread(_: str) -> None:
    """The job has nothing to tell."""
