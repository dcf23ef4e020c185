"""Appends history from files to the copies of a stream, by a bounded Spark job."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestration.backfill.backfill import Backfill, HistorySelection
from orchestration.backfill.file_plan import FilePart, file_parts, may_append
from orchestration.backfill.file_positions import appended_from_files
from orchestration.flows.batch_run import RunProgress
from orchestration.services.spark_job import run_job
from replication.adapters.clients import KafkaClients
from replication.errors import ConfigError
from replication.model import FlowState
from replication.state.backfill_names import BackfillNames

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping, Sequence

    from replication.model import TopicPartition
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_JOB = "spark_jobs.history.file_backfill"


@dataclass(frozen=True, slots=True)
class FilesAppended:
    """What a run has appended."""

    flow: str
    records: int
    seconds: float

    @property
    def sentence(self) -> str:
        """The outcome in a line."""
        return f"{self.flow}: appended {self.records:,} records from files in {self.seconds:.0f} s"


@dataclass(slots=True)
class FileBackfill:
    """The history of one flow, from files below ``path``. Nothing of the stream's state changes."""

    backfill: Backfill
    path: str
    names: BackfillNames = field(init=False)
    _clients: KafkaClients = field(default_factory=KafkaClients)

    def __post_init__(self) -> None:
        flow = self.backfill.flow
        self.names = BackfillNames.of_files(flow.source, flow.target)
        if not self.path.strip():
            raise ConfigError("--from-files names no path")

    def run(
        self,
        topics: re.Pattern[str],
        planned: Callable[[Sequence[FilePart]], object],
        tell: Callable[[RunProgress], object],
        *,
        dry_run: bool,
    ) -> FilesAppended | None:
        """Append what is not there yet; ``planned`` gets the plan first. None: a dry run.

        Raises ConfigError, ClusterUnavailable, ClusterRejected, ReplicationError: a run that was
        cut off is continued by the next one.
        """
        began, flow = time.monotonic(), self.backfill.flow
        history = self.backfill.plan(HistorySelection(topics))
        from_source = {each.source for each in history if each.at is not None}
        known, done = may_append(history, from_source), self._done()
        appended: list[int] = []
        left = [0]

        def on_line(line: str) -> None:
            progress = json.loads(line)
            if "plan" in progress:
                parts = file_parts(progress["plan"], known, done)
                left[0] = sum(e.before_end for e in parts if not e.refused and not e.is_done)
                planned(parts)
            elif "records" in progress:
                records = progress["records"]
                tell(RunProgress(records, max(0, left[0] - records), FlowState.RUNNING))
            else:
                appended.append(progress["appended"])

        run_job(_JOB, self._request(known, dry_run=dry_run), on_line, f"backfill of {flow.name}")
        if dry_run:
            return None
        return FilesAppended(self.names.flow, sum(appended), time.monotonic() - began)

    def _request(
        self, known: Mapping[TopicPartition, tuple[str, int, str]], *, dry_run: bool
    ) -> dict[str, Any]:
        config: Config = self.backfill.config
        flow: Flow = self.backfill.flow
        topics = {where.topic for where in known}
        return {
            "config": str(Path(config.path).absolute()),
            "flow": flow.name,
            "path": _absolute(self.path),
            "topic": topics.pop() if len(topics) == 1 else None,
            "parts": [
                [*where, target, end]
                for where, (target, end, refused) in sorted(known.items())
                if not refused
            ],
            "bytes_per_second": self.backfill.budget.bytes_per_second,
            "dry_run": dry_run,
        }

    def _done(self) -> dict[TopicPartition, int]:
        """Return up to where each partition was appended by earlier runs."""
        return appended_from_files(self.backfill.flow, self._clients)


def _absolute(path: str) -> str:
    """Return a path of this machine as absolute; what names a file system stays."""
    return path if ":" in path else str(Path(path).absolute())
