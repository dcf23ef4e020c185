"""What becomes of Spark's variables in a pod: the arguments of an executor's JVM."""

from __future__ import annotations

import os

import pytest

from spark_jobs import executor

VARIABLES = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@isthmus-driver.isthmus.svc:7078",
    "SPARK_EXECUTOR_ID": "2",
    "SPARK_EXECUTOR_CORES": "1",
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_EXECUTOR_POD_NAME": "isthmus-exec-2",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_JAVA_OPT_10": "-Dk=10",
    "SPARK_JAVA_OPT_9": "-Dspark.driver.port=7078",
    "SPARK_USER": "isthmus",
}


def test_java_gets_what_spark_says_in_variables():
    found = executor.command_of(VARIABLES, "/jars/*")
    at = found.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    assert found[:at] == [
        "-Dspark.driver.port=7078", "-Dk=10", "-Xms1024m", "-Xmx1024m", "-cp", "/jars/*",
    ]  # fmt: skip
    assert dict(zip(found[at + 1 :: 2], found[at + 2 :: 2], strict=True)) == {
        "--driver-url": VARIABLES["SPARK_DRIVER_URL"], "--executor-id": "2", "--cores": "1",
        "--app-id": "spark-1", "--hostname": "10.0.0.7", "--resourceProfileId": "0",
        "--podName": "isthmus-exec-2",
    }  # fmt: skip


def test_a_pod_that_spark_has_not_started_says_so(monkeypatch):
    monkeypatch.setattr(os, "environ", {})
    with pytest.raises(SystemExit, match="SPARK_EXECUTOR_MEMORY is not set"):
        executor.main()
