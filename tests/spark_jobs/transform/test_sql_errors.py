"""What is reported of a transform whose Spark job could not be run."""

from __future__ import annotations

import errno
import os

import pytest
from py4j.protocol import Py4JNetworkError

from spark_jobs.transform.sql_errors import job_reason


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(
            ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)),
            "Spark's JVM does not answer: Connection refused",
            id="the JVM has ended",
        ),
        pytest.param(
            ConnectionResetError("lost"), "Spark's JVM does not answer: lost", id="it ends"
        ),
        pytest.param(
            Py4JNetworkError("Answer from Java side is empty"),
            "Spark: Answer from Java side is empty",
            id="it ends during a call",
        ),
    ],
)
def test_a_jvm_that_is_gone_is_said_to_be_that(error, expected):
    assert job_reason(error) == expected
