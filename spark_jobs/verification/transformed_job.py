"""Compares what a transform wrote with what it should have: ``python -m … REQUEST``.

The request is a JSON file: ``config``, ``flow`` and ``spans``, an object a transform. Standard
output has a line ``{"result": {...}}`` for each of them. Exit code 1 says why on standard error.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.client.producer_identity import ProducerIdentity
from replication.config.load import load_config
from replication.errors import ConfigError, ReplicationError
from replication.model import TopicPartition
from replication.state import Anchor
from replication.verification.transformed import TransformedResult, TransformedSpans
from spark_jobs.process.bounded_session import bounded_conf, reason_of, started_spark
from spark_jobs.process.job_process import job_process, report
from spark_jobs.process.spark_session import start_session
from spark_jobs.transform.flow_transforms import clusters_of
from spark_jobs.transform.start_record import definition_of
from spark_jobs.transform.task.work import RangeWork, SlotWork
from spark_jobs.verification.result_rows import SourcePart, TargetPart, tolerant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_NOBODY = ProducerIdentity("", -1, -1, 0)
_LEAST, _MOST_TASKS = 20_000, 5_000
_OTHER = (
    "{}: the flow does not run with this transform yet, or its function's file changed since: "
    "restart the flow"
)
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_COMPILED = "-XX:TieredStopAtLevel=4"  # millions of rows: the second compiler is worth its time


def compare(spark: SparkSession, flow: Flow, spans: TransformedSpans) -> TransformedResult:
    """Compare with Spark. Raises ReplicationError."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - after the JVM has started

    from spark_jobs.verification.transformed_query import TransformedQuery  # noqa: PLC0415 - as above

    transform = flow.transforms[spans.number]
    if definition_of(transform) != spans.definition:
        return TransformedResult(problem=_OTHER.format(transform.first_line))
    clusters = clusters_of(flow, *spans.cluster_ids, has_copies=bool(spans.passes))
    clusters = replace(clusters, passes=frozenset(spans.passes))
    parts, slots = [], []
    for part, work in _parts(flow, spans):
        slot = SlotWork(clusters, transform, _NOBODY, (work,), spans.partitions, {})
        parts.append(part)
        slots.append(tolerant(slot))
    query = TransformedQuery(spark, clusters, transform, spans, parts, slots, _written(spans))
    try:
        return query.result()
    except ConfigError as error:
        return TransformedResult(problem=str(error))
    except PySparkException as error:
        if "OutsideLog" in str(error):
            why = "the source deleted records while they were read: verify again"
            return TransformedResult(problem=why)
        raise ReplicationError(f"verifying {flow.name}: {reason_of(error)}") from None


def _parts(flow: Flow, spans: TransformedSpans) -> Iterator[tuple[SourcePart, RangeWork]]:
    """Yield what single tasks read, in the order of each source partition."""
    total = sum(each.end - each.begin for each in spans.read)
    most = max(_LEAST, total // _MOST_TASKS)
    for number, each in enumerate(spans.read):
        required = max(each.begin, each.required)
        for late, begin, end in ((False, each.begin, required), (True, required, each.end)):
            for start in range(begin, end, most):
                anchor = Anchor(flow.name, *each.source, each.target_topic, start, None)
                where = TopicPartition(each.target_topic, each.partition)
                work = RangeWork(anchor, min(end, start + most), each.origins, where)
                yield SourcePart(number, late), work


def _written(spans: TransformedSpans) -> list[TargetPart]:
    total = sum(each.end - each.begin for each in spans.written)
    most = max(_LEAST, total // _MOST_TASKS)
    return [
        TargetPart(number, each.target, start, min(each.end, start + most))
        for number, each in enumerate(spans.written)
        for start in range(each.begin, each.end, most)
    ]


def _carry_out(request: Mapping[str, Any]) -> None:
    config = load_config(Path(request["config"])).config
    spans = [TransformedSpans.of_json(each) for each in request["spans"]]
    for found in _compared(config, config.flow(request["flow"]), spans):
        report({"result": found.as_json()})


def _compared(
    config: Config, flow: Flow, spans: Sequence[TransformedSpans]
) -> Iterator[TransformedResult]:
    conf = bounded_conf(config.spark, config.jobs, f"isthmus verify {flow.name}")
    conf[_JAVA_OPTIONS] = f"{_COMPILED} {conf.get(_JAVA_OPTIONS, '')}".strip()
    with started_spark(conf):
        spark = start_session(conf)
        for each in spans:
            yield compare(spark, flow, each)


if __name__ == "__main__":
    sys.exit(job_process(_carry_out))
