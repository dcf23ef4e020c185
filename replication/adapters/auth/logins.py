"""After a refused login at a cluster: whether another one may work, and when it is tried.

Brokers may lock a user whose logins fail, and a driver has many clients. So all clients of a
process that log in at a cluster in the same way share a ``Login``: after a refusal one of them
tries again after a pause, and the others get the reason at once. Another password, token or
file makes another ``Login``, which is tried at once.

A password may also be changed on the brokers before the file that a client reads it from. So once
a login has worked, a refusal is a state that passes.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from replication.errors import ClusterRejected, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Settings = Mapping[str, Any]
    Connection = TypeVar("Connection")

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 16.0  # after a login that worked
_LONGEST_FIRST_PAUSE_S = 60.0  # before any has
_OTHERS_WAIT_S = 2.0  # for the outcome of the first attempt


class _Refusal(NamedTuple):
    kind: type[ClusterRejected]
    message: str  # an error would keep the client alive that met it
    pause_s: float
    until: float  # monotonic
    stands: bool = True  # no login has worked since


class Watched(Protocol):
    """A client that tries again by itself, and that perhaps nobody asks just now."""

    def end_if_refused(self) -> None:
        """End it if it was refused too."""


class Login:
    """One way to log in at one cluster. Threads may share it."""

    def __init__(self) -> None:
        self.has_worked = False
        self._refusal: _Refusal | None = None
        self._lock = threading.Lock()
        self._first = threading.Lock()  # held by the attempt that others wait for
        self.clients: weakref.WeakSet[Watched] = weakref.WeakSet()  # of librdkafka

    @property
    def works(self) -> bool:
        """Say whether it has worked and was not refused since."""
        return self.has_worked and (self._refusal is None or not self._refusal.stands)

    def attempt(self, log_in: Callable[[], Connection], *, passes: bool = False) -> Connection:
        """Return what ``log_in`` returns. Raises what it raised, at once where it is too early.

        After a refusal nobody tries for 1 s, then twice as long each time: up to 16 s where it
        ``passes`` or the login has worked before, else up to 60 s. While no outcome is known, one
        thread tries and the others wait for it, for at most 2 s.
        """
        waits = not self.has_worked and self._first.acquire(timeout=_OTHERS_WAIT_S)
        try:
            self._begin()
            try:
                connection = log_in()
            except ClusterRejected as error:
                self.refuse(error, passes=passes)
                raise
            with self._lock:
                self.has_worked = True
                if self._refusal is not None:
                    self._refusal = self._refusal._replace(stands=False)
            return connection
        finally:
            if waits:
                self._first.release()

    def refuse(self, error: ClusterRejected, *, passes: bool = False) -> None:
        """Note that the cluster refuses this login; one of its brokers may, and others not."""
        longest_s = _LONGEST_PAUSE_S if passes or self.has_worked else _LONGEST_FIRST_PAUSE_S
        with self._lock:
            former, now, pause_s = self._refusal, time.monotonic(), _FIRST_PAUSE_S
            if former is not None and (former.stands or now < former.until + longest_s):
                pause_s = min(2 * former.pause_s, longest_s)
            self._refusal = _Refusal(type(error), str(error), pause_s, now + pause_s)
        self._end_refused()

    def _begin(self) -> None:
        """Claim the next attempt; raise the former refusal where it is too early for one."""
        with self._lock:
            former, now = self._refusal, time.monotonic()
            if former is None or not former.stands:
                return
            too_early = now < former.until
            if not too_early:
                self._refusal = former._replace(until=now + former.pause_s)
        if too_early:
            self._end_refused()
            raise former.kind(former.message)

    def _end_refused(self) -> None:
        for each in list(self.clients):
            each.end_if_refused()


_LOGINS: dict[str, Login] = {}  # of this process


def login_of(settings: Settings) -> Login | None:
    """Return the login that the process shares; None: nothing is known of the settings' origin."""
    key = getattr(settings, "login", "")
    return _LOGINS.setdefault(key, Login()) if key else None


class Logins:
    """The logins of one client at one cluster, whose settings may change. Threads may share it."""

    def __init__(self) -> None:
        self._has_worked = False
        self._own: tuple[Settings | None, Login] = None, Login()

    def attempt(self, settings: Settings, log_in: Callable[[Settings], Connection]) -> Connection:
        """Return what ``log_in`` returns, with the pauses of ``Login.attempt``.

        Raises ClusterUnavailable where logins worked before and this one is refused, or is not
        tried yet. Other settings are tried at once.
        """
        login = login_of(settings) or self._of_these(settings)
        try:
            connection = login.attempt(lambda: log_in(settings), passes=self._has_worked)
        except ClusterRejected as error:
            if not self._has_worked:
                raise
            raise ClusterUnavailable(str(error)) from error
        self._has_worked = True
        return connection

    def _of_these(self, settings: Settings) -> Login:
        if self._own[0] is not settings:
            self._own = settings, Login()
        return self._own[1]
