"""Records that Spark's Python processes share, by Spark itself: it gives processes to other tasks.

Without brokers: where a registry fails, or SQL does, a task commits nothing.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.records.decoded_records import records_of

from replication.client.producer_identity import ProducerIdentity
from replication.model import TopicPartition
from replication.settings.transform_settings import DEAD_LETTER, TopicTransform
from replication.state import Anchor
from spark_jobs.transform.columns.record_columns import END, FAILED, MEMORY, ROW
from spark_jobs.transform.columns.sql_rows import marker
from spark_jobs.transform.sql_plan import sql_session
from spark_jobs.transform.task.batch_work import PROPERTY, property_of, slot_work
from spark_jobs.transform.task.shared_records import shared_records
from spark_jobs.transform.task.sql_tasks import task_number, write_slots
from spark_jobs.transform.task.tasks import REPORT_DDL
from spark_jobs.transform.task.work import RangeWork, SlotReport, SlotWork, TaskClusters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

CLUSTERS = TaskClusters("A->B", "A", {}, {})
TRANSFORM = TopicTransform("orders", on_error=DEAD_LETTER)
THREADS, JOBS, SLOTS = 4, 10, 2
FIRST = 100  # offset


def work_of(thread: int, job: int) -> list[SlotWork]:
    """Return the work of the slots of a job; each reads another offset, at which it is known."""
    me = ProducerIdentity("isthmus.A->B.transform.0.0", 7, 2, 5)
    found = []
    for slot in range(SLOTS):
        begin = 2 * ((thread * JOBS + job) * SLOTS + slot) + FIRST
        anchor = Anchor("A->B", "orders", 0, "A.orders", begin, 4)
        work = RangeWork(anchor, begin + 2, "", TopicPartition("A.orders", 0))
        found.append(SlotWork(CLUSTERS, TRANSFORM, me, (work,), {"A.orders": 1}, {}))
    return found


def fails(begin: int) -> bool:
    """Say whether the registry fails for the slot that begins there: for every third one."""
    return begin // 2 % 3 == 0


def expected(work: SlotWork) -> SlotReport:
    begin = work.ranges[0].anchor.source or 0
    if fails(begin):
        return SlotReport(problem=f"HTTP 503 at {begin}")
    return SlotReport(failed=((0, begin), (0, begin + 1)))


def plan_of(spark: SparkSession, pause_s: float) -> DataFrame:
    """Return a plan as a transform's, whose tasks read two records and write some time later."""
    write_all = write_slots(CLUSTERS)
    failing = {n: fails(n) for n in range(FIRST, FIRST + 2 * THREADS * JOBS * SLOTS, 2)}
    found = records_of([(n, b"k", b"v") for n in range(2)]).encoded
    encoded = replace(found, data=bytes(found.data))  # which Spark can send to a process

    def read(slots):
        for _ in slots:
            work, shared = slot_work(CLUSTERS, task_number()), shared_records()
            begin = work.ranges[0].anchor.source
            yield marker(MEMORY + shared.place, ())
            if failing[begin]:
                shared.fail(f"HTTP 503 at {begin}")
            else:
                shared.add(0, replace(encoded, offsets=encoded.offsets + begin))
                yield pa.RecordBatch.from_pydict({ROW: pa.array([FAILED, FAILED + 1], pa.int64())})
            yield marker(END + shared.count, ())

    def write(batches):
        time.sleep(pause_s)  # as on a busy machine
        yield from write_all(batches)

    slots = spark.range(0, SLOTS, 1, SLOTS).mapInArrow(read, f"{ROW} long")
    return slots.where(f"{ROW} >= 0").mapInArrow(write, REPORT_DDL)


def test_each_task_reports_what_became_of_its_own_records(spark):
    def drive(thread: int) -> list[tuple[SlotReport, SlotReport]]:
        session, found = sql_session(spark), []
        plan = plan_of(session, 0.5 * (thread % 2))
        for job in range(JOBS):
            work = work_of(thread, job)
            session.sparkContext.setLocalProperty(PROPERTY, property_of(work))
            reports = {row["slot"]: SlotReport.of(row["report"]) for row in plan.collect()}
            found += [(reports[slot], each) for slot, each in enumerate(map(expected, work))]
        return found

    with ThreadPoolExecutor(THREADS) as pool:
        done = [each for found in pool.map(drive, range(THREADS)) for each in found]
    wrong = [
        (report, right)
        for report, right in done
        if (report.problem, report.failed) != (right.problem, right.failed)
    ]
    assert len(done) == THREADS * JOBS * SLOTS
    assert wrong == []
