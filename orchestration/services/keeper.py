"""Starts Dagster's services, and restarts one that dies.

Three processes: a code server with our definitions, the daemon that ticks sensors, the web UI.
``dagster dev`` is not used: it ends as a whole when one of its parts does. Copying does not need
them; the keeper keeps supervision and the UI running.

    keeper ─┬─ dagster api grpc      (code)    ── run workers
            ├─ dagster-daemon run    (daemon)
            └─ dagster-webserver     (web)

Each runs in its own session, so a signal to its group reaches only the processes it started.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestration.services.edited_definitions import EditedDefinitions
from orchestration.services.instance import POSTGRES_VARIABLE, postgres_url, write_instance
from orchestration.services.launcher import restore_sigint
from orchestration.services.local_ports import HOST, answers
from orchestration.services.state_directory import (
    CONFIG_VARIABLE,
    HOME_VARIABLE,
    StateDirectory,
    config_file,
    state_directory,
)
from replication.adapters.local.files import PRIVATE_UMASK, shorten_log
from replication.adapters.local.processes import Process, recall, remember, spawn

if TYPE_CHECKING:
    from pathlib import Path

GRACE_S = 4.0  # Dagster's daemon waits for its threads; a sensor's tick may take longer than users
POLL_S = 0.3
STEADY_S = 60.0  # a service that ran this long starts its count of failures again
LONGEST_PAUSE_S = 30.0
LOGS_EVERY_S = 30.0  # how often it is looked whether a log is too long


@dataclass(frozen=True, slots=True)
class Ports:
    web: int | None  # None: no web UI
    code: int
    web_host: str = HOST


@dataclass(slots=True)
class Service:
    """One process that the keeper keeps running."""

    name: str
    command: list[str]
    process: Process | None = None
    started_s: float = 0.0
    failures: int = 0
    noted: bool = False  # its pid file is written
    not_before_s: float = field(default=0.0)


def start_keeper(where: StateDirectory, config: Path, ports: Ports) -> Process:
    """Start the keeper detached; it keeps running when this process ends.

    Raises EnvironmentProblem where Dagster's own files do not fit.
    """
    write_instance(where, ports.code)
    restore_sigint()
    environment = {
        CONFIG_VARIABLE: str(config),
        HOME_VARIABLE: str(where.root),
        "DAGSTER_HOME": str(where.dagster),
        "PYTHONUNBUFFERED": "1",
        # gRPC would ask the network's proxy (http_proxy) for the code server on this machine.
        "no_grpc_proxy": "127.0.0.1",
        **({POSTGRES_VARIABLE: url} if (url := postgres_url()) else {}),
    }
    command = [sys.executable, "-m", "orchestration.services.keeper"]
    command += ["--code-port", str(ports.code)]
    if ports.web is not None:
        command += ["--web-port", str(ports.web), "--web-host", ports.web_host]
    process = spawn(command, where.logs / "keeper.log", environment)
    remember(process, _pid_file(where, "keeper"))
    return process


def running_keeper(where: StateDirectory) -> Process | None:
    """Return the keeper of this state directory if it lives."""
    return recall(_pid_file(where, "keeper"))


def running_services(where: StateDirectory) -> list[Process]:
    """Return the live keeper and services, also those that a killed keeper left."""
    return [each for name in ("keeper", *NAMES) if (each := recall(_pid_file(where, name)))]


def stop_services(where: StateDirectory) -> None:
    """Stop the keeper and all services, also those that a killed keeper left."""
    keeper = running_keeper(where)
    if keeper is not None:
        keeper.stop(GRACE_S + 2)
    _end([each for name in NAMES if (each := recall(_pid_file(where, name)))])


NAMES = ("code", "daemon", "web")


def build_services(where: StateDirectory, ports: Ports) -> list[Service]:
    """Return the services in the order in which they are to start."""
    python, workspace = sys.executable, str(where.dagster / "workspace.yaml")
    code = [python, "-m", "dagster", "api", "grpc", "-m", "orchestration.definitions"]
    code += ["--host", "127.0.0.1", "--port", str(ports.code), "--location-name", "isthmus"]
    code += ["--use-python-environment-entry-point"]
    daemon = [python, "-m", "dagster._daemon", "run", "-w", workspace]
    web = [python, "-m", "dagster_webserver", "-w", workspace, "-h", ports.web_host]
    web += ["-p", str(ports.web), "--suppress-warnings"]
    services = [Service(*each) for each in zip(NAMES, (code, daemon, web), strict=True)]
    return services if ports.web is not None else services[:-1]


def keep(where: StateDirectory, ports: Ports, ended: threading.Event) -> None:
    """Keep the services running until ``ended`` is set, then end them all."""
    _end([each for name in NAMES if (each := recall(_pid_file(where, name)))])
    services = build_services(where, ports)
    code, definitions = services[0], EditedDefinitions(config_file(), where.root)
    try:
        while not ended.is_set():
            if definitions.are_old(code.process):
                _restart(code)
            for service in services:
                # The others load from the code server; without it they would only show errors.
                if not _runs(service) and (service is code or answers(ports.code)):
                    _revive(service, where, time.monotonic())
                elif not service.noted:
                    _note(service, where)
            _shorten_logs(where, time.monotonic())
            ended.wait(POLL_S)
    finally:
        _end([each.process for each in services if each.process is not None])


def _shorten_logs(where: StateDirectory, now_s: float) -> None:
    """Move long logs aside, once in LOGS_EVERY_S."""
    if now_s % LOGS_EVERY_S < 2 * POLL_S:
        for name in (*NAMES, "keeper"):
            shorten_log(where.logs / f"{name}.log")


def _runs(service: Service) -> bool:
    return service.process is not None and service.process.alive()


def _revive(service: Service, where: StateDirectory, now_s: float) -> None:
    """Start the service that does not run, unless it failed so often that it is to wait."""
    if service.process is not None:
        _note_failure(service, now_s)
        service.process, service.noted = None, False
    if now_s < service.not_before_s:
        return
    try:
        service.process = spawn(service.command, where.logs / f"{service.name}.log")
    except OSError:  # no space for its log
        _note_failure(service, now_s)
        return
    service.started_s = now_s
    _note(service, where)


def _restart(service: Service) -> None:
    """End a service on purpose; it is started again at once."""
    if service.process is not None:
        print(f"Dagster service {service.name} is restarted: the file was edited", flush=True)  # noqa: T201 - as below
        service.process.stop(GRACE_S)
    service.process, service.noted = None, False


def _note(service: Service, where: StateDirectory) -> None:
    """Write the service's pid file; while the disk is full it is tried again."""
    if service.process is not None:
        with contextlib.suppress(OSError):
            remember(service.process, _pid_file(where, service.name))
            service.noted = True


def _note_failure(service: Service, now_s: float) -> None:
    steady = now_s - service.started_s > STEADY_S
    service.failures = 1 if steady else service.failures + 1
    pause_s = min(0.5 * 2 ** min(service.failures - 1, 10), LONGEST_PAUSE_S)
    service.not_before_s = now_s + pause_s
    with contextlib.suppress(OSError):  # its disk may be full
        print(f"Dagster service {service.name} exited; restarting it in {pause_s:g} s", flush=True)  # noqa: T201 - the keeper's log is its output


def _end(processes: list[Process]) -> None:
    """Ask all to end at once, and kill what is left after the grace."""
    for each in processes:
        each.signal(signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    for each in processes:
        if not each.wait(max(0.0, deadline - time.monotonic())):
            each.signal(signal.SIGKILL)


def _pid_file(where: StateDirectory, name: str) -> Path:
    return where.dagster / f"{name}.pid"


def main() -> None:
    """Be the keeper: ``python -m orchestration.services.keeper``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--web-port", type=int)
    parser.add_argument("--web-host", default=HOST)
    parser.add_argument("--code-port", type=int, required=True)
    arguments = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    ports = Ports(arguments.web_port, arguments.code_port, arguments.web_host)
    keep(state_directory(), ports, ended)


if __name__ == "__main__":
    os.umask(PRIVATE_UMASK)
    main()
