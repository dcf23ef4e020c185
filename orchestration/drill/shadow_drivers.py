"""Spark drivers of a drill's flows, in a state directory of their own."""

from __future__ import annotations

import shutil
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import StateDirectory
from replication.adapters.local.files import make_private, write_whole
from replication.adapters.local.process_tree import below, kill
from replication.errors import EnvironmentProblem, ReplicationError
from replication.model import Desired
from replication.state import Intent, status_topic
from replication.supervision.driver_supervision import Application, applications

if TYPE_CHECKING:
    from pathlib import Path

    from orchestration.flows.observation.clients import ClusterClients
    from replication.settings.config import Config

_LOOK_S = 0.5
_LOG_TAIL_BYTES = 1500


def drill_directory(state_directory: StateDirectory, stem: str) -> StateDirectory:
    """Return the state directory of a flow's drills, within that of the flow."""
    return StateDirectory(state_directory.root / "drills" / stem)


def write_file(state_directory: StateDirectory, text: str) -> Path:
    """Write the drill's file for this user alone. Raises EnvironmentProblem."""
    try:
        make_private(
            state_directory.root.parent.parent, state_directory.root.parent, state_directory.root
        )
        file = state_directory.root / "drill.properties"
        write_whole(file, text)
    except OSError as error:
        raise EnvironmentProblem(f"writing {state_directory.root}: {error.strerror}") from error
    return file


@dataclass(slots=True)
class ShadowDrivers:
    """The applications of a drill's file on this host."""

    config: Config
    state_directory: StateDirectory
    clusters: ClusterClients
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def launcher(self) -> Launcher:
        return Launcher(self.state_directory, self.config.path)

    def keep(self, *flows: str) -> None:
        """Let a driver run wherever one of these flows is to run, as Dagster's supervisor does."""
        self.rest()
        self._over.clear()
        self._thread = threading.Thread(target=self._keep, args=(frozenset(flows),), daemon=True)
        self._thread.start()

    def _keep(self, flows: frozenset[str]) -> None:
        while not self._over.is_set():
            for app in self._apps():
                if flows.intersection(app.flows) and self._should_run(app):
                    self.launcher.start(app)
            self._over.wait(_LOOK_S)

    def _should_run(self, app: Application) -> bool:
        return any(self._desired(name) is Desired.RUN for name in app.flows)

    def _desired(self, name: str) -> Desired:
        """Return a flow's desired state; while its target is silent, what starts nothing."""
        flow = self.config.flow(name)
        try:
            records = self.clusters.store(flow).read(status_topic(flow.source))
        except ReplicationError:
            return Desired.PAUSE
        intent = records.get(Intent(name).key())
        return Desired(intent.desired) if isinstance(intent, Intent) else Desired.RUN

    def rest(self) -> None:
        """Start none any more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def kill(self) -> int:
        """SIGKILL all processes at once, as a machine that loses its power; return how many."""
        self.rest()
        count = 0
        for app in self._apps():
            watcher, driver = self.launcher.watcher(app), self.launcher.driver(app)
            for each in filter(None, (watcher, driver)):  # a watcher would restart its driver
                rest = [child.pid for child in below(each.pid)]
                each.signal(signal.SIGKILL)
                for pid in rest:
                    kill(pid)
                count += 1 + len(rest)
        return count

    def stop(self) -> None:
        """Stop all, and remove the state directory."""
        self.rest()
        for app in self._apps():
            if self.state_directory.app(app.name).exists():
                self.launcher.stop(app)
        shutil.rmtree(self.state_directory.root, ignore_errors=True)
        with suppress(OSError):  # another drill uses it
            self.state_directory.root.parent.rmdir()

    def log_end(self) -> str:
        """Return the end of the drivers' logs, for a message."""
        logs = [self.state_directory.app(each.name) / "driver.log" for each in self._apps()]
        found = [each.read_text(errors="replace") for each in logs if each.exists()]
        return "\n".join(each[-_LOG_TAIL_BYTES:] for each in found)

    def _apps(self) -> tuple[Application, ...]:
        return applications(self.config)
