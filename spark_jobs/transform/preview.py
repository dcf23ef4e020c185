"""Shows what a transform makes of real records: ``python -m spark_jobs.transform.preview REQUEST``.

The request is a JSON file: ``config``, ``flow``, ``topic`` and ``count``. The newest records of the
topic's partitions are transformed one at a time, and nothing is written. Standard output is JSON: a
list of records, each with ``before``, ``after`` (a list: a record may become none or several) and
``problem``. Exit code 1 says why on stderr.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replication.adapters.clients import KafkaClients
from replication.client.producer_identity import ProducerIdentity
from replication.config.load import load_config
from replication.errors import ConfigError
from replication.model import EARLIEST_TIMESTAMP, TopicPartition
from replication.naming.topic_namer import Namer
from replication.records.codec import headers_of, key_and_value
from replication.state import Anchor
from replication.transforms.topic_transforms import TopicTransforms
from spark_jobs.process.job_process import job_process, report
from spark_jobs.process.jvm import launch
from spark_jobs.process.spark_session import spark_conf, start_session
from spark_jobs.transform.flow_transforms import clusters_of
from spark_jobs.transform.single_record import transform_by_sql
from spark_jobs.transform.sql_plan import sql_plan, sql_session
from spark_jobs.transform.task.range_outcome import RangeOutcome
from spark_jobs.transform.task.range_reader import RangeReader
from spark_jobs.transform.task.task_process import task_process
from spark_jobs.transform.task.tasks import stage_of
from spark_jobs.transform.task.work import RangeWork, SlotWork

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from replication.client.admin import TopicInfo
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.transforms.transformed_record import SourceRecord
    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.task.tasks import Stage

_NOBODY = ProducerIdentity("", -1, -1, 0)


def _carry_out(request: Mapping[str, Any]) -> None:
    config = load_config(Path(request["config"])).config
    found = _preview(config, config.flow(request["flow"]), request["topic"], request["count"])
    report(found)


def _preview(config: Config, flow: Flow, topic: str, count: int) -> list[dict[str, Any]]:
    transform = TopicTransforms(flow.transforms).of(topic)
    if transform is None:
        raise ConfigError(f"{config.path}: {flow.name} has no transform for {topic}")
    clients = KafkaClients()
    source = clients.source(flow).topics().get(topic)
    if source is None:
        raise ConfigError(f"{flow.source} has no topic {topic}")
    copy = Namer.for_flow(flow, config).selector.remote_topic(topic)
    counts = {name: each.partitions for name, each in clients.target(flow).topics().items()}
    counts.setdefault(copy, source.partitions)
    slots = [
        SlotWork(
            clusters_of(flow, "", "", has_copies=False), transform, _NOBODY, (work,), counts, {}
        )
        for work in _works(flow, source, copy, count, clients)
    ]
    read = [(slot, each) for slot in slots for each in _read(slot)][-count:]
    with _stage(config, slots) as stage:
        return [_transformed(stage, slot, record) for slot, record in read]


def _transformed(stage: Stage, slot: SlotWork, record: DecodedRecords) -> dict[str, Any]:
    outcome = RangeOutcome(slot, slot.ranges[0])
    stage(outcome, record)
    return _shown(outcome, record.singles()[0])


def _works(
    flow: Flow, topic: TopicInfo, copy: str, count: int, clients: KafkaClients
) -> Iterator[RangeWork]:
    where = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
    for each, end in clients.source(flow).end_offsets(where).items():
        anchor = Anchor(flow.name, *each, copy, max(0, end - count), None)
        yield RangeWork(anchor, end, "", TopicPartition(copy, each.partition))


def _read(slot: SlotWork) -> list[DecodedRecords]:
    """Read the newest records of a partition, from its log's start on if it has fewer."""
    process, (work,) = task_process(), slot.ranges
    connected = process.run(process.connected(slot.clusters))
    process.run(connected.source.refresh([work.source.topic]))
    start = process.run(connected.source.offset_at(work.source, EARLIEST_TIMESTAMP))
    reader = RangeReader(slot.clusters, connected.source, connected.registry, work)
    reader.position = max(reader.position, start)
    found: list[DecodedRecords] = []
    while not reader.is_done:
        records = process.run(reader.read())
        found += [records.at(np.array([each])) for each in range(len(records))]
    return found


@contextmanager
def _stage(config: Config, slots: Sequence[SlotWork]) -> Iterator[Stage]:
    """Give what transforms a single record; Spark starts for SQL alone."""
    transform = slots[0].transform
    if not transform.is_sql:
        yield stage_of(slots[0])
        return
    with _spark(config) as spark:
        session = sql_session(spark)
        yield partial(transform_by_sql, session, sql_plan(session, transform))


@contextmanager
def _spark(config: Config) -> Iterator[SparkSession]:
    conf = {**spark_conf(config.spark, 1), "spark.master": "local[1]"}
    del conf["spark.python.daemon.module"]  # of units, which keep copying after their task
    with tempfile.TemporaryDirectory(prefix="isthmus-preview-") as scratch:
        conf["spark.local.dir"] = scratch
        jvm = launch(conf, Path(scratch) / "log4j2.properties")
        try:
            jvm.connect()
            yield start_session(conf)
            jvm.stop()
        except BaseException:
            jvm.kill()
            raise


def _shown(outcome: RangeOutcome, record: SourceRecord) -> dict[str, Any]:
    """Return a record before and after as JSON has it."""
    after = [
        {
            "topic": where.topic,
            "partition": where.partition,
            **_members(*key_and_value(written), headers_of(written), written.timestamp),
        }
        for where, listed in outcome.records.items()
        for written in listed.records()
    ]
    before = _members(record.key, record.value, record.headers, record.timestamp)
    place = {"partition": outcome.work.source.partition, "offset": record.offset}
    return {**place, "before": before, "after": after, "problem": outcome.problem}


def _members(
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]],
    timestamp: int,
) -> dict[str, Any]:
    listed = [[name, _text(each)] for name, each in headers]
    return {"key": _text(key), "value": _text(value), "headers": listed, "timestamp": timestamp}


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(job_process(_carry_out))
