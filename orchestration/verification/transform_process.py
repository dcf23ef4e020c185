"""Compares what a transform wrote by a Spark job in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.services.spark_job import run_job
from replication.verification.transformed import TransformedResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.settings.config import Config
    from replication.verification.transformed import TransformedSpans

_JOB = "spark_jobs.verification.transformed_job"


class TransformProcess:
    """Implements TransformRunner for the flows of a file."""

    def __init__(self, config: Config) -> None:
        self._config = str(Path(config.path).absolute())

    def __call__(self, flow: str, spans: Sequence[TransformedSpans]) -> list[TransformedResult]:
        """Return what was found of each. Raises ReplicationError with the reason of the job."""
        listed = [each.as_json() for each in spans]
        request = {"config": self._config, "flow": flow, "spans": listed}
        found: list[TransformedResult] = []

        def on_line(line: str) -> None:
            found.append(TransformedResult.of_json(json.loads(line)["result"]))

        run_job(_JOB, request, on_line)
        return found
