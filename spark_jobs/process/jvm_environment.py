"""What of this machine reaches the driver's JVM.

A machine may be set up for other Spark jobs: an edge node of Hadoop names a master, packages and
directories for all of them. Spark's settings of a driver come from its file alone, so that
variables for other jobs change nothing. The user id may have no name or home, as in a container;
Java, Ivy and Hadoop's login need both.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from replication.adapters.local.java import OPTION_VARIABLES
from replication.adapters.local.user import has_home, has_name, user_name
from replication.config.file.providers import SET_ASIDE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_PREFIXES = ("SPARK_", "PYSPARK_")
# SparkSubmit takes them for a master and a deploy mode (its class SparkSubmitArguments).
_NAMES = frozenset({"MASTER", "DEPLOY_MODE", *OPTION_VARIABLES})
# The executors of a cluster reach the driver by these: they say what this machine is.
_OF_MACHINE = frozenset(
    {"SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME", "SPARK_PUBLIC_DNS", "SPARK_USER"}
)

log = structlog.get_logger()


def foreign_variables(names: Iterable[str], master: str) -> tuple[str, ...]:
    """Return the variables that would set Spark or its JVM, in alphabetical order. Pure."""
    kept = frozenset() if master.startswith("local") else _OF_MACHINE
    found = (each for each in names if each in _NAMES or each.startswith(_PREFIXES))
    return tuple(sorted(each for each in found if each not in kept))


def leave_out_foreign_variables(conf: Mapping[str, str]) -> None:
    """Rename them in this process's environment, which PySpark and the JVM read, and log it.

    Placeholders find them under their former names, here and in Spark's workers.
    """
    found = foreign_variables(os.environ, conf.get("spark.master", "local"))
    for each in found:
        os.environ[SET_ASIDE + each] = os.environ.pop(each)
    if found:
        log.info(
            "variables of this machine are not used: Spark's settings come from the file",
            variables=", ".join(found),
            instead="spark.conf.*, such as spark.conf.spark.driver.extraJavaOptions",
        )


def jvm_environment(connection: Path) -> dict[str, str]:
    """Return the JVM's variables. ``connection`` is where it writes how to reach it.

    There is no SPARK_HOME: with it each Python process that Spark starts imports PySpark from
    ``python/lib/pyspark.zip``, which has no compiled files (1.1 s of CPU a start instead of 0.3).
    """
    return {
        **os.environ,
        "SPARK_CONNECT_MODE": "0",
        "MALLOC_ARENA_MAX": "2",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
        "PYTHONPATH": python_path(),
        "PYSPARK_PYTHON": sys.executable,
        # Only used to look for installed data sources, which costs a Python start; ours is
        # registered by the driver. Spark skips the search when there is no such command.
        "PYSPARK_DRIVER_PYTHON": "isthmus-searches-no-data-sources",
        **({} if has_name() else {"SPARK_USER": user_name()}),
    }


def user_options(home: Path) -> list[str]:
    """Return the JVM's options for a user without a name, or without a home: it gets ``home``."""
    options = [] if has_name() else [f"-Duser.name={user_name()}"]
    return options if has_home() else [*options, f"-Duser.home={home}"]


def log_in(gateway: Any) -> None:
    """Log in to Hadoop under the user's id if it has no name: Hadoop's own login needs one."""
    if not has_name():
        users = gateway.jvm.org.apache.hadoop.security.UserGroupInformation
        users.setLoginUser(users.createRemoteUser(user_name()))


def python_path() -> str:
    """Return the path on which workers find our packages."""
    here = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
