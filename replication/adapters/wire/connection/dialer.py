"""Opens connections in threads, each with the settings of that moment.

Passwords, certificates and addresses may have changed since the process started.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from replication.adapters.auth.client_settings import explained, read_now
from replication.adapters.auth.logins import Logins
from replication.adapters.wire.connection.open_connection import OpenConnection, open_connection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

_Found = TypeVar("_Found")
_DIAL_S = 10.0


class Dialer:
    """Connects one client to brokers and logs it in."""

    def __init__(self, config: Mapping[str, Any], client_id: str) -> None:
        self._config = config
        self._client_id = client_id
        self._logins = Logins()
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="dial")

    async def settings(self) -> Mapping[str, Any]:
        """Return the settings as they are now."""
        return await self._in_thread(read_now, self._config)

    async def open(self, config: Mapping[str, Any], host: str, port: int) -> OpenConnection:
        """Connect and log in with these settings."""

        def log_in(present: Mapping[str, Any]) -> OpenConnection:
            settings = {**present, "client_id": self._client_id}
            return open_connection(host, port, settings, _DIAL_S)

        with explained(self._config):
            return await self._in_thread(self._logins.attempt, config, log_in)

    def close(self) -> None:
        """Begin no other connection."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, work: Callable[..., _Found], *arguments: Any) -> _Found:
        running = self._threads.submit(work, *arguments)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            running.add_done_callback(_close_unused)  # the thread still runs
            raise


def _close_unused(running: Future[Any]) -> None:
    """Close a connection whose caller was cancelled."""
    if running.cancelled() or running.exception() is not None:
        return
    if isinstance(opened := running.result(), OpenConnection):
        opened.sock.close()
