"""Keep one driver process running on this machine: ``python -m spark_jobs.watch``.

It takes the driver's arguments.

Little more than the standard library and psutil, so that it is small and starts at once. It starts
the driver in its own process session, and restarts it when it dies; processes that it left in its
session (the JVM, Python workers) are killed first. It forwards SIGTERM and SIGINT, and exits when
the driver was stopped (0), was refused (75) or cannot run until an operator acts (78). When the
watcher itself is killed, the driver keeps running.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from replication.adapters.local.files import (
    PRIVATE_UMASK,
    lacks_space,
    open_private,
    shorten_log,
)
from replication.clock import now_ms
from replication.errors import EnvironmentProblem
from spark_jobs.process.appdir import AppDir, write_json
from spark_jobs.process.log_format import watcher_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

FINAL = frozenset({0, 75, 78})
_EDITED = 76  # the driver has ended cleanly, to follow an edited file
_NOT_STARTED = 1  # no space for its log
_FIRST_S = 0.2
_LONGEST_S = 30.0
_HEALED_S = 60.0  # a driver that ran this long is restarted at once
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class WatchRecord:
    """The content of ``watch.json``."""

    pid: int
    started_ms: int
    driver: int = 0  # its pid
    since_ms: int = 0  # when that driver was started
    restarts: int = 0
    last_exit: int | None = None  # of the driver before; negative: the signal that ended it


def next_pause(before_s: float, lived_s: float) -> float:
    """Return how long to wait before the next start. Pure.

    It is short after the first crash of a driver that had run for long, and doubles with each
    further crash.
    """
    if lived_s >= _HEALED_S or not before_s:
        return _FIRST_S
    return min(before_s * 2, _LONGEST_S)


class Watcher:
    """Runs a driver, and restarts it when it dies."""

    def __init__(self, directory: AppDir, command: Sequence[str]) -> None:
        self._directory = directory
        self._command = command
        self._driver: subprocess.Popen[bytes] | None = None
        self._signal: int | None = None  # the signal that ended us
        self._record = WatchRecord(os.getpid(), now_ms())

    def run(self) -> int:
        """Watch until the driver ends for good; return its exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._forward)
        pause_s = 0.0
        while True:
            begin = time.monotonic()
            code = self._run_once()
            if code in FINAL or self._signal is not None:
                return 0 if self._signal is not None and code < 0 else code
            pause_s = next_pause(0.0 if code == _EDITED else pause_s, time.monotonic() - begin)
            self._update(restarts=self._record.restarts + 1, last_exit=code, driver=0)
            self._log(f"driver ended with {code}; restarting it in {pause_s:.1f} s")
            self._rest(pause_s)
            if self._signal is not None:
                return 0

    def _run_once(self) -> int:
        try:
            self._driver = self._start()
        except OSError as error:
            if lacks_space(error):
                return _NOT_STARTED
            raise
        session = self._driver.pid
        self._update(driver=session, since_ms=now_ms())
        while True:
            with suppress(subprocess.TimeoutExpired):
                code = self._driver.wait(_HEALED_S / 2)
                break
            shorten_log(self._directory.log)
        kill_session(session)
        return code

    def _start(self) -> subprocess.Popen[bytes]:
        with open_private(self._directory.log, "ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _forward(self, number: int, frame: FrameType | None) -> None:
        self._signal = number
        if self._driver is not None:
            with suppress(ProcessLookupError):
                self._driver.send_signal(number)

    def _rest(self, pause_s: float) -> None:
        until = time.monotonic() + pause_s
        while self._signal is None and time.monotonic() < until:
            time.sleep(_LOOK_S)

    def _update(self, **changes: int | None) -> None:
        self._record = replace(self._record, **changes)  # type: ignore[arg-type] # all are ints
        with suppress(OSError):  # a full disk must not end the watch
            write_json(self._directory.watch, asdict(self._record))

    def _log(self, message: str) -> None:
        with suppress(OSError), open_private(self._directory.log, "a") as log:
            log.write(f"{watcher_line(message)}\n")


def kill_session(session: int) -> None:
    """Kill every process of a session; its leader, the driver, has ended."""
    for pid in _members(session):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _members(session: int) -> Iterator[int]:
    """Yield the pids. Spark's workers are in process groups of their own, but not in sessions."""
    for pid in psutil.pids():
        with suppress(OSError):
            if os.getsid(pid) == session:
                yield pid


def main(arguments: Sequence[str] | None = None) -> int:
    """Watch the driver that ``arguments`` describe."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="python -m spark_jobs.watch", description=__doc__)
    parser.add_argument("--target", required=True)
    parser.add_argument("--flow")
    parser.add_argument("--state-dir", type=Path, default=Path(".isthmus"))
    known, _ = parser.parse_known_args(given)  # the driver checks the others
    directory = AppDir.of(known.state_dir, known.flow or known.target)
    try:
        for line in directory.make():
            sys.stderr.write(f"{line}\n")
        return Watcher(directory, [sys.executable, "-m", "spark_jobs.replicate", *given]).run()
    except OSError as error:
        sys.stderr.write(f"state directory {directory.root} cannot be used: {error.strerror}\n")
        return 78
    except EnvironmentProblem as error:
        sys.stderr.write(f"{error}\n")
        return 78


if __name__ == "__main__":
    os.umask(PRIVATE_UMASK)
    sys.exit(main())
