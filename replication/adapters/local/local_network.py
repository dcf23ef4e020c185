"""Free ports of this machine, and whether a broker behind one is ready."""

from __future__ import annotations

import contextlib
import errno
import random
import socket
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from replication.adapters.local.broker_config import HOST
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from replication.adapters.local.broker_config import Node

_PORTS = range(20000, 32000)  # below the range from which systems give ports to clients


def free_ports(count: int) -> list[int]:
    """Return random free ports: two concurrent starts seldom get the same."""
    candidates = random.sample(_PORTS, len(_PORTS))
    free = (port for port in candidates if _is_free(port))
    return [next(free) for _ in range(count)]


def require_free(cluster: str, node: Node) -> None:
    """Raise EnvironmentProblem if one of the node's ports is in use."""
    for port in (node.port, node.controller_port):
        if not _is_free(port):
            raise EnvironmentProblem(
                f"starting broker {node.id} of cluster {cluster}: port {port} is in use by another "
                "program; end that program, or remove the cluster and start a new one"
            )


def brokers_seen_by(node: Node) -> set[int]:
    """Return the brokers that this one lists; none while it does not answer."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, node.port), timeout=1):
        client = AdminClient({"bootstrap.servers": node.address, "log_level": 0})
        with contextlib.suppress(KafkaException):
            return set(client.list_topics(timeout=5).brokers)
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
