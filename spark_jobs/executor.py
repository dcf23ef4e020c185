"""Becomes an executor of Spark in a pod that Spark has asked Kubernetes for.

``python -m spark_jobs.executor executor`` is what the pod starts. Spark says in variables what its
own images' start script passes on: whose executor it is, and the options of its JVM.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from replication.adapters.local.java import java
from replication.adapters.local.pyspark_home import pyspark_home

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLASS = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_MEMORY = "SPARK_EXECUTOR_MEMORY"
_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def command_of(variables: Mapping[str, str], jars: str) -> list[str]:
    """Return the arguments of Java, by Spark's variables (its class BasicExecutorFeatureStep).

    Raises KeyError for a variable that is missing: then Spark has not started the pod.
    """
    numbered = {int(found[1]): text for name, text in variables.items()
                if (found := _OPTION.fullmatch(name))}  # fmt: skip
    memory = variables[_MEMORY]
    arguments = [part for option, name in _ARGUMENTS.items() for part in (option, variables[name])]
    options = [numbered[number] for number in sorted(numbered)]
    return [*options, f"-Xms{memory}", f"-Xmx{memory}", "-cp", jars, _CLASS, *arguments]


def main() -> None:
    """Replace this process by the executor's JVM."""
    try:
        arguments = command_of(os.environ, str(pyspark_home() / "jars" / "*"))
    except KeyError as error:
        sys.exit(f"Spark has not started this pod: the variable {error.args[0]} is not set")
    program = str(java())
    os.execv(program, [program, *arguments])  # noqa: S606 -- Java, with Spark's own arguments


if __name__ == "__main__":
    main()
