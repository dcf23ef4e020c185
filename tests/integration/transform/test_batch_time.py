"""Batches of a real Spark that take too long: because of their records, or without a slot."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import pytest

from replication.errors import ClusterUnavailable
from spark_jobs.transform import batch_clock
from spark_jobs.transform.batch_clock import JobTooSlow, time_limit

pytestmark = pytest.mark.integration


@contextmanager
def occupied(spark, seconds: float):
    """Let other work have every slot for a while, from the beginning of the block on."""
    context = spark.sparkContext
    count, begun = context.defaultParallelism, threading.Event()

    def sleep(_):
        time.sleep(seconds)

    def work():
        begun.set()
        context.parallelize(range(count), count).foreach(sleep)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(10)
    time.sleep(0.5)
    yield
    thread.join()


def a_batch(spark, seconds: float) -> list:
    def hang(batches):
        for each in batches:
            time.sleep(seconds)
            yield each

    context = spark.sparkContext
    context.setJobGroup("batches", "batches", interruptOnCancel=True)
    return spark.range(0, 1, 1, 1).mapInArrow(hang, "id long").collect()


def test_a_batch_counts_as_slow_if_its_task_runs_and_not_while_it_waits(spark, monkeypatch):
    monkeypatch.setattr(batch_clock, "_LOOK_S", 0.2)
    context = spark.sparkContext
    with (
        occupied(spark, 3),
        pytest.raises(ClusterUnavailable, match="Spark ran no task of a batch for 1 s"),
        time_limit(context, "batches", 1),
    ):
        a_batch(spark, 0)
    with (
        occupied(spark, 2),
        pytest.raises(JobTooSlow, match="a batch took longer than 4 s"),
        time_limit(context, "batches", 4),
    ):
        a_batch(spark, 60)
    with time_limit(context, "batches", 30):  # Spark kills the worker that hangs after some seconds
        assert [each.id for each in a_batch(spark, 0)] == [0]
