"""Settings of a client, read again when a file that they come from has changed.

A password behind a placeholder, a key store, a trust store or the system's CA certificates may be
replaced while a flow runs. Whoever opens a connection asks ``read_now`` for the settings first; a
client that reads its settings once is made anew by ``RenewedClient``, which does so too where its
address led to another cluster meanwhile.
"""

from __future__ import annotations

import hashlib
import inspect
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from replication.adapters.auth.account import account_of
from replication.adapters.auth.logins import login_of
from replication.adapters.auth.reached_clusters import reached_by
from replication.config.file.providers import resolve_all
from replication.errors import ClusterRejected, ClusterUnavailable, ConfigError, LoginRejected

Settings = Mapping[str, Any]
Client = TypeVar("Client")
_Versions = tuple[tuple[int, int, int] | None, ...]
_LOOK_EVERY_S = 1.0
_STORES = ("ssl.truststore.location", "ssl.keystore.location")
_OF_A_LOGIN = ("bootstrap.servers", "security.protocol", "sasl.", "ssl.")


class _Read(dict[str, Any]):
    """Settings as they were read; ``login`` is equal where clients log in in the same way."""

    def __init__(self, settings: Mapping[str, Any], login: str) -> None:
        super().__init__(settings)
        self.login = login


class ClientSettings(Mapping[str, Any]):
    """What ``translate`` makes of Java client properties, as they were last read.

    Threads may share it. Raises ConfigError where the first reading fails; after that the former
    settings stay in use while a file cannot be read, and ``problem`` says why it cannot.
    """

    def __init__(
        self, java: Mapping[str, str], translate: Callable[[Mapping[str, str]], dict[str, Any]]
    ) -> None:
        self.java = dict(java)
        self._translate = translate
        self._lock = threading.Lock()
        self._look_at = 0.0  # monotonic
        self.problem = ""
        self._props = resolve_all(self.java)
        self._versions = _versions(self._props)
        self.account = account_of(self._props)
        self._read: Settings = self._translated(self._props, self._versions)

    def now(self) -> Settings:
        """Return the present settings: the same object until one of its sources has changed.

        The sources are looked at once a second: the driver asks several times in each.
        """
        with self._lock:
            if time.monotonic() < self._look_at:
                return self._read
            self._look_at = time.monotonic() + _LOOK_EVERY_S
            try:
                self._renew()
            except ConfigError as error:
                self.problem = (
                    f"the former settings stay in use, the present ones cannot be read: {error}"
                )
            else:
                self.problem = ""
            return self._read

    def _renew(self) -> None:
        props = resolve_all(self.java)
        versions = _versions(props)  # before the files are opened: a later change is seen
        if (props, versions) != (self._props, self._versions):
            self._read = self._translated(props, versions)
            self._props, self._versions = props, versions
            self.account = account_of(props)

    def _translated(self, props: Mapping[str, str], versions: _Versions) -> Settings:
        settings, login = self._translate(props), ""
        if props.get("security.protocol", "").strip().upper().startswith("SASL"):
            login = _login(props, versions)
        return _Read(settings, login)

    def __getitem__(self, key: str) -> Any:
        return self._read[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)


def read_now(settings: Settings) -> Settings:
    """Return the settings as of now; those that come from no file are what they are."""
    return settings.now() if isinstance(settings, ClientSettings) else settings


@contextmanager
def explained(settings: Settings) -> Iterator[None]:
    """Let an error about a login name the user, and file and line that say so.

    Every error of the cluster says too why former settings are still in use, if they are.
    """
    try:
        yield
    except (ClusterUnavailable, ClusterRejected) as error:
        if not isinstance(settings, ClientSettings):
            raise
        # No name for it: an error that a frame holds lives on, and with it the refused client.
        about = settings.account.about(
            error.__cause__ if isinstance(error.__cause__, LoginRejected) else error
        )
        problems = [f"{error} ({about})" if about else str(error), settings.problem]
        if problems == [str(error), ""]:
            raise
        raise type(error)("; ".join(filter(None, problems))) from error.__cause__


class RenewedClient(Generic[Client]):
    """A client that is made at its first use, and again when its settings have changed.

    It is also made again when its address led to another cluster: see ``reached_clusters``.

    ``make`` may be a method of the only holder. It does not keep the holder alive: both go, with
    the client's threads and connections, as soon as nobody has the holder any more. ``end`` is
    called with a client that a new one replaces. ``is_refused``, which does not keep the holder
    alive either, says whether a client's login is refused, where nobody may ask it for a while.
    Threads may share it: whoever got the former one may go on with it.
    """

    def __init__(
        self,
        settings: Settings,
        make: Callable[[Settings], Client],
        end: Callable[[Client], object] = lambda _: None,
        is_refused: Callable[[Client], bool] = lambda _: False,
    ) -> None:
        self._settings, self._end, self._is_refused = settings, end, is_refused
        self._make = weakref.WeakMethod(make) if inspect.ismethod(make) else lambda: make
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._made_of: Settings | None = None
        self._turns = 0  # of what its address leads to, as it was made

    def get(self) -> Client:
        """Return the client of the present settings.

        The former client stays while its successor's login is refused: it may still be logged in.
        Not if it may know another cluster's brokers.
        """
        now = read_now(self._settings)
        turns = reached_by(now).turns
        with self._lock:
            if turns != self._turns:
                self._close()
            if self._client is None or now is not self._made_of:
                try:
                    made = self._made(now)
                except ClusterRejected:
                    if self._client is None:
                        raise
                    return self._client
                self._close()
                self._client, self._made_of, self._turns = made, now, turns
                if login := login_of(now):
                    login.clients.add(self)
            return self._client

    @property
    def made(self) -> Client | None:
        """The client, if there is one."""
        return self._client

    def _made(self, settings: Settings) -> Client:
        make = self._make()
        if make is None:
            raise ReferenceError("the holder of this client is gone")
        return make(settings)

    @contextmanager
    def ended_by_refusal(self) -> Iterator[None]:
        """End a client whose login is refused: by itself it would try again several times a minute.

        The refusal counts for all clients of the process that log in in this way.
        """
        try:
            yield
        except LoginRejected as error:
            self.refused(error)
            raise

    def refused(self, error: LoginRejected) -> None:
        """End the client because of ``error``, if it is still there and its login is shared."""
        with self._lock:
            if self._client is None or self._made_of is None:
                return
            if login := login_of(self._made_of):
                login.refuse(error)
                self._close()

    def end_if_refused(self) -> None:
        """End the client if it was refused; not if it is being made or ended just now."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._client is not None and self._is_refused(self._client):
                self._close()
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the client; the next use makes another one."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        former, self._client = self._client, None
        if former is not None:
            self._end(former)


def _login(props: Mapping[str, str], versions: _Versions) -> str:
    """Return a digest of what a login depends on."""
    parts = sorted(each for each in props.items() if each[0].startswith(_OF_A_LOGIN))
    return hashlib.sha256(repr((parts, versions)).encode()).hexdigest()


def _versions(props: Mapping[str, str]) -> _Versions:
    """Return what tells the present content of the files that TLS needs from a later one."""
    if not props.get("security.protocol", "").strip().upper().endswith("SSL"):
        return ()
    named = [props[key].strip() for key in _STORES if props.get(key, "").strip()]
    return tuple(_version(each) for each in (*named, *_system_authorities()))


def _system_authorities() -> list[str]:
    paths = ssl.get_default_verify_paths()
    return [each for each in (paths.cafile, paths.capath) if each is not None]


def _version(path: str) -> tuple[int, int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None  # whoever reads it says that it is missing
    return found.st_ino, found.st_mtime_ns, found.st_size
