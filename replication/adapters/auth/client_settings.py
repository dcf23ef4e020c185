"""Settings of a client, read again when a file that they come from has changed.

A password behind a placeholder, a key store, a trust store or the system's CA certificates may be
replaced while a flow runs. Whoever opens a connection asks ``read_now`` for the settings first; a
client that reads its settings once is made anew by ``RenewedClient``.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from replication.config.file.providers import resolve_all
from replication.errors import ClusterRejected, ClusterUnavailable, ConfigError

Settings = Mapping[str, Any]
Client = TypeVar("Client")
_LOOK_EVERY_S = 1.0
_STORES = ("ssl.truststore.location", "ssl.keystore.location")


class ClientSettings(Mapping[str, Any]):
    """What ``translate`` makes of Java client properties, as they were last read.

    Threads may share it. Raises ConfigError where the first reading fails; after that the former
    settings stay in use while a file cannot be read, and ``problem`` says why it cannot.
    """

    def __init__(
        self, java: Mapping[str, str], translate: Callable[[Mapping[str, str]], dict[str, Any]]
    ) -> None:
        self._java = dict(java)
        self._translate = translate
        self._lock = threading.Lock()
        self._look_at = 0.0  # monotonic
        self.problem = ""
        self._props = resolve_all(self._java)
        self._versions = _versions(self._props)
        self._read: Settings = translate(self._props)

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
                self.problem = f"the settings cannot be read again: {error}"
            else:
                self.problem = ""
            return self._read

    def _renew(self) -> None:
        props = resolve_all(self._java)
        versions = _versions(props)  # before the files are opened: a later change is seen
        if (props, versions) != (self._props, self._versions):
            self._read = self._translate(props)
            self._props, self._versions = props, versions

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
    """Let an error of the cluster say too why former settings are still in use, if they are."""
    try:
        yield
    except (ClusterUnavailable, ClusterRejected) as error:
        if not isinstance(settings, ClientSettings) or not settings.problem:
            raise
        raise type(error)(f"{error}; {settings.problem}") from error.__cause__


class RenewedClient(Generic[Client]):
    """A client that is made at its first use, and again when its settings have changed.

    ``end`` is called with a client that a new one replaces. Threads may share it: whoever got the
    former one may go on with it.
    """

    def __init__(
        self,
        settings: Settings,
        make: Callable[[Settings], Client],
        end: Callable[[Client], object] = lambda _: None,
    ) -> None:
        self._settings, self._make, self._end = settings, make, end
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._made_of: Settings | None = None

    def get(self) -> Client:
        """Return the client of the present settings."""
        now = read_now(self._settings)
        with self._lock:
            if self._client is None or now is not self._made_of:
                made = self._make(now)
                self._close()
                self._client, self._made_of = made, now
            return self._client

    def close(self) -> None:
        """End the client; the next use makes another one."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        former, self._client = self._client, None
        if former is not None:
            self._end(former)


def _versions(props: Mapping[str, str]) -> tuple[tuple[int, int, int] | None, ...]:
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
