"""The state directory with Isthmus' local files, and the environment's settings for it.

::

    .isthmus/
      apps/<application>/   locks and logs of one Spark application
      dagster/              DAGSTER_HOME: history, nothing else
      drills/<flow>/        a state directory of its own for each drill, while it runs
      logs/                 output of Dagster's services
      reports/              what drills found
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from replication.adapters.local.files import make_private
from replication.errors import ConfigError, EnvironmentProblem

CONFIG_VARIABLE = "ISTHMUS_CONFIG"
HOME_VARIABLE = "ISTHMUS_HOME"
MIN_FREE_BYTES = 64 << 20  # with less, sqlite and Spark's checkpoints soon fail


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The state directory, absolute."""

    root: Path

    def app(self, name: str) -> Path:
        """Return the directory of one Spark application."""
        return self.root / "apps" / name

    @property
    def dagster(self) -> Path:
        return self.root / "dagster"

    @property
    def logs(self) -> Path:
        return self.root / "logs"


def state_directory() -> StateDirectory:
    """Return the state directory that the environment names, or ``.isthmus`` here."""
    return StateDirectory(Path(os.environ.get(HOME_VARIABLE) or ".isthmus").absolute())


def config_file() -> Path:
    """Return the configuration file that the environment names. Raises ConfigError."""
    named = os.environ.get(CONFIG_VARIABLE)
    if not named:
        raise ConfigError(
            f"no configuration file: set {CONFIG_VARIABLE} to the path of a properties file, "
            "or start Dagster with `isthmus run FILE`"
        )
    return Path(named).absolute()


def prepare(where: StateDirectory) -> None:
    """Create the directories for this user alone and check that they are writable.

    Says on standard error which of them were open to others. Raises EnvironmentProblem.
    """
    try:
        made = make_private(where.root, where.root / "apps", where.dagster, where.logs)
        with tempfile.TemporaryFile(dir=where.root) as proof:
            proof.write(b"x" * 4096)
    except OSError as error:
        raise EnvironmentProblem(
            f"writing state directory {where.root}: {error.strerror}: check its free space and "
            f"permissions, or set {HOME_VARIABLE} to another directory"
        ) from error
    sys.stderr.write("".join(f"{line}\n" for line in made))
    free = shutil.disk_usage(where.root).free
    if free < MIN_FREE_BYTES:
        raise EnvironmentProblem(
            f"state directory {where.root} has {free >> 20} MiB of free space and needs "
            f"{MIN_FREE_BYTES >> 20} MiB: free some, or set {HOME_VARIABLE} to another directory"
        )
