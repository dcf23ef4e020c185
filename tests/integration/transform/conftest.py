"""One Spark, and one task process, for all modules here, in this process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from replication.settings.file_settings import BoundedJobs, SparkSettings
from spark_jobs.process.bounded_session import bounded_conf, started_spark
from spark_jobs.process.spark_session import start_session
from spark_jobs.transform.task.task_process import task_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session", autouse=True)
def _closed() -> Iterator[None]:
    yield
    task_process().close()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    conf = bounded_conf(SparkSettings(), BoundedJobs(cores=8), "test")
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "nice", lambda _: 0)  # other tests follow in this process
        with started_spark(conf):
            session = start_session(conf)
            for name in os.environ.keys() - before.keys():
                patch.delenv(name)  # what other tests start would connect to this JVM
            yield session
