"""Finds the Java that runs brokers, Spark and the jar fetcher on this machine."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from replication.errors import EnvironmentProblem

MINIMUM = 17
# Options for every Java program of this machine. A driver's JVM ends at once if they contradict
# its own, as when they choose another garbage collector.
OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_TRIES = 3  # a user, or the kernel for lack of memory, may kill it
_ADVICE = (
    f"install a Java runtime of version {MINIMUM} or newer (on Debian or Ubuntu: "
    f"apt-get install openjdk-{MINIMUM}-jre-headless) and put it on PATH or set JAVA_HOME"
)


@functools.cache
def java() -> Path:
    """Return the ``java`` to run: JAVA_HOME's, else the one on PATH.

    Raises EnvironmentProblem when there is none, or when it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise EnvironmentProblem(f"no Java found in {where}: {_ADVICE}")
    version = parse_version(_version_text(found))
    if version is None or version < MINIMUM:
        raise EnvironmentProblem(f"{found} is Java {version or '(unknown)'}: {_ADVICE}")
    return Path(found)


def parse_version(text: str) -> int | None:
    """Return the feature version that ``java -version`` shows: 8 for 1.8.0, 17 for 17.0.1."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def _version_text(found: str) -> str:
    plain = {key: value for key, value in os.environ.items() if key not in OPTION_VARIABLES}
    command = [found, "-version"]
    for _ in range(_TRIES):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=30, check=False, env=plain
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EnvironmentProblem(f"running {found} -version: {error}; {_ADVICE}") from error
        if done.returncode >= 0:
            return done.stderr + done.stdout
    raise EnvironmentProblem(f"running {found} -version: it was killed {_TRIES} times")
