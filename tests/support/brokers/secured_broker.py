"""A broker with an authorizer, a SASL listener, and ACLs for its users."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.local_network import free_ports
from replication.client.acl_values import Acl, Resource

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from replication.adapters.local.broker_config import Node

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USERS = ("mirror", "driver")
PASSWORD = "hush-of-kafka-5b1e"  # noqa: S105 -- found nowhere else: tests look for it
_DENIALS = """
logger.denied.name=kafka.authorizer.logger
logger.denied.level=INFO
"""
_DENIAL = re.compile(
    r"Principal = User:(\S+) is Denied operation = (\w+) from host = \S+ on resource = (\S+)"
)


class TellingCluster(LocalCluster):
    """A cluster that writes into its log what it refuses."""

    tells = _DENIALS

    def _prepare(self, node: Node) -> None:
        super()._prepare(node)
        with (self._place(node.id) / "log4j2.properties").open("a") as file:
            file.write(self.tells)


class Guarded:
    """One broker. Who comes without a name, at ``everyone``, may do all; USERS log in."""

    def __init__(self, name: str, directory: Path) -> None:
        self.cluster = cluster = TellingCluster(name, directory)
        cluster._create()
        (node,) = cluster._nodes
        (port,) = free_ports(1)
        self.logins = f"127.0.0.1:{port}"
        listeners = f"PLAINTEXT://127.0.0.1:{node.port},SASL_PLAINTEXT://{self.logins}"
        cluster.properties = {
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "SASL_PLAINTEXT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": " ".join(
                (LOGIN, *(f'user_{each}="{PASSWORD}"' for each in USERS), ";")
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "log.retention.ms": "-1",
        }
        cluster.start()

    @property
    def refusals(self) -> list[tuple[str, str]]:
        """Who was refused what until now: ``("driver", "READ Topic:LITERAL:orders")``."""
        found = _DENIAL.findall(self.cluster.log(1).read_text(errors="replace"))
        return [(who, f"{what} {on}") for who, what, on in found]

    @property
    def everyone(self) -> str:
        return self.cluster.bootstrap_servers

    @property
    def admin(self) -> KafkaAdmin:
        return KafkaAdmin({"bootstrap.servers": self.everyone})

    def login(self, user: str = "mirror", password: str = PASSWORD) -> dict[str, str]:
        """Return Java properties of a client that logs in; ``password`` may be a placeholder."""
        return {
            "bootstrap.servers": self.logins,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{LOGIN} username="{user}" password="{password}";',
        }

    def allow_only(self, rights: Iterable[tuple[Resource, str]], user: str = "mirror") -> None:
        """Let ``user`` do this and no more; return when the broker knows."""
        who, admin = f"User:{user}", self.admin
        expected = {Acl(each, who, "*", operation) for each, operation in rights}
        found = {each for each in admin.acls() if each.principal == who}
        admin.delete_acls(found - expected)
        assert not admin.create_acls(expected - found)
        deadline = time.monotonic() + 60
        while {each for each in admin.acls() if each.principal == who} != expected:
            assert time.monotonic() < deadline, "the broker did not take the rights"
            time.sleep(0.05)
