"""Writes Dagster's instance files: storage, run limits, and the address of the code server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.adapters.local.files import make_private, write_whole
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from orchestration.services.home import Home

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
  enabled: false
retention:
  schedule:
    purge_after_days: 30
  sensor:
    purge_after_days:
      skipped: 2
      success: 30
      failure: 30
      started: 2
"""

WORKSPACE = """\
# Written by isthmus at every start.
load_from:
  - grpc_server:
      host: 127.0.0.1
      port: {port}
      location_name: isthmus
"""


def write_instance(where: Home, code_port: int) -> None:
    """Write dagster.yaml if there is none, and workspace.yaml. Raises EnvironmentProblem."""
    instance = where.dagster / "dagster.yaml"
    try:
        make_private(where.root, where.dagster)
        if not instance.exists() or not instance.stat().st_size:  # a power cut leaves it empty
            write_whole(instance, INSTANCE)
        write_whole(where.dagster / "workspace.yaml", WORKSPACE.format(port=code_port))
    except OSError as error:
        raise EnvironmentProblem(f"writing {instance}: {error.strerror}") from error
