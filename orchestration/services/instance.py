"""Writes Dagster's instance files: storage, run limits, and the address of the code server."""

from __future__ import annotations

import importlib.util
import os
import re
from typing import TYPE_CHECKING

from replication.adapters.local.files import make_private, write_whole
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from pathlib import Path

    from orchestration.services.state_directory import StateDirectory

POSTGRES_VARIABLE = "ISTHMUS_POSTGRES_URL"
# Only written when there is none: an operator may point the storage at Postgres.
INSTANCE = """\
# Written by isthmus at its first start; you may edit it. This directory holds history only.
# There is no python_logs here: capturing the root logger has made runs hang on SQLite's lock.
telemetry:
  enabled: false
nux:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 25
    tag_concurrency_limits:
      - key: replication/application
        limit: 1
        value:
          applyLimitPerUniqueValue: true
# Without this a run whose process is gone would occupy its slot for ever. None of these limits
# stops the copying, which is not a run.
run_monitoring:
  enabled: true
  start_timeout_seconds: 180
  cancel_timeout_seconds: 180
  poll_interval_seconds: 30
run_retries:
  enabled: true
  max_retries: 0
sensors:
  use_threads: true
  num_workers: 4
freshness:
  enabled: true
retention:
  schedule:
    purge_after_days:
      skipped: 2
      success: 30
      failure: 30
      started: 2
  sensor:
    purge_after_days:
      skipped: 2
      success: 30
      failure: 30
      started: 2
"""

# Dagster reads the variable itself, so that the password is in no file.
POSTGRES = f"""\
storage:
  postgres:
    postgres_url:
      env: {POSTGRES_VARIABLE}
"""

WORKSPACE = """\
# Written by isthmus at every start.
load_from:
  - grpc_server:
      host: 127.0.0.1
      port: {port}
      location_name: isthmus
"""


def write_instance(where: StateDirectory, code_port: int) -> None:
    """Write dagster.yaml if there is none, and workspace.yaml.

    History is in SQLite files here, or in the Postgres that ISTHMUS_POSTGRES_URL names. Raises
    EnvironmentProblem, also where that variable and the present dagster.yaml contradict each other.
    """
    instance = where.dagster / "dagster.yaml"
    postgres = bool(postgres_url())
    try:
        make_private(where.root, where.dagster)
        if not instance.exists() or not instance.stat().st_size:  # a power cut leaves it empty
            write_whole(instance, INSTANCE + (POSTGRES if postgres else ""))
        _require_storage(instance, postgres=postgres)
        write_whole(where.dagster / "workspace.yaml", WORKSPACE.format(port=code_port))
    except OSError as error:
        raise EnvironmentProblem(f"writing {instance}: {error.strerror}") from error


def postgres_url() -> str:
    """Return the address of the Postgres with Dagster's history; empty: it is in files.

    It names the driver that dagster-postgres imports: SQLAlchemy 2.1 takes another one by default.
    """
    named = os.environ.get(POSTGRES_VARIABLE, "")
    return re.sub(r"^postgres(ql)?://", "postgresql+psycopg2://", named)


def _require_storage(instance: Path, *, postgres: bool) -> None:
    """Refuse a history in another place than the environment says: it would seem to be lost."""
    named = POSTGRES_VARIABLE in instance.read_text()
    if postgres and not named:
        raise EnvironmentProblem(
            f"{instance} does not use {POSTGRES_VARIABLE}, which is set: delete the file to "
            "have it written again (the history in files is then not shown), or unset the "
            "variable"
        )
    if named and not postgres:
        raise EnvironmentProblem(
            f"{instance} keeps Dagster's history in Postgres, and {POSTGRES_VARIABLE} is not set: "
            "set it, or delete the file to keep history in files"
        )
    if postgres and importlib.util.find_spec("dagster_postgres") is None:
        raise EnvironmentProblem(
            f"{POSTGRES_VARIABLE} is set, and the package dagster-postgres is not installed: "
            "pip install 'isthmus[postgres]'"
        )
