"""What a bounded job may use, and what it leaves of itself in this process."""

from __future__ import annotations

import os

import pytest
from pyspark import SparkContext

from replication.settings.file_settings import BoundedJobs, SparkSettings
from spark_jobs.process import bounded_session
from spark_jobs.process.bounded_session import bounded_conf


class Jvm:
    """A JVM that sets what PySpark's connection is, and ends when it is told to."""

    def connect(self) -> None:
        os.environ["PYSPARK_GATEWAY_PORT"] = "1"
        os.environ["SPARK_HOME"] = "of the job"

    def stop(self) -> None:
        pass

    kill = stop


@pytest.mark.parametrize("fails", [False, True])
def test_its_connection_is_not_left_in_the_environment(monkeypatch, fails):
    monkeypatch.setenv("SPARK_HOME", "of this machine")
    monkeypatch.setattr(bounded_session, "launch", lambda *_, **__: Jvm())
    monkeypatch.setattr(bounded_session, "log_in", lambda _: None)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda: None)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    before = dict(os.environ)

    def work() -> None:
        with bounded_session.started_spark({"spark.master": "local"}):
            assert os.environ["PYSPARK_GATEWAY_PORT"] == "1"
            assert not fails

    if fails:
        with pytest.raises(AssertionError):
            work()
    else:
        work()
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local[*]", {"spark.master": "local[2,4]", "spark.driver.memory": "1024m"}),
        ("spark://a:7077", {"spark.cores.max": "2", "spark.executor.memory": "1024m"}),
        (
            "k8s://https://a",
            {
                "spark.executor.instances": "1",
                "spark.executor.cores": "2",
                "spark.executor.memory": "1024m",
            },
        ),
    ],
)
def test_the_budget_counts_wherever_the_job_runs(master, expected):
    settings = SparkSettings(master=master, conf={"spark.executor.memory": "9g"})
    conf = bounded_conf(settings, BoundedJobs(cores=2, memory_bytes=1 << 30), "job")
    assert expected.items() <= conf.items()
    assert conf["spark.app.name"] == "job"
    assert ("spark.cores.max" in conf) == (master == "spark://a:7077")
