"""A broker whose clients log in with SCRAM-SHA-512 over TLS, and the logins that it counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from replication.adapters.local.local_network import free_ports
from support.brokers.secured_broker import TellingCluster
from support.security.certificate_stores import (
    PASSWORD,
    Identity,
    identity,
    write_jks,
    write_pkcs12,
)

if TYPE_CHECKING:
    from pathlib import Path

USER = "mirror"
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_LOGIN = re.compile(r"Successfully (?:re-)?authenticated with ")
_REFUSED = re.compile(r"Failed (?:re-)?authentication with .* invalid credentials", re.IGNORECASE)
_TELLING = """
logger.logins.name=org.apache.kafka.common.network.Selector
logger.logins.level=DEBUG
"""


class SaslSslCluster(TellingCluster):
    """One broker. Whoever comes over plain text may do all; ``secured`` is where USER logs in."""

    tells = _TELLING

    def begin(self, session_ms: int = 0, who: Identity | None = None) -> SaslSslCluster:
        """Start it; a SASL session lasts ``session_ms``, 0: as long as its connection."""
        self._create()
        (node,) = self._nodes
        (port,) = free_ports(1)
        self.secured = f"localhost:{port}"
        self.who = who or identity()
        self.store = write_jks(self.home / "server.jks", self.who, trust=False)
        here = f"PLAINTEXT://127.0.0.1:{node.port},SASL_SSL"
        self.properties = {
            **self.properties,
            "listeners": f"{here}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": f"{here}://{self.secured}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "SASL_SSL:SASL_SSL",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{_MODULE};",
            "connections.max.reauth.ms": str(session_ms),
            "ssl.keystore.location": str(self.store),
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
            "log.retention.ms": "-1",
        }
        self.start()
        return self

    def renew_certificate(self, who: Identity) -> None:
        """Start again with another certificate; whoever was connected has to connect again."""
        self.who = who
        write_jks(self.store, who, trust=False)
        self.stop_broker(1)
        self.start_broker(1)

    def set_password(self, password: str) -> None:
        """Let USER log in with ``password``, and no longer with another one."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(USER, info, password.encode())
        admin.alter_user_scram_credentials([change])[USER].result(20)

    @property
    def logins(self) -> int:
        """How often somebody has logged in until now."""
        return len(_LOGIN.findall(self.log(1).read_text(errors="replace")))

    @property
    def refused_logins(self) -> int:
        """How often a login was refused until now."""
        return len(_REFUSED.findall(self.log(1).read_text(errors="replace")))

    def login(self, password: str, **stores: str) -> dict[str, str]:
        """Return Java properties of a client; ``password`` may be a placeholder."""
        return {
            "bootstrap.servers": self.secured,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{_MODULE} username="{USER}" password="{password}";',
            **stores,
        }


def trust_store(path: Path, who: Identity) -> dict[str, str]:
    """Write a trust store, JKS or PKCS12 by the name of ``path``; return Java properties."""
    kind = "PKCS12" if path.suffix == ".p12" else "JKS"
    if kind == "JKS":
        write_jks(path, who, trust=True)
    else:
        write_pkcs12(path, who, trust=True)
    return {
        "ssl.truststore.location": str(path),
        "ssl.truststore.password": PASSWORD,
        "ssl.truststore.type": kind,
    }
