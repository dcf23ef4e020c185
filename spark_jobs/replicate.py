"""The driver of one Spark application: ``python -m spark_jobs.replicate --config F --target B``.

Exit codes: 0 stopped by a signal; 75 another driver copies these flows; 78 an operator must fix the
configuration or this machine; any other: restart the driver.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from replication.adapters.local.files import PRIVATE_UMASK, lacks_space, make_private, space_problem
from replication.config.load import load_config
from replication.errors import ConfigError, EnvironmentProblem, FlowTaken, ReplicationError
from spark_jobs.process.announced import announce
from spark_jobs.process.appdir import AppDir, Locked
from spark_jobs.process.jvm import DIED, launch
from spark_jobs.process.spark_session import spark_conf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.settings.sections import Config, Flow

TAKEN = 75
MISCONFIGURED = 78
_AGAIN = "driver exiting for restart"
_LOST = "Spark's JVM was killed while it started"

log = structlog.get_logger()


def main(arguments: Sequence[str] | None = None) -> int:
    """Drive the flows until a signal ends them; return the exit code."""
    _log_plainly()
    given = _parser().parse_args(arguments)
    try:
        config = load_config(given.config).config
        flows = chosen_flows(config, given.target, given.flow)
        directory = AppDir.of(given.state_dir, given.flow or given.target)
        return _drive(config, flows, directory)
    except FlowTaken as error:
        log.error("refused", reason=str(error))  # noqa: TRY400 - the message says it all
        return TAKEN
    except (ConfigError, EnvironmentProblem) as error:
        log.error("cannot start", reason=str(error))  # noqa: TRY400 - the message says it all
        return MISCONFIGURED
    except ReplicationError as error:  # such as credentials that the target rejects for now
        log.error(_AGAIN, reason=str(error))  # noqa: TRY400 - the message says it all
        return DIED


def chosen_flows(config: Config, target: str, name: str | None) -> tuple[Flow, ...]:
    """Return the flows of the application. Raises ConfigError when there are none."""
    flows = config.flows_into(target)
    if name is not None:
        flows = tuple(each for each in flows if each.name == name)
    if not flows:
        known = ", ".join(each.name for each in config.flows) or "none"
        selected = f"flow {name} into {target}" if name else f"flow into {target}"
        raise ConfigError(f"{config.path} has no {selected}; its flows: {known}")
    return flows


def _drive(config: Config, flows: tuple[Flow, ...], directory: AppDir) -> int:
    try:
        for line in directory.make():
            log.warning("state directory", reason=line)
        with directory.locked() as lock:
            if problem := space_problem(directory.root):
                log.error(_AGAIN, reason=problem)
                return DIED
            announce(config, flows, directory)
            conf = {"spark.local.dir": str(_scratch(directory)), **_conf(config, flows)}
            jvm = launch(conf, directory.root / "log4j2.properties")
            try:
                from spark_jobs.driver.driver_loop import Driver  # noqa: PLC0415 - while the JVM starts

                Driver(config, flows, directory, lock).run(jvm, conf)
                jvm.stop()
            except BaseException as error:
                lost = not isinstance(error, ReplicationError) and jvm.was_killed()
                jvm.kill()
                if not lost:
                    raise
                log.error(_AGAIN, reason=_LOST)  # noqa: TRY400 - the rest is a consequence
                return DIED
    except Locked as holder:
        names = ", ".join(each.name for each in flows)
        raise FlowTaken(
            f"another driver on this machine copies {names} ({directory.root / 'driver.lock'} is "
            f"held: {holder}). Stop that driver first, or do not start this one"
        ) from None
    except OSError as error:
        if lacks_space(error):
            log.error(_AGAIN, reason=f"no space in {directory.root}: free some there")  # noqa: TRY400 - the message says it all
            return DIED
        raise EnvironmentProblem(
            f"state directory {directory.root} cannot be used: {error.strerror}. Free space or "
            "permissions there, or name another one with --state-dir"
        ) from error
    return 0


def _conf(config: Config, flows: tuple[Flow, ...]) -> dict[str, str]:
    return spark_conf(config.spark, sum(each.copying.units for each in flows))


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


def _log_plainly() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S.%f", utc=False),
            structlog.dev.ConsoleRenderer(
                colors=False,
                pad_event_to=0,
                exception_formatter=structlog.dev.plain_traceback,  # locals may hold passwords
            ),
        ],
        logger_factory=structlog.PrintLoggerFactory(_Stderr()),  # type: ignore[arg-type] # enough
    )
    # Py4J logs the broken connections of a JVM that was killed: a line each is enough.
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("%(asctime)s [%(levelname)s] %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], force=True)


class _Stderr:
    """Standard error; what its disk has no space for is left out."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()


class _OneLine(logging.Formatter):
    """Leaves stack traces out."""

    def formatException(self, ei: object) -> str:  # noqa: N802 - logging's name
        return ""


if __name__ == "__main__":
    os.umask(PRIVATE_UMASK)
    # A normal exit would wait for threads that call a silent cluster.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = main()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
