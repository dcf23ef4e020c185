"""Runs one unit in a Spark task, with the network of the real clusters."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING

from replication.clock import now_ms
from replication.copier.spec import UnitReport, UnitSpec
from replication.errors import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable

COPIER = "spark_jobs.source.unit_task:run_unit"  # module:function, so that tests can name another


def run_unit(spec: UnitSpec) -> UnitReport:
    """Copy until the epoch ends; the unit may keep copying after it, see ``copier.epoch``."""
    from replication.adapters.unit_sockets import UnixUnitSockets  # noqa: PLC0415 - workers only, not planners
    from replication.adapters.wire import connect  # noqa: PLC0415 - as above
    from replication.copier.host import copy_epoch  # noqa: PLC0415 - as above

    return copy_epoch(spec, connect, UnixUnitSockets())


def guarded(spec: UnitSpec, runner: str) -> UnitReport:
    """Run a unit; turn any exception into a report: a task that fails would end the query."""
    started = time.time()
    cpu = time.process_time()
    try:
        return _named(runner)(spec)
    except Exception as error:  # noqa: BLE001 - see above; the outcome carries it to the driver
        known = isinstance(error, ReplicationError)
        outcome = str(error) if known else f"internal error: {type(error).__name__}: {error}"
        time.sleep(max(0.0, 1.0 - (time.time() - started)))  # the next epoch tries again
        return UnitReport(
            unit=spec.unit,
            epoch=spec.epoch,
            records=0,
            bytes=0,
            cpu_s=time.process_time() - cpu,
            started_ms=int(started * 1000),
            ended_ms=now_ms(),
            takeovers=0,
            not_running=len(spec.partitions),
            outcome=outcome,
        )


def _named(runner: str) -> Callable[[UnitSpec], UnitReport]:
    module, _, function = runner.partition(":")
    found: Callable[[UnitSpec], UnitReport] = getattr(importlib.import_module(module), function)
    return found
