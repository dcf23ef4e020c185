"""A broker with an authorizer, a listener at which users log in, and rights for them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from replication.acls import Acl, Resource
from replication.adapters.kafka_admin import KafkaAdmin
from replication.adapters.local_kafka import LocalCluster
from replication.adapters.local_network import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
MIRROR = "User:mirror"


class Guarded:
    """One broker. Who comes without a name, at ``everyone``, may do all; ``mirror`` logs in."""

    def __init__(self, name: str, directory: Path) -> None:
        self.cluster = cluster = LocalCluster(name, directory)
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
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{LOGIN} user_mirror="secret";',
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "log.retention.ms": "-1",
        }
        cluster.start()

    @property
    def everyone(self) -> str:
        return self.cluster.bootstrap_servers

    @property
    def admin(self) -> KafkaAdmin:
        return KafkaAdmin({"bootstrap.servers": self.everyone})

    @property
    def as_mirror(self) -> dict[str, str]:
        """Java properties of a client that logs in."""
        return {
            "bootstrap.servers": self.logins,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{LOGIN} username="mirror" password="secret";',
        }

    def allow_only(self, rights: Iterable[tuple[Resource, str]]) -> None:
        """Let ``mirror`` do this and no more; return when the broker knows."""
        admin, wanted = (
            self.admin,
            {Acl(each, MIRROR, "*", operation) for each, operation in rights},
        )
        found = {each for each in admin.acls() if each.principal == MIRROR}
        admin.delete_acls(found - wanted)
        assert not admin.create_acls(wanted - found)
        deadline = time.monotonic() + 10
        while {each for each in admin.acls() if each.principal == MIRROR} != wanted:
            assert time.monotonic() < deadline, "the broker did not take the rights"
            time.sleep(0.05)
