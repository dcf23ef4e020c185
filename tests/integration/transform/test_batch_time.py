"""Batches of a real Spark that take too long: because of their records, or without a slot."""

from __future__ import annotations

import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.flows.spark_driver import wait_for

from replication.errors import ClusterUnavailable
from spark_jobs.transform import batch_clock
from spark_jobs.transform.batch_clock import JobTooSlow, time_limit

pytestmark = pytest.mark.integration


@contextmanager
def occupied(spark, folder: Path, seconds: float = 600):
    """Let other work have every slot until the block ends, or for so long."""
    context, folder = spark.sparkContext, Path(tempfile.mkdtemp(dir=folder))
    count = context.defaultParallelism
    begun, over = str(folder / "begun-{}"), str(folder / "over")

    def hold(number):
        Path(begun.format(number)).touch()
        while not Path(over).exists():
            time.sleep(0.05)

    thread = threading.Thread(target=lambda: context.parallelize(range(count), count).foreach(hold))
    thread.start()
    ends = threading.Timer(seconds, Path(over).touch)
    try:
        wait_for(lambda: len(list(folder.glob("begun-*"))) == count)
        ends.start()
        yield
    finally:
        ends.cancel()
        Path(over).touch()
        thread.join()


def a_batch(spark, seconds: float) -> list:
    def hang(batches):
        for each in batches:
            time.sleep(seconds)
            yield each

    context = spark.sparkContext
    context.setJobGroup("batches", "batches", interruptOnCancel=True)
    return spark.range(0, 1, 1, 1).mapInArrow(hang, "id long").collect()


def test_a_batch_counts_as_slow_if_its_task_runs_and_not_while_it_waits(
    spark, monkeypatch, tmp_path
):
    monkeypatch.setattr(batch_clock, "_LOOK_S", 0.2)
    context = spark.sparkContext
    with (
        occupied(spark, tmp_path),
        pytest.raises(ClusterUnavailable, match="Spark ran no task of a batch for 1 s"),
        time_limit(context, "batches", 1),
    ):
        a_batch(spark, 0)
    for limit_s in (4, 20):  # on a busy machine it may wait for the shorter one, which is right
        with (
            occupied(spark, tmp_path, 2),
            pytest.raises((JobTooSlow, ClusterUnavailable)) as ended,
            time_limit(context, "batches", limit_s),
        ):
            a_batch(spark, 600)
        if ended.type is JobTooSlow:
            break
    assert str(ended.value) == f"a batch took longer than {limit_s} s"
    with time_limit(context, "batches", 30):  # Spark kills the worker that hangs after some seconds
        assert [each.id for each in a_batch(spark, 0)] == [0]
