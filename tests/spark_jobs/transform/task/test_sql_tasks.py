"""What a task reports of the results of SQL, if it is tried for the first time or again."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyspark
import pytest
from support.records.decoded_records import records_of

from replication.client.producer_identity import ProducerIdentity
from replication.errors import ClusterUnavailable
from replication.model import TopicPartition
from replication.settings.transform_settings import DEAD_LETTER, TopicTransform
from replication.state import Anchor
from spark_jobs.transform.columns.record_columns import END, FAILED, MEMORY, ROW
from spark_jobs.transform.task.batch_work import PROPERTY, property_of
from spark_jobs.transform.task.shared_records import SharedRecords
from spark_jobs.transform.task.sql_tasks import _write_results, write_slots
from spark_jobs.transform.task.work import RangeWork, SlotReport, SlotWork, TaskClusters

CLUSTERS = TaskClusters("A->B", "A", {}, {})


def slot_of_two_records() -> SlotWork:
    anchor = Anchor("A->B", "orders", 0, "A.orders", 10, 4)
    work = RangeWork(anchor, 12, "", TopicPartition("A.orders", 0))
    me = ProducerIdentity("isthmus.A->B.transform.0.0", 7, 2, 5)
    transform = TopicTransform("orders", on_error=DEAD_LETTER)
    return SlotWork(CLUSTERS, transform, me, (work,), {"A.orders": 1}, {})


def in_task(monkeypatch: pytest.MonkeyPatch, slot: SlotWork, attempt: int = 0) -> None:
    """Let a task of Spark's be the one of a slot."""
    context = SimpleNamespace(
        attemptNumber=lambda: attempt,
        partitionId=lambda: 0,
        getLocalProperty={PROPERTY: property_of([slot])}.get,
    )
    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: context)


def coded_rows(*coded: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({ROW: pa.array(coded, pa.int64())})


def written(monkeypatch: pytest.MonkeyPatch, attempt: int) -> SlotReport:
    """Write the results of two records, on the second of which SQL fails."""
    slot = slot_of_two_records()
    in_task(monkeypatch, slot, attempt)
    with closing(SharedRecords()) as shared:
        records = records_of([(n, b"k", b"%d" % n) for n in range(2)], 10)
        shared.add(0, records.at(np.arange(2)).encoded)
        rows = coded_rows(MEMORY + shared.place, 0, FAILED + 1, END + shared.count)
        return _write_results(slot, iter([rows]))


def test_a_record_on_which_sql_fails_is_reported_and_nothing_is_written(monkeypatch):
    assert written(monkeypatch, 0) == SlotReport(failed=((0, 11),))


def test_a_task_that_is_tried_again_does_not_report_that_it_committed_nothing(monkeypatch):
    """Its first attempt may have: SQL need not fail on the same records, nor a registry know."""
    with pytest.raises(ClusterUnavailable, match="ended before it had reported"):
        written(monkeypatch, 1)


def test_a_task_that_could_not_write_takes_the_rest_so_that_its_process_lives_on(monkeypatch):
    """Spark ends a process that left some; the records that it read for another task go with it."""
    in_task(monkeypatch, slot_of_two_records())
    with closing(SharedRecords()) as shared:
        shared.fail("schema registry http://one: HTTP 503")
        coded = (MEMORY + shared.place, 0, END + shared.count)
        batches = iter([coded_rows(each) for each in coded])
        (reported,) = write_slots(CLUSTERS)(batches)
    report = SlotReport.of(reported.column("report")[0].as_py())
    assert report.problem == "schema registry http://one: HTTP 503"
    assert next(batches, None) is None
