"""Compares ranges by a Spark job in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.services.spark_job import run_job
from replication.verification.ranges import RangeResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestration.verification.flow_verification import Progress
    from replication.settings.config import Config
    from replication.verification.ranges import VerifiedRange

_JOB = "spark_jobs.verification.verification_job"


class SparkProcess:
    """Implements RangeRunner for the flows of a file."""

    def __init__(self, config: Config) -> None:
        self._config = str(Path(config.path).absolute())

    def __call__(
        self,
        flow: str,
        ranges: Sequence[VerifiedRange],
        progress: Progress,
    ) -> list[RangeResult]:
        """Return a result a range. Raises ReplicationError with the reason of the job."""
        progress("starting Spark", 0, len(ranges))
        listed = [each.as_json() for each in ranges]
        request = {"config": self._config, "flow": flow, "ranges": listed}
        found: list[RangeResult] = []

        def on_line(line: str) -> None:
            message = json.loads(line)
            if "results" in message:
                found.extend(RangeResult.of_json(each) for each in message["results"])
            else:
                progress("comparing", message["done"], message["of"])

        run_job(_JOB, request, on_line)
        return found
