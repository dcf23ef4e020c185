"""Spark's JVM by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

from replication.errors import EnvironmentProblem
from spark_jobs.process.jvm import launch

pytestmark = pytest.mark.integration

REPOSITORY = Path(__file__).parents[3]
# Connects as a driver does, logs in to Hadoop, and prints as whom and what Spark would be.
STARTS = """
import sys
from pathlib import Path
from pyspark import SparkContext
from spark_jobs.process.jvm import launch
from spark_jobs.process.jvm_environment import log_in
jvm = launch({"spark.local.dir": sys.argv[1]}, Path(sys.argv[1]) / "log4j2.properties")
jvm.connect()
SparkContext._ensure_initialized()
gateway = SparkContext._gateway
log_in(gateway)
users = gateway.jvm.org.apache.hadoop.security.UserGroupInformation
of_jvm = gateway.jvm.java.lang.System
print(users.getCurrentUser().getShortUserName(), of_jvm.getProperty("spark.master"))
jvm.kill()
"""
EDGE_NODE = {
    "SPARK_LOCAL_DIRS": "/proc/nowhere",
    "SPARK_REMOTE": "sc://127.0.0.1:9",
    "PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell",
    "MASTER": "yarn",
    "DEPLOY_MODE": "cluster",
    "JAVA_TOOL_OPTIONS": "-XX:+UseG1GC",
    "JDK_JAVA_OPTIONS": "-javaagent:/proc/nowhere.jar",
}


# Starts with a setting that is read before a SparkContext exists, and prints what the JVM knows.
EARLY = STARTS.replace(
    '{"spark.local.dir": sys.argv[1]}',
    '{"spark.local.dir": sys.argv[1], "spark.kubernetes.oauthToken": "hu\\\\sh of k8s"}',
).replace(
    "print(users",
    'print(of_jvm.getProperty("spark.kubernetes.oauthToken"), "|", '
    'Path(f"/proc/{jvm.process.pid}/cmdline").read_text().replace(chr(0), " "), "|", '
    "*Path(sys.argv[1]).rglob('spark-defaults.conf'))\nprint(users",
)


def test_what_a_jvm_has_to_know_early_is_no_argument_that_every_user_can_read(tmp_path):
    words = started(tmp_path, dict(os.environ), program=EARLY)
    known, arguments, files, *_ = " ".join(words).split(" | ")
    assert known == "hu\\sh of k8s"
    assert "org.apache.spark.deploy.SparkSubmit" in arguments
    assert "oauthToken" not in arguments
    assert "spark-defaults.conf" not in files, "it is removed once it was read"


def started(tmp_path, environment, prefix=(), program=STARTS):
    """Return what a program prints in a process of its own."""
    command = [*prefix, sys.executable, "-c", program, str(tmp_path)]
    given = {"cwd": REPOSITORY, "env": environment, "timeout": 240}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, **given)
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.stdout.split()


def test_bl_239_a_jvm_starts_on_a_machine_that_is_set_up_for_other_spark_jobs(tmp_path):
    defaults = tmp_path / "conf" / "spark-defaults.conf"
    defaults.parent.mkdir()
    defaults.write_text("spark.master yarn\nspark.jars.packages org.nowhere:nothing:1.0\n")
    edge = {**os.environ, **EDGE_NODE, "SPARK_CONF_DIR": str(defaults.parent)}
    assert started(tmp_path, edge)[-1] == "local[*]"


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs another user")
def test_bl_232_a_user_without_a_name_or_home_logs_in_under_its_id(tmp_path):
    scratch = tmp_path / "spark"
    scratch.mkdir()
    os.chown(scratch, 54321, 54321)
    for each in tmp_path.parents[:2]:
        each.chmod(0o755)  # pytest makes them for us alone
    reads = "dac_read_search"  # the code may be in the home of another user
    command = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"]
    command += [f"--bounding-set=-all,+{reads}", f"--inh-caps=+{reads}", f"--ambient-caps=+{reads}"]
    hidden = {"HOME", "USER", "LOGNAME", "LNAME", "USERNAME", "XDG_CACHE_HOME"}
    plain = {key: value for key, value in os.environ.items() if key not in hidden}
    assert started(scratch, plain, command)[-2:-1] == ["54321"]


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
        assert jvm.was_killed(60)
        gateway.close()
    finally:
        jvm.stop()


def test_packages_that_cannot_be_fetched_are_named(tmp_path):
    conf = {"spark.jars.packages": "no.such:package:1", "spark.jars.ivy": str(tmp_path / "ivy")}
    settings = tmp_path / "ivysettings.xml"  # nothing is asked for
    settings.write_text(
        '<ivysettings><settings defaultResolver="none"/><resolvers><filesystem name="none">'
        f'<artifact pattern="{tmp_path}/[artifact].jar"/></filesystem></resolvers></ivysettings>'
    )
    whole = {**conf, "spark.jars.ivySettings": str(settings)}
    jvm = launch(whole, tmp_path / "log4j2.properties", early=whole)
    with pytest.raises(EnvironmentProblem) as failed:
        jvm.connect()
    assert str(failed.value) == (
        "starting Java for Spark: it exited or did not answer within 600 s; see its lines above in "
        "this log, and check spark.jars.packages = no.such:package:1"
    )
    jvm.stop()
    jvm.directory.cleanup()
