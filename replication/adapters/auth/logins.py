"""Refused logins at one cluster: which may work later, and when the next one is tried.

A password may be changed on the brokers before the file that a client reads it from. So once a
login has worked, a refusal is a state that passes; and because brokers may lock a user whose logins
fail, there are pauses between attempts with the same settings.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.adapters.auth.client_settings import Settings

    Connection = TypeVar("Connection")

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 16.0


class _Refusal(NamedTuple):
    message: str
    settings: Settings
    pause_s: float
    until: float  # monotonic


class Logins:
    """The logins of one process at one cluster. Threads may share it."""

    def __init__(self) -> None:
        self._has_worked = False
        self._refusal: _Refusal | None = None

    def attempt(self, settings: Settings, log_in: Callable[[Settings], Connection]) -> Connection:
        """Return what ``log_in`` returns.

        Raises ClusterUnavailable where logins worked before and this one is refused, or is not
        tried yet: settings that were just refused wait 1 s, then twice as long each time, up to
        16 s. Other settings are tried at once.
        """
        former = self._refusal
        if former is not None and former.settings is settings and time.monotonic() < former.until:
            raise ClusterUnavailable(former.message)
        try:
            connection = log_in(settings)
        except ClusterRejected as error:
            if not self._has_worked:
                raise
            self._refusal = _refused(str(error), settings, former)
            raise ClusterUnavailable(str(error)) from error
        self._has_worked, self._refusal = True, None
        return connection


def _refused(message: str, settings: Settings, former: _Refusal | None) -> _Refusal:
    pause_s = _FIRST_PAUSE_S
    if former is not None and former.settings is settings:
        pause_s = min(2 * former.pause_s, _LONGEST_PAUSE_S)
    return _Refusal(message, settings, pause_s, time.monotonic() + pause_s)
