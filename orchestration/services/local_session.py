"""Starts Dagster and the applications for ``isthmus run``; stops all within ten seconds."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from orchestration.services.keeper import Ports, running_keeper, start_keeper, stop_services
from orchestration.services.local_ports import HOST, answers, free_port, reached, ui_port
from orchestration.services.state_directory import prepare
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from types import FrameType

    from orchestration.services.launcher import Launcher
    from orchestration.services.state_directory import StateDirectory
    from replication.adapters.local.processes import Process
    from replication.supervision.driver_supervision import Application

STOP_S = 6.5  # of the ten seconds that Ctrl-C may take; the rest is for clusters and slack
UI_PATIENCE_S = 90.0
LOG_TAIL_BYTES = 1500


def require_stopped(where: StateDirectory) -> None:
    """Raise EnvironmentProblem if Isthmus already runs from this state directory."""
    if running_keeper(where) is not None:
        raise EnvironmentProblem(
            f"Isthmus already runs in state directory {where.root}: stop it with `isthmus down`, "
            "or set ISTHMUS_HOME to another directory"
        )


class Ending:
    """Set by Ctrl-C, SIGTERM or a closed terminal. The second Ctrl-C interrupts as usual.

    While ``interrupts`` is true, each of them raises KeyboardInterrupt: in waits that are not ours.
    """

    def __init__(self, *, interrupts: bool = False) -> None:
        self.interrupts = interrupts
        self._event = threading.Event()

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                signal.signal(number, self._set)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _set(self, number: int, _: FrameType | None) -> None:
        self._event.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.interrupts:
            raise KeyboardInterrupt

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds``; True as soon as it is set."""
        return self._event.wait(seconds)

    def __bool__(self) -> bool:
        return self._event.is_set()


@dataclass(slots=True)
class LocalSession:
    """Dagster's services and the Spark applications of one configuration file."""

    launcher: Launcher
    applications: tuple[Application, ...]
    port: int | None = None  # of the UI; None: the first free one
    ui: bool = True
    host: str = HOST  # on which the UI listens
    keeper: Process | None = None

    @property
    def address(self) -> str:
        host = reached(self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def start(self) -> None:
        """Start Dagster, which then starts the applications. Raises EnvironmentProblem."""
        where = self.launcher.state_directory
        prepare(where)
        require_stopped(where)
        stop_services(where)  # services that a killed keeper left still listen on their ports
        self.port = ui_port(self.port, self.host) if self.ui else None
        ports = Ports(self.port, free_port(), self.host)
        self.keeper = start_keeper(where, self.launcher.config, ports)

    def wait_for_ui(self, ending: Ending) -> None:
        """Return when the UI answers. Raises EnvironmentProblem with the log if it does not."""
        deadline = time.monotonic() + UI_PATIENCE_S
        while self.port is not None and not answers(self.port, self.host):
            if ending.wait(0.2):
                return
            alive = self.keeper is not None and self.keeper.alive()
            if not alive or time.monotonic() > deadline:
                raise EnvironmentProblem(
                    f"Dagster's UI did not start within {UI_PATIENCE_S:.0f} s. {self._log_tail()}"
                    if alive
                    else f"Dagster exited while it started. {self._log_tail()}"
                )

    def stop(self) -> None:
        """Stop applications and Dagster at once: SIGTERM first, then SIGKILL.

        Twice, because a sensor may have launched an application just before Dagster ended.
        """
        deadline = time.monotonic() + STOP_S
        if self.keeper is not None:
            self.keeper.signal(signal.SIGTERM)
        for app in self.applications:
            self.launcher.ask_to_stop(app)
        stop_services(self.launcher.state_directory)
        for app in self.applications:
            self.launcher.stop(app, max(0.2, deadline - time.monotonic()))

    def _log_tail(self) -> str:
        for name in ("code", "daemon", "web", "keeper"):
            log = self.launcher.state_directory.logs / f"{name}.log"
            if log.exists() and log.stat().st_size:
                end = log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")
                return f"The end of {log}:\n{end}"
        return f"Logs: {self.launcher.state_directory.logs}"
