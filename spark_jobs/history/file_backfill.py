"""Appends records of files to the copies of a flow: ``python -m … REQUEST``.

The request is a JSON file: ``config``, ``flow``, ``path``, ``topic`` (of records that name none),
``parts`` (what may be appended: topic, partition, target topic, and the offset before which it
ends), ``bytes_per_second`` and ``dry_run``. Standard output has lines of JSON: ``{"plan": [...]}``,
``{"records": 3}`` while they are appended, ``{"appended": 9}`` at last. Exit code 1 says why on
standard error.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.clients import stored_clusters
from replication.adapters.topics.state_store import StateStore
from replication.config.load import load_config
from replication.errors import ReplicationError
from replication.model import Mode, PartitionState, TopicPartition
from replication.state import Anchor, anchors_topic
from replication.state.backfill_names import BackfillNames
from spark_jobs.history.append_task import REPORT_DDL, appending
from spark_jobs.history.file_records import records_at
from spark_jobs.process.bounded_session import bounded_conf, reason_of, started_spark
from spark_jobs.process.job_process import job_process, report
from spark_jobs.process.spark_session import start_session
from spark_jobs.transform.slot_producers import SlotProducers
from spark_jobs.transform.task.task_process import task_process
from spark_jobs.transform.task.work import TaskClusters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_TRIES = 3  # of the whole: what is appended stays
_PAUSE_S = 2.0
_LOOK_S = 1.0
_MOST_TASKS = 32
_ROWS = 500_000  # of a shuffle partition while files are counted


class _Part(NamedTuple):
    topic: str
    partition: int
    target_topic: str
    end: int  # source offset: this one, and what is behind it, is the stream's

    @property
    def source(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class _Job:
    """One backfill from files."""

    def __init__(self, spark: SparkSession, config: Config, request: Mapping[str, Any]) -> None:
        self.spark, self.request = spark, request
        self.flow: Flow = config.flow(request["flow"])
        self.names = BackfillNames.of_files(self.flow.source, self.flow.target)
        self.parts = [_Part(*each) for each in request["parts"]]
        self.cores = config.jobs.cores
        self.store = StateStore(
            to_librdkafka(self.flow.clients.target_admin), self.flow.state_replication_factor
        )

    def run(self) -> None:
        """Say what the files have; append it unless that is not wanted."""
        records = records_at(self.spark, self.request["path"], self.request["topic"])
        report({"plan": self._counted(records)})
        if not self.request["dry_run"]:
            self.store.ensure_topics(self.names.source_alias)
            before = self._appended()
            with self._reported_progress(before):
                self._append_all(records)
            report({"appended": self._appended() - before})

    def _counted(self, records: DataFrame) -> list[dict[str, Any]]:
        """Return how many records of each partition there are, and between which offsets."""
        there = self._limited(records, ())
        once = there.groupBy("topic", "partition", "offset").agg(
            F.count("*").alias("times"), F.first("end").alias("end")
        )
        own = F.col("end").isNotNull() & (F.col("offset") < F.col("end"))
        found = once.groupBy("topic", "partition").agg(
            F.min("offset").alias("first"),
            F.max("offset").alias("last"),
            F.count("*").alias("records"),
            F.sum("times").alias("lines"),
            F.sum(F.when(own, 1).otherwise(0)).alias("before_end"),
            F.max(F.when(own, F.col("offset"))).alias("last_before_end"),
        )
        return [each.asDict() for each in found.collect()]

    def _limited(self, records: DataFrame, anchors: Sequence[Anchor]) -> DataFrame:
        """Add the columns ``end`` and ``position``; both are null for other partitions."""
        at = {TopicPartition(each.topic, each.partition): each.source or 0 for each in anchors}
        listed = [(*each.source, each.end, at.get(each.source, 0)) for each in self.parts]
        ddl = "topic string, partition int, end long, position long"
        known = F.broadcast(self.spark.createDataFrame(listed, ddl))
        return records.join(known, ["topic", "partition"], "left")

    def _append_all(self, records: DataFrame) -> None:
        for number in range(1, _TRIES + 1):
            try:
                self._append(records)
            except (ReplicationError, PySparkException):
                if number == _TRIES:
                    raise
                time.sleep(_PAUSE_S)
            else:
                return

    def _append(self, records: DataFrame) -> None:
        """Fence former tasks, read the positions, and append what is behind them."""
        slots = min(_MOST_TASKS, max(1, len(self.parts)))
        clients, known = self.flow.clients, stored_clusters(self.flow)
        clusters = TaskClusters(
            self.names.flow,
            self.names.source_alias,
            dict(clients.source_consumer),
            dict(clients.target_producer),
            source_id=known.source_id,
            target_id=known.target_id,
        )
        process = task_process()
        connected = process.run(process.connected(clusters))
        producers = SlotProducers(clusters, connected, int(time.time()), 0, slots)
        process.run(producers.take())
        anchors = {
            each.source: producers.anchors.get(each.source) or self._new(each)
            for each in self.parts
        }
        missing = self._limited(records, [*anchors.values()]).where(
            (F.col("offset") >= F.col("position")) & (F.col("offset") < F.col("end"))
        )
        columns = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
        rows = missing.select(*columns).repartition(slots, "topic", "partition")
        rows = rows.sortWithinPartitions("topic", "partition", "offset")
        rate = self.request["bytes_per_second"] / min(self.cores, slots)
        work = appending(clusters, producers.identities, anchors, rate)
        reports = rows.mapInArrow(work, REPORT_DDL).collect()
        if problem := next((each["problem"] for each in reports if each["problem"]), ""):
            raise ReplicationError(problem)

    def _new(self, part: _Part) -> Anchor:
        return Anchor(
            self.names.flow,
            *part.source,
            part.target_topic,
            0,
            None,
            state=PartitionState.RUNNING,
            mode=Mode.TRANSACTIONAL,
            clean=True,
        )

    def _appended(self) -> int:
        """Return how many records were appended by now, in all runs."""
        found = self.store.read(anchors_topic(self.names.source_alias)).values()
        return sum(each.records for each in found if isinstance(each, Anchor))

    @contextmanager
    def _reported_progress(self, before: int) -> Iterator[None]:
        """Say every second how many records were appended."""
        ended = threading.Event()

        def tell() -> None:
            while not ended.wait(_LOOK_S):
                try:
                    report({"records": self._appended() - before})
                except ReplicationError:
                    continue  # it is only the progress

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            ended.set()
            teller.join()


def _carry_out(request: Mapping[str, Any]) -> None:
    config = load_config(Path(request["config"])).config
    conf = bounded_conf(config.spark, config.jobs, f"isthmus backfill {request['flow']}")
    with started_spark(conf):
        _run(start_session(conf), config, request)


def _run(spark: SparkSession, config: Config, request: Mapping[str, Any]) -> None:
    job = _Job(spark, config, request)
    try:
        job.run()
    except PySparkException as error:
        raise ReplicationError(f"backfill of {request['flow']}: {reason_of(error)}") from None
    finally:
        job.store.close()


if __name__ == "__main__":
    sys.exit(job_process(_carry_out))
