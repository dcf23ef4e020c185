"""What a bounded job in this process leaves of itself."""

from __future__ import annotations

import os

import pytest
from pyspark import SparkContext

from spark_jobs.process import bounded_session


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
