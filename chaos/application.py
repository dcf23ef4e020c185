"""The application under test: the watcher, its driver, the JVM and the Python workers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.adapters.local.process_tree import below
from spark_jobs.process.appdir import AppDir, read_json
from spark_jobs.watch import kill_session

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from chaos.topics.chaos_topics import ChaosTopic

SOURCE, TARGET = "A", "B"
FLOW = f"{SOURCE}->{TARGET}"
_WORKER = "spark_jobs.source.worker_daemon"
_STOP_S = 45.0
_CONFIG = """\
clusters = {source}, {target}
{source}.bootstrap.servers = {source_servers}
{target}.bootstrap.servers = {target_servers}
{flow}.enabled = true
{flow}.topics = chaos-.*
tasks.max = 2
copy.epoch.seconds = 10
replication.factor = {replicas}
"""


@dataclass(slots=True)
class TestedApplication:
    """All processes that copy. ``home`` gets the configuration, the state and the logs."""

    home: Path
    watcher: subprocess.Popen[bytes] | None = None
    second: subprocess.Popen[bytes] | None = None
    is_replaced: bool = False  # another driver copies meanwhile: the watcher may give up
    _sessions: set[int] = field(default_factory=set)  # of all drivers there ever were

    def configure(
        self, source_servers: str, target_servers: str, replicas: int, topics: Iterable[ChaosTopic]
    ) -> None:
        """Write the properties file, with the transforms of topics."""
        self.home.mkdir(parents=True)
        servers = {"source_servers": source_servers, "target_servers": target_servers}
        names = {"source": SOURCE, "target": TARGET, "flow": FLOW, "replicas": replicas}
        self.config.write_text(_CONFIG.format(**names, **servers))
        for each in topics:
            for key, value in each.transform.items():
                self.add_setting(f"transform.{each.name}/{key}", value)

    def add_setting(self, key: str, value: str) -> None:
        """Add a setting of the flow to the properties file; a driver reads it when it starts."""
        with self.config.open("a") as file:
            file.write(f"{FLOW}.{key} = {value}\n")

    def start(self) -> None:
        """Start the watcher, which starts the driver."""
        self.watcher = self._spawn("spark_jobs.watch", "state")

    def start_second(self, state: str) -> subprocess.Popen[bytes]:
        """Start a driver beside the one that the watcher runs."""
        self.second = self._spawn("spark_jobs.replicate", state)
        self._sessions.add(self.second.pid)
        return self.second

    def log(self, state: str) -> str:
        """Return what the processes started for ``state`` have printed."""
        return (self.home / f"{state}.log").read_text(errors="replace")

    def driver(self) -> int | None:
        """Return the driver's pid; None: there is none at this moment."""
        record = read_json(AppDir.of(self.home / "state", TARGET).watch) or {}
        pid = int(record.get("driver", 0))
        if pid:
            self._sessions.add(pid)
        return pid if pid and _lives(pid) else None

    def jvm(self) -> int | None:
        """Return the pid of the driver's JVM."""
        driver = self.driver()
        found = [each for each in below(driver) if each.parent == driver] if driver else []
        return next((each.pid for each in found if "org.apache.spark" in each.command), None)

    def workers(self) -> list[int]:
        """Return the pids of Python workers, the busiest first, without their common parent."""
        driver = self.driver()
        found = [e for e in below(driver) if _WORKER in e.command] if driver else []
        daemons = {each.parent for each in found} & {each.pid for each in found}
        forked = [each for each in found if each.parent in daemons]
        return [each.pid for each in sorted(forked, key=lambda each: -each.cpu_s)]

    def ended_by_itself(self) -> int | None:
        """Return the watcher's exit code if it gave up, and forget it."""
        code = self.watcher.poll() if self.watcher is not None else None
        if code is not None:
            self.watcher = None
        return code

    def kill_all(self) -> None:
        """SIGKILL of the watcher, then of the driver: what a driver leaves behind stays alone."""
        driver = self.driver()
        if self.watcher is not None:
            self.watcher.kill()
            self.watcher.wait()
            self.watcher = None
        send(driver, signal.SIGKILL)

    def stop(self) -> int | None:
        """Stop it with SIGTERM; return the exit code, or None when it did not end in time."""
        if self.watcher is None:
            return None
        self.driver()
        self.watcher.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.watcher.wait(_STOP_S)
        return None

    def left_over(self) -> list[str]:
        """Return what still runs of drivers that have ended, a moment after the last one."""
        deadline = time.monotonic() + 5.0
        while (found := self._members()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return found

    def destroy(self) -> None:
        """Kill everything that was started here."""
        self.driver()
        for each in (self.watcher, self.second):
            if each is not None:
                each.kill()
                each.wait()
        for session in self._sessions:
            kill_session(session)

    @property
    def config(self) -> Path:
        """The properties file."""
        return self.home / "isthmus.properties"

    def _members(self) -> list[str]:
        found = subprocess.run(
            ["ps", "-e", "-o", "sid=,pid=,stat=,args="], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        mine = [line.split(maxsplit=3) for line in found]
        return [
            f"{pid} {command[:80]}"
            for sid, pid, state, command in mine
            if int(sid) in self._sessions and state[0] != "Z"
        ]

    def _spawn(self, module: str, state: str) -> subprocess.Popen[bytes]:
        options = ("--config", str(self.config), "--target", TARGET)
        with (self.home / f"{state}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", module, *options, "--state-dir", str(self.home / state)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def send(pid: int | None, number: signal.Signals) -> bool:
    """Send a signal; return whether the process existed."""
    if pid is None:
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _lives(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
