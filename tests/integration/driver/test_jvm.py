"""Spark's JVM by itself."""

from __future__ import annotations

import os

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

from spark_jobs.process.jvm import launch

pytestmark = pytest.mark.integration


def test_bl_122_a_jvm_whose_heap_is_full_ends_and_counts_as_killed(tmp_path, monkeypatch):
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, "")  # what connecting sets is gone afterwards
    conf = {"spark.driver.memory": "64m", "spark.driver.extraJavaOptions": "-Xms16m"}
    jvm = launch(conf, tmp_path / "log4j2.properties")
    try:
        jvm.connect()
        known = GatewayParameters(
            port=int(os.environ["PYSPARK_GATEWAY_PORT"]),
            auth_token=os.environ["PYSPARK_GATEWAY_SECRET"],
        )
        gateway = JavaGateway(gateway_parameters=known)
        with pytest.raises(Py4JError):
            _ = [gateway.new_array(gateway.jvm.long, 1 << 20) for _ in range(100)]
        assert jvm.was_killed(10)
        gateway.close()
    finally:
        jvm.stop()
