"""The server properties, logging and JVM options of a local broker."""

from __future__ import annotations

import base64
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.adapters.local import class_archive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HOST = "127.0.0.1"
# To standard output, which is the log file. A broker tries twenty times a second to reach one that
# is down, and would write each time that it cannot.
LOG4J2 = """status=ERROR
rootLogger.level=WARN
rootLogger.appenderRef.out.ref=OUT
logger.network.name=org.apache.kafka.clients.NetworkClient
logger.network.level=ERROR
appender.out.type=Console
appender.out.name=OUT
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c %m%n
"""


@dataclass(frozen=True, slots=True)
class Node:
    """One process that is broker and controller at once."""

    id: int
    port: int
    controller_port: int
    outside_port: int = 0  # of a second listener, for clients that come through a proxy; 0: none
    proxy_port: int = 0  # the port that is advertised to those clients

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"{HOST}:{self.port}"


def server_properties(
    node: Node, nodes: Sequence[Node], data: Path, overrides: Mapping[str, str]
) -> dict[str, str]:
    """Return a node's whole configuration; ``overrides`` win, {node} in them is its number."""
    return {
        **_listeners(node),
        **_quorum(node, nodes),
        **_internal_topics(len(nodes)),
        **_SMALL,
        "log.dirs": str(data),
        **{key: value.replace("{node}", str(node.id)) for key, value in overrides.items()},
    }


def _listeners(node: Node) -> dict[str, str]:
    """Return where the node listens. A listener with SASL or TLS is one more entry in each."""
    listeners = f"PLAINTEXT://{node.address},CONTROLLER://{HOST}:{node.controller_port}"
    advertised = f"PLAINTEXT://{node.address}"
    protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    if node.outside_port:
        listeners += f",OUTSIDE://{HOST}:{node.outside_port}"
        advertised += f",OUTSIDE://{HOST}:{node.proxy_port}"
        protocols += ",OUTSIDE:PLAINTEXT"
    return {
        "listeners": listeners,
        "advertised.listeners": advertised,
        "listener.security.protocol.map": protocols,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
    }


def _quorum(node: Node, nodes: Sequence[Node]) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.id),
        "controller.quorum.voters": ",".join(
            f"{each.id}@{HOST}:{each.controller_port}" for each in nodes
        ),
    }


def _internal_topics(brokers: int) -> dict[str, str]:
    replicas, in_sync = str(min(3, brokers)), str(min(2, brokers))
    return {
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.num.partitions": "1",
        "share.coordinator.state.topic.min.isr": in_sync,
        "auto.create.topics.enable": "false",
    }


# A broker for trying things out: few threads, small buffers, nearly idle when idle.
_SMALL = {
    "num.network.threads": "2",
    "num.io.threads": "4",
    "num.replica.fetchers": "1",
    "background.threads": "2",
    "log.cleaner.dedupe.buffer.size": str(8 << 20),  # the default is 128 MB of heap
    "log.cleaner.io.buffer.size": str(128 << 10),
    "log.retention.check.interval.ms": "300000",
    "metadata.max.idle.interval.ms": "5000",  # the default writes two records a second
    "broker.session.timeout.ms": "6000",  # how long a killed broker keeps its leaderships
    "group.initial.rebalance.delay.ms": "0",
}


def jvm_options(heap: str, *, quick: bool, archive: Path | None = None) -> list[str]:
    """Return the JVM's options. ``quick`` starts sooner and runs slower: not for measuring.

    ``archive`` holds classes that are ready to be used; it may be missing.
    """
    options = [f"-Xmx{heap}", "-Djava.awt.headless=true", "-XX:+ExitOnOutOfMemoryError"]
    if quick:
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
        options += ["-XX:-UsePerfData"]  # its sampler wakes twenty times a second
    if quick and archive is not None and archive.exists():
        options += class_archive.java_options(archive)
    return options


def as_properties(values: Mapping[str, str]) -> str:
    """Return the text of a Java properties file."""
    escaped = {
        key: value.replace("\\", "\\\\").replace("\n", "\\n") for key, value in values.items()
    }
    return "".join(f"{key}={value}\n" for key, value in escaped.items())


def new_id() -> str:
    """Return a random id of a directory or a cluster, as Kafka writes them."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def new_cluster_id() -> str:
    """Return an id that Kafka's format tool takes: not with a leading -, as options have it."""
    while (text := new_id()).startswith("-"):
        pass
    return text
