"""Starts and stops Spark applications as detached processes, and checks whether they run.

An application is a *watcher* (``spark_jobs.watch``) that keeps a *driver* running. Both are in
sessions of their own, with their output in a file: the end of Dagster or of the terminal does not
end them. This module starts a module by its name and never imports spark_jobs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.adapters.local.cluster_file import cluster_file, read_ids
from replication.adapters.local.files import make_private, open_private
from replication.adapters.local.processes import Process, recall, remember, spawn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orchestration.services.state_directory import StateDirectory
    from replication.settings.flow_settings import Flow
    from replication.state import ClusterIds
    from replication.supervision.driver_supervision import Application

STOP_S = 20.0  # a driver drains its epoch before it ends


@dataclass(frozen=True, slots=True)
class Launcher:
    """Applications of one configuration file on this host."""

    state_directory: StateDirectory
    config: Path

    def watcher(self, app: Application) -> Process | None:
        """Return the live watcher that was started from this state directory."""
        return recall(self._pid_file(app))

    def watcher_alive(self, app: Application) -> bool:
        return self.watcher(app) is not None

    def driver(self, app: Application) -> Process | None:
        """Return the driver that holds the application's lock, for its watcher may be gone."""
        lock = self.state_directory.app(app.name) / "driver.lock"
        if not is_locked(lock):
            return None
        return recall(lock)  # None: it has just taken the lock, or has just ended

    def driver_alive(self, app: Application) -> bool:
        """Return whether a driver on this host holds the application's lock."""
        return is_locked(self.state_directory.app(app.name) / "driver.lock")

    def cluster_ids(self, app: Application, flow: Flow) -> ClusterIds:
        """Return the ids of a flow's clusters, as its driver on this host has kept them."""
        return read_ids(cluster_file(self.state_directory.app(app.name), flow.name), flow)

    @contextlib.contextmanager
    def acting(self, app: Application) -> Iterator[None]:
        """Mark ``app`` as being started or stopped, while this process lives and the block runs."""
        self._make(app)
        with open_private(self._acting_lock(app), "ab") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH)  # shared: it excludes nobody
            try:
                yield
            finally:
                os.utime(handle.fileno())

    def is_acted_on(self, app: Application) -> bool:
        """Return whether a process on this host is starting or stopping ``app``."""
        return is_locked(self._acting_lock(app), fcntl.LOCK_EX)

    def acted_at(self, app: Application) -> float:
        """Return when a start or stop of ``app`` last ended, in s since 1970; 0: never.

        One that was killed does not count.
        """
        try:
            return self._acting_lock(app).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def start(self, app: Application) -> Process:
        """Start the watcher unless it runs, and return it."""
        alive = self.watcher(app)
        if alive is not None:
            return alive
        directory = self._make(app)
        self._stopped(app).unlink(missing_ok=True)
        restore_sigint()
        process = spawn(self.command(app), directory / "watch.log")
        try:
            remember(process, self._pid_file(app))
        except OSError:
            process.stop(STOP_S)  # nobody would find it
            raise
        return process

    def stop(self, app: Application, limit_s: float = STOP_S) -> None:
        """Stop watcher and driver; kill them after ``limit_s``."""
        deadline = time.monotonic() + limit_s
        for find in (self.watcher, self.driver):  # in this order: a watcher restarts its driver
            alive = find(app)
            if alive is not None:
                alive.stop(max(0.2, deadline - time.monotonic()))
        with contextlib.suppress(FileNotFoundError):  # it was never started here
            self._stopped(app).touch(0o600)

    def stopped_ms(self, app: Application) -> int:
        """Return when ``stop`` last ended, in ms since 1970; 0 if ``start`` was called since."""
        try:
            return self._stopped(app).stat().st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return 0

    def ask_to_stop(self, app: Application) -> None:
        """Send SIGTERM to the watcher, and do not wait."""
        alive = self.watcher(app)
        if alive is not None:
            alive.signal(signal.SIGTERM)

    def command(self, app: Application) -> list[str]:
        """Return the command line of the watcher."""
        arguments = ["--config", str(self.config), "--target", app.target]
        if app.name != app.target:
            arguments += ["--flow", app.flows[0]]
        state = ["--state-dir", str(self.state_directory.root)]
        return [sys.executable, "-m", "spark_jobs.watch", *arguments, *state]

    def _make(self, app: Application) -> Path:
        """Create the application's directory, for this user alone."""
        directory = self.state_directory.app(app.name)
        make_private(self.state_directory.root, directory.parent, directory)
        return directory

    def _acting_lock(self, app: Application) -> Path:
        return self.state_directory.app(app.name) / "acting.lock"

    def _stopped(self, app: Application) -> Path:
        return self.state_directory.app(app.name) / "stopped"

    def _pid_file(self, app: Application) -> Path:
        return self.state_directory.app(app.name) / "watcher.pid"


def restore_sigint() -> None:
    """Undo an inherited "ignore SIGINT": a shell script's ``command &`` starts us like that.

    Children would inherit it, and some of them (Dagster) then ignore SIGTERM as well.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_locked(file: Path, probe: int = fcntl.LOCK_SH) -> bool:
    """Return whether a process holds an flock on ``file`` that conflicts with ``probe``.

    The probe is taken for a moment; a shared one detects an exclusive lock. The kernel drops a lock
    with its process, so a reused pid cannot be mistaken for ours.
    """
    with contextlib.suppress(FileNotFoundError), file.open("rb") as handle:
        try:
            fcntl.flock(handle, probe | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
