"""A broker with another listener, for tools that come over TLS; all else stays in plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.adapters.local.broker_config import HOST, server_properties
from replication.adapters.local.files import write_whole
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.local_network import free_ports
from replication.adapters.local_secured.authority import new_authority

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.adapters.local.broker_config import Node

_NAME = "TLS"


class TlsCluster(LocalCluster):
    """One broker. ``secured`` is where clients come over TLS, known before it starts."""

    secured: str = ""

    def settings(self, alias: str) -> dict[str, str]:
        """Return the lines of a tool's file with which it comes over TLS."""
        return {
            f"{alias}.bootstrap.servers": self.secured,
            f"{alias}.security.protocol": "SSL",
            f"{alias}.ssl.truststore.type": "PEM",
            f"{alias}.ssl.truststore.location": str(self.home / "authority.pem"),
        }

    def _create(self) -> None:
        super()._create()
        (port,) = free_ports(1)
        self.secured = f"{HOST}:{port}"
        who = new_authority(f"authority of {self.name}").issue("broker", (HOST,))
        write_whole(self.home / "authority.pem", who.authority_pem)
        write_whole(self.home / "broker.pem", who.key_pem() + who.chain_pem)

    def _overrides(self, node: Node) -> Mapping[str, str]:
        found = server_properties(node, self._nodes, self.home, self.properties)
        address = f"{_NAME}://{self.secured}"
        return {
            **self.properties,
            "listeners": f"{found['listeners']},{address}",
            "advertised.listeners": f"{found['advertised.listeners']},{address}",
            "listener.security.protocol.map": (
                f"{found['listener.security.protocol.map']},{_NAME}:SSL"
            ),
            "ssl.keystore.location": str(self.home / "broker.pem"),
            "ssl.keystore.type": "PEM",
        }
