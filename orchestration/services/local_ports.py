"""Chooses and checks the local ports of Isthmus' services."""

from __future__ import annotations

import contextlib
import socket

from replication.errors import EnvironmentProblem

HOST = "127.0.0.1"
UI_PORT = 3000  # Dagster's default; the next free one unless the operator chose it


def answers(port: int) -> bool:
    """Return whether a process on this machine accepts connections there."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=0.5):
        return True
    return False


def is_free(port: int) -> bool:
    """Return whether we could listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return True
    return False


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def ui_port(chosen: int | None) -> int:
    """Return the port for the UI. Raises EnvironmentProblem when the chosen one is taken."""
    if chosen is None:
        return next((port for port in range(UI_PORT, UI_PORT + 20) if is_free(port)), free_port())
    if not is_free(chosen):
        raise EnvironmentProblem(
            f"port {chosen} for Dagster's UI is in use: stop the program that uses it, or choose "
            "another port with --port"
        )
    return chosen
