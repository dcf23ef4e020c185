"""Decide whether a flow's driver follows the file as it is now. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.durations import format_moment

if TYPE_CHECKING:
    from replication.state import FlowStatus

LATE_MS = 60_000  # a driver reads the file every second; one that has to start again takes longer


def in_force(
    problem: str, fingerprint: str, read_ms: int, status: FlowStatus | None, now_ms: int
) -> tuple[bool, str]:
    """Return whether the settings of the file are in force, and the reason.

    ``problem``, ``fingerprint``, ``read_ms``: of the observer's reading of the file; ``status``: of
    a driver that lives, if there is one.
    """
    if problem:
        return False, _broken("the edited file", problem, read_ms)
    if status is None:
        return True, f"the file was read at {format_moment(read_ms)} UTC; no driver runs"
    if not status.config:
        return True, "the driver is of an older release: it follows edits when it starts"
    if status.config_problem:
        where = f"the file of the driver on {status.host}"
        return False, _broken(where, status.config_problem, status.config_read_ms)
    return _compared(fingerprint, read_ms, status, now_ms)


def is_older(fingerprint: str, status: FlowStatus) -> bool:
    """Return whether a driver follows other settings than those with this fingerprint."""
    return status.config not in {"", fingerprint}


def _compared(fingerprint: str, read_ms: int, status: FlowStatus, now_ms: int) -> tuple[bool, str]:
    since = f"the driver follows the file as read at {format_moment(status.config_read_ms)} UTC"
    if not is_older(fingerprint, status):
        return True, since
    if now_ms - read_ms < LATE_MS:
        return True, f"{since}; a newer edit will be in force within seconds"
    return False, (
        f"{since}, which has other settings than this file: restart it, or copy this file to "
        f"{status.host}"
    )


def _broken(what: str, problem: str, read_ms: int) -> str:
    return (
        f"{what} is not in force: {problem} (the settings that were read at "
        f"{format_moment(read_ms)} UTC stay in force; correct the file: it is read every second)"
    )
