"""Compares ranges with Spark: ``python -m spark_jobs.verification.verification_job REQUEST``.

The request is a JSON file: ``config``, ``flow`` and ``ranges``. Standard output has lines of JSON:
``{"done": 3, "of": 9}`` while tasks end, at last ``{"results": [...]}``. Exit code 1 says why on
standard error.
"""

from __future__ import annotations

import json
import sys
import threading
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.config.load import load_config
from replication.errors import ReplicationError
from replication.verification.ranges import RangeResult, VerifiedRange
from spark_jobs.process.bounded_session import bounded_conf, reason_of, started_spark
from spark_jobs.process.job_process import job_process, report
from spark_jobs.process.spark_session import built, start_session
from spark_jobs.verification.range_task import check_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from replication.settings.config import Config

_SLICES = 32  # tasks a slot: few enough that a task costs little, many enough to show progress
_LOOK_S = 0.5  # between two looks at how many tasks have ended


def verify_with(
    build: Callable[[], SparkSession],
    config: Config,
    flow: str,
    ranges: Sequence[VerifiedRange],
    progress: Callable[[int, int], object],
) -> list[RangeResult]:
    """Start the JVM, and compare ``ranges`` in the session that ``build`` then builds in it.

    Tasks read the file of ``config``. Raises ReplicationError.
    """
    file = str(Path(config.path).absolute())
    with started_spark(_conf(config, flow)):
        return verify_ranges(built(build).sparkContext, file, flow, ranges, progress)


def verify_ranges(
    context: SparkContext,
    config: str,
    flow: str,
    ranges: Sequence[VerifiedRange],
    progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> list[RangeResult]:
    """Compare ``ranges``, some of them in each task.

    ``progress`` gets how many tasks have ended, and how many there are, from another thread.
    Raises ReplicationError with the reason of a task that failed each time it was tried.
    """
    from pyspark.errors import PySparkException  # noqa: PLC0415 - after the JVM has started

    if not ranges:
        return []
    work = partial(_in_task, uuid.uuid4().hex, config, flow)
    listed = [json.dumps(each.as_json()) for each in ranges]
    slices = min(len(listed), _SLICES * context.defaultParallelism)
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, progress, ended), daemon=True)
    watcher.start()
    try:
        found = context.parallelize(listed, slices).mapPartitions(work).collect()
    except Exception as error:
        if not isinstance(error, PySparkException) and "py4j" not in type(error).__module__:
            raise
        raise ReplicationError(f"verifying {flow}: {reason_of(error)}") from None
    finally:
        ended.set()
        watcher.join()
    return [RangeResult.of_json(json.loads(each)) for each in found]


def _in_task(run: str, config: str, flow: str, listed: Any) -> Any:
    for each in check_ranges(run, config, flow, map(json.loads, listed)):
        yield json.dumps(each)


def _watch(
    context: SparkContext, progress: Callable[[int, int], object], ended: threading.Event
) -> None:
    """Tell how many tasks have ended, until the job has."""
    tracker = context.statusTracker()
    while not ended.wait(_LOOK_S):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None:
                progress(info.numCompletedTasks, info.numTasks)


def _carry_out(request: Mapping[str, Any]) -> None:
    report({"results": [each.as_json() for each in _results(request)]})


def _results(request: Mapping[str, Any]) -> list[RangeResult]:
    file, flow = request["config"], request["flow"]
    config = load_config(Path(file)).config
    ranges = [VerifiedRange.of_json(each) for each in request["ranges"]]
    session = partial(start_session, _conf(config, flow))
    return verify_with(session, config, flow, ranges, _tell)


def _tell(done: int, of: int) -> None:
    report({"done": done, "of": of})


def _conf(config: Config, flow: str) -> dict[str, str]:
    return bounded_conf(config.spark, config.jobs, f"isthmus verify {flow}")


if __name__ == "__main__":
    sys.exit(job_process(_carry_out))
