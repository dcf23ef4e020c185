"""The driver of one Spark application: ``python -m spark_jobs.replicate --config F --target B``.

The driver of a batch flow (``--flow A->B``) ends by itself. Exit codes: 0 the run of a batch flow
ended, a signal stopped the driver, or the file has none of its flows any more; 75 another driver
copies these flows; 76 the file was edited so that the driver has to start again; 78 an operator
must fix the configuration or this machine; any other: restart the driver.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from replication.adapters.followed_file import FollowedFile
from replication.adapters.local.files import PRIVATE_UMASK, lacks_space, make_private, space_problem
from replication.errors import ConfigError, EnvironmentProblem, FlowTaken, ReplicationError
from spark_jobs.process.announced import announce
from spark_jobs.process.appdir import AppDir, Locked
from spark_jobs.process.jvm import DIED, launch
from spark_jobs.process.logs import configure_logs
from spark_jobs.transform.application_conf import application_conf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.adapters.followed_file import FileInForce
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from spark_jobs.process.appdir import Lock

TAKEN = 75
EDITED = 76
MISCONFIGURED = 78
_AGAIN = "driver exiting for restart"
_LOST = "Spark's JVM was killed while it started: the kernel's log says whether memory ran out"

log = structlog.get_logger()


def main(arguments: Sequence[str] | None = None) -> int:
    """Drive the flows until a signal ends them; return the exit code."""
    configure_logs()
    given = _parser().parse_args(arguments)
    try:
        file = FollowedFile(given.config, given.state_dir.absolute())
        reading = file.look()
        if reading.problem:
            log.error("the edited file is not in force", reason=reading.problem)
        flows = chosen_flows(reading.config, given.target, given.flow)
        directory = AppDir.of(given.state_dir, given.flow or given.target)
        return _drive(file, reading, flows, directory)
    except FlowTaken as error:
        log.error("driver exiting: another driver has its flow", reason=str(error))  # noqa: TRY400 - the message says it all
        return TAKEN
    except (ConfigError, EnvironmentProblem) as error:
        log.error("cannot start", reason=str(error))  # noqa: TRY400 - the message says it all
        return MISCONFIGURED
    except ReplicationError as error:  # such as credentials that the target rejects for now
        log.error(_AGAIN, reason=str(error))  # noqa: TRY400 - the message says it all
        return DIED


def chosen_flows(config: Config, target: str, name: str | None) -> tuple[Flow, ...]:
    """Return the flows of the application. Raises ConfigError when there are none."""
    into = config.flows_into(target)
    flows = tuple(e for e in into if (e.name == name if name is not None else not e.is_batch))
    if not flows:
        known = ", ".join(each.name for each in config.flows) or "none"
        selected = f"flow {name} into {target}" if name else f"flow into {target} that streams"
        raise ConfigError(f"{config.path} has no {selected}; its flows: {known}")
    return flows


def _drive(
    file: FollowedFile, reading: FileInForce, flows: tuple[Flow, ...], directory: AppDir
) -> int:
    try:
        for line in directory.make():
            log.warning("state directory was closed to other users", reason=line)
        with directory.locked() as lock:
            if problem := space_problem(directory.root):
                log.error(_AGAIN, reason=problem)
                return DIED
            announce(reading.config, flows, directory)
            return _run(file, reading, flows, directory, lock)
    except Locked as holder:
        names = ", ".join(each.name for each in flows)
        raise FlowTaken(
            f"another driver on this machine copies {names} ({directory.root / 'driver.lock'} is "
            f"held: {holder}). Stop that driver first, or do not start this one"
        ) from None
    except ConnectionError as error:  # py4j's: the JVM ended by itself, for example
        log.error(_AGAIN, reason=f"Spark's JVM does not answer: {error.strerror or error}")  # noqa: TRY400 - the message says it all
        return DIED
    except OSError as error:
        if lacks_space(error):
            log.error(_AGAIN, reason=f"no space in {directory.root}: free some there")  # noqa: TRY400 - the message says it all
            return DIED
        raise EnvironmentProblem(
            f"state directory {directory.root} cannot be used: {error.strerror}. Free space or "
            "permissions there, or name another one with --state-dir"
        ) from error


def _run(
    file: FollowedFile,
    reading: FileInForce,
    flows: tuple[Flow, ...],
    directory: AppDir,
    lock: Lock,
) -> int:
    """Start the JVM and drive the flows; return the exit code."""
    own = application_conf(reading.config.spark, flows)
    conf = {"spark.local.dir": str(_scratch(directory)), **own}
    jvm = launch(conf, directory.root / "log4j2.properties")
    try:
        from spark_jobs.driver.driver_loop import Driver  # noqa: PLC0415 - while the JVM starts

        driver = Driver(file, reading, flows, directory)
        driver.run(jvm, conf, lock)
        jvm.stop()
    except BaseException as error:
        lost = not isinstance(error, ReplicationError) and jvm.was_killed()
        jvm.kill()
        if not lost:
            raise
        log.error(_AGAIN, reason=_LOST)  # noqa: TRY400 - the rest is a consequence
        return DIED
    if driver.restart:
        log.info(_AGAIN, reason=driver.restart)
        return EDITED
    return 0


def _scratch(directory: AppDir) -> Path:
    """Return an empty directory for Spark's files; a killed driver leaves some in it."""
    scratch = directory.root / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    make_private(scratch)
    return scratch


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m spark_jobs.replicate", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="properties file")
    parser.add_argument("--target", required=True, help="alias of the cluster to copy to")
    parser.add_argument("--flow", help="only this flow, such as 'A->B'")
    parser.add_argument("--state-dir", type=Path, default=Path(".isthmus"))
    return parser


if __name__ == "__main__":
    os.umask(PRIVATE_UMASK)
    # A normal exit would wait for threads that call a silent cluster.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = main()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
