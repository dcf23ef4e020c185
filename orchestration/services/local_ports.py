"""Chooses and checks the local ports of Isthmus' services."""

from __future__ import annotations

import contextlib
import socket

from replication.errors import EnvironmentProblem

HOST = "127.0.0.1"
UI_PORT = 3000  # Dagster's default; the next free one unless the operator chose it


def answers(port: int, host: str = HOST) -> bool:
    """Return whether a process on this machine accepts connections there."""
    with contextlib.suppress(OSError), socket.create_connection((reached(host), port), timeout=0.5):
        return True
    return False


def reached(host: str) -> str:
    """Return the address at which this machine reaches what listens on ``host``."""
    return {"0.0.0.0": HOST, "::": "::1"}.get(host, host)  # noqa: S104 - what an operator chose


def is_free(port: int, host: str = HOST) -> bool:
    """Return whether we could listen there."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind((host, port))
            return True
    return False


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def ui_port(chosen: int | None, host: str = HOST) -> int:
    """Return the port for the UI.

    Raises EnvironmentProblem when the chosen one is taken, or when nothing can listen on ``host``.
    """
    if not is_free(0, host):
        raise EnvironmentProblem(
            f"{host} is not an address of this machine: choose one for Dagster's UI "
            "with --host, or 0.0.0.0 for all of them"
        )
    if chosen is None:
        tried = range(UI_PORT, UI_PORT + 20)
        return next((port for port in tried if is_free(port, host)), free_port())
    if not is_free(chosen, host):
        raise EnvironmentProblem(
            f"port {chosen} for Dagster's UI is in use: stop the program that uses it, or choose "
            "another port with --port"
        )
    return chosen
