"""What of a machine that is set up for other Spark jobs reaches a driver's JVM."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from replication.config.file.providers import resolve_all
from spark_jobs.process.jvm_environment import (
    foreign_variables,
    jvm_environment,
    leave_out_foreign_variables,
    user_options,
)

HOME = Path("/spark")
OTHERS = ("PATH", "HOME", "HADOOP_CONF_DIR", "KUBECONFIG", "PYTHONPATH", "http_proxy")


@pytest.mark.parametrize(
    "name",
    [
        "SPARK_CONF_DIR",
        "SPARK_LOCAL_DIRS",
        "SPARK_REMOTE",
        "SPARK_HOME",
        "PYSPARK_SUBMIT_ARGS",
        "PYSPARK_PIN_THREAD",
        "MASTER",
        "DEPLOY_MODE",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_OPTIONS",
    ],
)
@pytest.mark.parametrize("master", ["local[2]", "spark://here:7077"])
def test_bl_239_variables_for_other_spark_jobs_are_left_out(name, master):
    assert foreign_variables([*OTHERS, name], master) == (name,)


@pytest.mark.parametrize(("master", "found"), [("local", ("SPARK_LOCAL_IP",)), ("yarn", ())])
def test_bl_239_the_address_of_this_machine_is_kept_for_a_cluster(master, found):
    assert foreign_variables(["SPARK_LOCAL_IP"], master) == found


def _without_foreign_variables(monkeypatch) -> None:
    there = {e: os.environ[e] for e in os.environ if not foreign_variables([e], "local")}
    monkeypatch.setattr(os, "environ", there)


def test_python_processes_of_spark_do_not_import_it_from_its_archive_without_compiled_files(
    monkeypatch,
):
    _without_foreign_variables(monkeypatch)
    assert "SPARK_HOME" not in jvm_environment(Path("/x"))


def test_bl_239_what_is_left_out_is_logged_once_with_where_to_set_it(monkeypatch):
    _without_foreign_variables(monkeypatch)
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    monkeypatch.setenv("MASTER", "yarn")
    with capture_logs() as logs:
        leave_out_foreign_variables({"spark.master": "local"})
        leave_out_foreign_variables({"spark.master": "local"})
    assert [(each["variables"], each["instead"][:12]) for each in logs] == [
        ("MASTER, SPARK_CONF_DIR", "spark.conf.*")
    ]
    assert not {"MASTER", "SPARK_CONF_DIR"} & jvm_environment(Path("/x")).keys()


def test_bl_232_a_user_without_a_name_gets_one_and_a_home(monkeypatch):
    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    name = str(os.getuid())
    assert user_options(HOME) == [f"-Duser.name={name}", "-Duser.home=/spark"]
    assert jvm_environment(Path("/x"))["SPARK_USER"] == name


def test_a_user_with_a_name_and_a_home_keeps_them(monkeypatch, tmp_path):
    class Known:
        pw_name, pw_dir = "ann", str(tmp_path)

    monkeypatch.setattr(pwd, "getpwuid", lambda _: Known)
    assert user_options(HOME) == []
    (tmp_path / "file").touch()
    Known.pw_dir = str(tmp_path / "file")
    assert user_options(HOME) == ["-Duser.home=/spark"]
    assert "SPARK_USER" not in jvm_environment(Path("/x"))


def test_a_placeholder_may_name_a_variable_that_is_left_out(monkeypatch):
    _without_foreign_variables(monkeypatch)
    monkeypatch.setenv("SPARK_KAFKA_PASSWORD", "hush")
    monkeypatch.setenv("SPARK_HOME", "/stores")
    props = {
        "config.providers": "env",
        "config.providers.env.class": (
            "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
        ),
        "password": "${env:SPARK_KAFKA_PASSWORD}",
        "location": "${env:SPARK_HOME}/trusted.p12",
    }
    leave_out_foreign_variables({"spark.master": "local"})
    workers = jvm_environment(Path("/x"))
    monkeypatch.setattr(os, "environ", workers)
    assert "SPARK_KAFKA_PASSWORD" not in workers
    assert resolve_all(props) == {"password": "hush", "location": "/stores/trusted.p12"}
