"""Free ports of this machine, and whether a broker behind one is ready."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from replication.adapters.local.broker_config import HOST
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.adapters.local.broker_config import Node

_PORTS = range(20000, 32000)  # below the range from which systems give ports to clients


# By this process, with the descriptor of what reserves them, which it keeps until it ends: whoever
# got a port listens there only later.
_given: dict[int, int] = {}
_giving = threading.Lock()


def free_ports(count: int) -> list[int]:
    """Return random free ports, which no other process of this machine gets here either.

    Those of one process never come again, until it has given half of all.
    """
    with _giving:
        if len(_given) + count > len(_PORTS) // 2:
            for each in _given.values():
                os.close(each)
            _given.clear()
        candidates = random.sample(_PORTS, len(_PORTS))
        free = (port for port in candidates if port not in _given and _is_free(port))
        found = (port for port in free if _reserve(port))
        return [next(found) for _ in range(count)]


def _reserve(port: int) -> bool:
    """Reserve a port until this process ends; return whether no other process has done so.

    By a name in Linux' abstract namespace, which nobody has to remove; elsewhere none is reserved.
    """
    name = socket.socket(socket.AF_UNIX)
    if sys.platform == "linux":
        try:
            name.bind(f"\0isthmus-port-{port}")
        except OSError:
            name.close()
            return False
    _given[port] = name.detach()
    return True


def require_free(cluster: str, node: Node) -> None:
    """Raise EnvironmentProblem if one of the node's ports is in use."""
    for port in (node.port, node.controller_port):
        if not _is_free(port):
            raise EnvironmentProblem(
                f"starting broker {node.id} of cluster {cluster}: port {port} is in use by another "
                "program; end that program, or remove the cluster and start a new one"
            )


def brokers_seen(address: tuple[str, int], client: Mapping[str, Any]) -> set[int]:
    """Return the brokers that the one at ``address`` lists; none while it does not answer.

    ``client``: librdkafka's settings of who asks.
    """
    with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
        admin = AdminClient({**client, "log_level": 0})
        with contextlib.suppress(KafkaException):
            return set(admin.list_topics(timeout=5).brokers)
    return set()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the broker does
        try:
            probe.bind((HOST, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
    return True
