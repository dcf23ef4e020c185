"""Kafka's jars, fetched once and cached outside the repository.

The fetcher is the Ivy jar that PySpark brings along, so Java is the only tool needed.
A set of jars is complete or absent: it is fetched beside its place and renamed into it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import tenacity

from replication.adapters.local.java import java
from replication.adapters.local.pyspark_home import pyspark_home
from replication.adapters.local.user import user_name
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEFAULT_VERSION = "4.3.1"
_SETTINGS_VARIABLE = "ISTHMUS_IVY_SETTINGS"  # an ivysettings.xml, where a mirror must be used
_LIMIT_S = 600.0
# What writes a JVM's log: Kafka's own modules name an interface for it and no implementation.
_LOGGING = ("slf4j-api", "log4j-slf4j2-impl", "log4j-core", "log4j-api")
_CHATTER = re.compile("evicted|resolving dependencies")
_MODULE = """<ivy-module version="2.0">
  <info organisation="isthmus" module="kafka"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""


class _FetchFailed(Exception):
    """One try did not bring the jars; another may."""


def kafka_jars(version: str = DEFAULT_VERSION, extra: Sequence[str] = ()) -> Path:
    """Return a directory with a Kafka broker's jars, fetching them at the first call.

    ``extra`` names further modules of the same version, such as ``connect-mirror``.
    Raises EnvironmentProblem when they cannot be fetched or stored.
    """
    name = "+".join([f"kafka-{version}", *sorted(extra)])
    place = cache() / name
    if place.is_dir():
        return place
    try:
        with _locked(cache() / "fetch.lock"):
            if not place.is_dir():  # another process may have fetched it while we waited
                _fetch(place, version, extra)
    except OSError as error:
        raise EnvironmentProblem(
            f"storing Kafka's jars in {place}: {error.strerror}; "
            "free space there or set XDG_CACHE_HOME to another directory"
        ) from error
    return place


def class_path(version: str = DEFAULT_VERSION, extra: Sequence[str] = ()) -> str:
    """Return the class path of one of Kafka's programs, which writes its log by Log4j 2.

    PySpark brings Log4j; it stands first, as an slf4j of Kafka's own is older than its binding.
    Raises EnvironmentProblem as ``kafka_jars``.
    """
    return os.pathsep.join([*map(str, logging_jars()), f"{kafka_jars(version, extra)}/*"])


def logging_jars() -> list[Path]:
    """Return PySpark's jars of Log4j 2. Raises EnvironmentProblem."""
    return [_pyspark_jar(name) for name in _LOGGING]


def cache() -> Path:
    """Return the directory for what is made once a machine. Raises EnvironmentProblem."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "isthmus"
    except RuntimeError as error:
        raise EnvironmentProblem(
            f"the user {user_name()} has no home for Kafka's jars: set HOME or XDG_CACHE_HOME to "
            "a directory that it can write to"
        ) from error


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(place: Path, version: str, extra: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=place.parent) as temporary:
        jars = Path(temporary) / "jars"
        module = Path(temporary) / "ivy.xml"
        module.write_text(_module(version, extra))
        try:
            _run_ivy(_command(module, jars, place.parent / "ivy"))
        except _FetchFailed as error:
            raise EnvironmentProblem(
                f"fetching Kafka {version} ({', '.join(['broker', *extra])}): {error}; check the "
                f"version and the network, or name your mirror's ivysettings.xml in "
                f"{_SETTINGS_VARIABLE}"
            ) from error
        jars.rename(place)


def _module(version: str, extra: Sequence[str]) -> str:
    return _MODULE.format(
        dependencies="\n".join(
            f'    <dependency org="org.apache.kafka" name="{name}" rev="{version}" '
            'conf="default->default"/>'
            for name in ("kafka_2.13", *extra)
        )
    )


def _command(module: Path, jars: Path, ivy_cache: Path) -> list[str]:
    settings = os.environ.get(_SETTINGS_VARIABLE)
    return [
        str(java()),
        "-jar",
        str(_pyspark_jar("ivy")),
        *(("-settings", settings) if settings else ()),
        *("-ivy", str(module), "-confs", "default", "-cache", str(ivy_cache)),
        # Kafka 3.x: scala-logging is an OSGi bundle, without it the broker does not start.
        *("-types", "jar", "bundle"),
        *("-retrieve", f"{jars}/[artifact]-[revision](-[classifier]).[ext]"),
    ]


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(_FetchFailed),
    stop=tenacity.stop_after_attempt(2),
    wait=tenacity.wait_fixed(2),
    reraise=True,
)
def _run_ivy(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _FetchFailed(f"no end after {_LIMIT_S:.0f} s") from error
    if done.returncode != 0:
        raise _FetchFailed(_complaint(done.stdout + done.stderr))


def _complaint(output: str) -> str:
    """Return Ivy's own words on what it could not get."""
    lines = re.findall(
        r"^\s*(?:::|UNRESOLVED DEPENDENCY:|\[FAILED)(.*(?:;|#).*)$", output, re.MULTILINE
    )
    words = dict.fromkeys(line.strip(" :]") for line in lines if not _CHATTER.search(line))
    return ", ".join(list(words)[:3]) or output.strip()[-200:]


def _pyspark_jar(name: str) -> Path:
    jars = sorted(pyspark_home().glob(f"jars/{name}-[0-9]*.jar"))
    if not jars:
        raise EnvironmentProblem(
            f"PySpark's jar {name} is missing: install the project's locked dependencies again"
        )
    return jars[-1]
