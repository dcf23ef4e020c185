"""Starts and stops the driver's JVM, fast by a class archive, and detects its exit.

PySpark would start it through a shell script and a second JVM that builds the command line. We
run the same main class directly. Most of a cold start is class loading: the first driver leaves
an archive of the loaded classes (AppCDS) in the user's cache, which halves that for all later ones.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.adapters.local import class_archive
from replication.adapters.local.broker_config import as_properties
from replication.adapters.local.files import write_whole
from replication.adapters.local.java import java
from replication.adapters.local.pyspark_home import pyspark_home
from replication.errors import EnvironmentProblem
from spark_jobs.process.jvm_environment import (
    jvm_environment,
    leave_out_foreign_variables,
    user_options,
)
from spark_jobs.process.log_format import jvm_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

_START_S = 60.0
_FETCH_S = 600.0  # where it fetches packages before it listens
_PACKAGES = "spark.jars.packages"
_OPENED = (
    "java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util "
    "java.util.concurrent java.util.concurrent.atomic jdk.internal.ref sun.nio.ch sun.nio.cs "
    "sun.security.action sun.util.calendar"
)
# The driver plans and waits: a small heap, the plainest collector and no second compiler.
# A large stack: Spark matches stack traces with a regular expression that recurses.
_LEAN = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MetaspaceSize=192m",
    "-Xms160m",
    "-Xss4m",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",  # a JVM that survives without memory answers no call
    "-Xlog:disable",
)
_HEAP = "512m"  # Spark refuses less than 450 MiB
_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = {pattern}
"""
# Settings that are read before a SparkContext exists; all others are set on its builder.
_EARLY = ("spark.jars", "spark.files", "spark.archives", "spark.submit.", "spark.kubernetes.")
_NO_MEMORY = 3  # exit code of a JVM that ran out of memory
DIED = 70  # exit code of a driver whose JVM has exited: the watcher restarts it


@dataclass(slots=True)
class SparkJvm:
    """A running driver JVM."""

    process: subprocess.Popen[bytes]
    archive: Path | None  # where to write the loaded classes; None: they came from there
    directory: tempfile.TemporaryDirectory[str] = field(repr=False)
    packages: str = ""  # that it fetches first

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def was_killed(self, patience_s: float = 1.0) -> bool:
        """Return whether a signal or lack of memory ended it; its sockets close a bit earlier."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        code = self.process.returncode or 0
        return code < 0 or code == _NO_MEMORY

    def connect(self) -> None:
        """Wait until it listens, and set PySpark's connection in the environment.

        Raises EnvironmentProblem; ConnectionError when it was killed.
        """
        info = Path(self.directory.name) / "connection"
        patience_s = _FETCH_S if self.packages else _START_S
        deadline = time.monotonic() + patience_s
        while not info.exists():
            if not self.alive and self.was_killed():
                raise ConnectionError("Spark's JVM was killed")
            if not self.alive or time.monotonic() > deadline:
                self.kill()
                what_to_do = "see its lines above in this log"
                if self.packages:
                    what_to_do = f"{what_to_do}, and check {_PACKAGES} = {self.packages}"
                raise EnvironmentProblem(
                    "starting Java for Spark: it exited or did not answer within "
                    f"{patience_s:.0f} s; {what_to_do}"
                )
            time.sleep(0.01)
        content = info.read_bytes()
        secret = content[8 : 8 + int.from_bytes(content[4:8], "big")]
        os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark would run any python3 on PATH
        os.environ["PYSPARK_GATEWAY_PORT"] = str(int.from_bytes(content[:4], "big"))
        os.environ["PYSPARK_GATEWAY_SECRET"] = secret.decode()
        self.directory.cleanup()

    def stop(self, grace_s: float = 3.0) -> None:
        """Close its input, on which it ends; kill it if it does not."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        try:
            self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def launch(
    conf: Mapping[str, str],
    log4j: Path,
    early: Mapping[str, str] | None = None,
    archive_at_exit: Path | None = None,
) -> SparkJvm:
    """Start the JVM and return at once. ``log4j`` is where its logging settings are written.

    ``early``: the settings that a session has without a builder that sets them; None: those that
    are read before a SparkContext exists. ``archive_at_exit``: where the JVM writes the archive of
    its classes when it ends.
    """
    leave_out_foreign_variables(conf)
    log4j.write_text(_LOG4J.replace("{pattern}", jvm_pattern()))
    archive = None if archive_at_exit else archive_path()
    known = archive is not None and archive.exists()
    # In the application's directory: the next start deletes what a killed driver leaves there.
    directory = tempfile.TemporaryDirectory(prefix="isthmus-", dir=conf.get("spark.local.dir"))
    command = [str(java()), *_java_options(conf, log4j, Path(directory.name))]
    if archive_at_exit is not None:
        command.append(f"-XX:ArchiveClassesAtExit={archive_at_exit}")
    elif archive is not None:
        command += class_archive.java_options(archive) if known else ["-XX:+RecordDynamicDumpInfo"]
    command += ["-cp", _class_path(conf), "org.apache.spark.deploy.SparkSubmit"]
    # Instead of the defaults of this machine; and no argument, which every user can read.
    defaults = Path(directory.name) / "spark-defaults.conf"
    write_whole(defaults, as_properties(_early(conf) if early is None else early))
    command += ["--properties-file", str(defaults), "pyspark-shell"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,  # it ends when this pipe breaks, so it cannot outlive us
        env=jvm_environment(Path(directory.name) / "connection"),
        process_group=0,  # so that Ctrl-C reaches only us: we end the epoch first
    )
    packages = conf.get(_PACKAGES, "")
    return SparkJvm(process, None if known else archive, directory, packages)


def dump_archive(gateway: Any, archive: Path) -> None:
    """Write the archive of the classes that the JVM has loaded; takes some seconds.

    The JVM stops meanwhile, which does not delay copying. If it fails, starts stay slow. Classes
    that were loaded and not used yet are missing in it, unlike in one that is written at exit.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".classes-", dir=archive.parent) as directory:
        part = Path(directory) / archive.name
        _diagnose(gateway, "vmCds", "dynamic_dump", str(part))
        if part.exists():
            part.replace(archive)


def _diagnose(gateway: Any, command: str, *arguments: str) -> None:
    """Run a diagnostic command in the JVM, as the JDK's jcmd does; a runtime has no jcmd."""
    java_lang = gateway.jvm.java.lang

    def array(kind: Any, *items: Any) -> Any:
        made = gateway.new_array(kind, len(items))
        for index, item in enumerate(items):
            made[index] = item
        return made

    text = java_lang.String
    beans = java_lang.management.ManagementFactory.getPlatformMBeanServer()
    name = gateway.jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    # Its class is not public, so the method has to be taken from the interface.
    methods = java_lang.Class.forName("javax.management.MBeanServer").getMethods()
    invoke = next(each for each in methods if each.getName() == "invoke")
    passed = array(java_lang.Object, array(text, *arguments))
    signature = array(text, "[Ljava.lang.String;")
    invoke.invoke(beans, array(java_lang.Object, name, command, passed, signature))


def archive_path() -> Path | None:
    """Return where the class archive of this Java and this Spark is; None: there is no home."""
    return class_archive.archive_path("spark", _jars())


def _jars() -> list[Path]:
    return sorted((pyspark_home() / "jars").glob("*.jar"))


def _class_path(conf: Mapping[str, str]) -> str:
    extra = conf.get("spark.driver.extraClassPath")
    return os.pathsep.join([*([extra] if extra else []), *map(str, _jars())])


def _java_options(conf: Mapping[str, str], log4j: Path, directory: Path) -> list[str]:
    opened = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in _OPENED.split()]
    heap = f"-Xmx{conf.get('spark.driver.memory', _HEAP)}"
    own = conf.get("spark.driver.extraJavaOptions", "").split()
    if scratch := conf.get("spark.local.dir"):
        own.append(f"-Djava.io.tmpdir={scratch}")
    own += user_options(Path(scratch or directory))
    return [*opened, *_LEAN, heap, f"-Dlog4j2.configurationFile={log4j.absolute()}", *own]


def _early(conf: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in conf.items() if key.startswith(_EARLY)}
