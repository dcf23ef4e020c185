"""Logs in once before a client of librdkafka is made.

Such a client tries a refused login again by itself, seven times in the 10 s that a call waits.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from replication.adapters.auth.client_config import to_kafka_python
from replication.adapters.auth.client_settings import ClientSettings, read_now
from replication.adapters.auth.logins import login_of
from replication.adapters.wire.connection.broker_address import split_address
from replication.adapters.wire.connection.open_connection import open_connection
from replication.errors import ClusterUnavailable, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMIT_S = 5.0  # for all bootstrap addresses


def require_login(client: Mapping[str, Any]) -> None:
    """Raise ClusterRejected where the cluster refuses the login of ``client``, or just did.

    Does nothing where it worked before in this process, or where nobody answers.
    """
    login = login_of(read_now(client))
    if login is None or login.works or not isinstance(client, ClientSettings):
        return
    java = client.java
    with suppress(ClusterUnavailable, ConfigError):  # the client says why
        login.attempt(lambda: None if login.works else _log_in(java))


def _log_in(java: Mapping[str, str]) -> None:
    """Log in at the first bootstrap address that answers."""
    settings, deadline = to_kafka_python(java).now(), time.monotonic() + _LIMIT_S
    problem = ClusterUnavailable("no broker is reachable")
    for host, port in map(split_address, settings["bootstrap_servers"]):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            break
        try:
            open_connection(host, port, settings, left_s).sock.close()
        except ClusterUnavailable as error:
            problem = error
        else:
            return
    raise problem
