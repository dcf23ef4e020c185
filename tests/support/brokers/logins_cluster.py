"""A broker with a listener for each way to log in, and for each certificate that is refused."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka.admin import ScramMechanism

from replication.adapters.local.broker_config import HOST
from replication.adapters.local.files import write_whole
from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import kafka_jars
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.local_network import free_ports
from replication.adapters.local_secured.authority import authority_of, new_authority
from replication.adapters.local_secured.listeners import (
    MODULES,
    OAUTH_MODULE,
    SCRAM_MODULE,
    Security,
)
from replication.adapters.local_secured.login import login
from replication.adapters.local_secured.secret_file import PROVIDERS, STORES, read_secrets
from replication.adapters.local_secured.secured_cluster import SecuredCluster
from replication.adapters.local_secured.store_files import TYPES, write_key_store, write_trust_store
from replication.adapters.local_secured.users import set_passwords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.adapters.local.broker_config import Node

USER = "mirror"
PLAIN_MODULE = f"{MODULES}.plain.PlainLoginModule"
PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")  # mechanisms with a user and a password
MECHANISMS = (*PASSWORDS, "OAUTHBEARER")
# Listeners beside that of the cluster's users, by their protocols; the last ones show a certificate
# that clients have to refuse.
LISTENERS = {
    "OPEN": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "IAM": "SASL_SSL",
    "EXPIRED": "SSL",
    "FOREIGN": "SSL",
    "ELSEWHERE": "SSL",
}
_HOUR = dt.timedelta(hours=1)
# The IAM user of a listener that takes tokens as MSK does, and one that signs with another secret.
IAM_MODULE = "software.amazon.msk.auth.iam.IAMLoginModule"
IAM_REGION = "eu-west-1"
_ACCESS_KEY, _IAM_SECRET = "AKIDOFMIRROR", "secret/of+mirror"
IAM_CLASS = Path(__file__).parents[2] / "java" / "IamTokens.java"


def iam_files(folder: Path) -> dict[str, str]:
    """Write AWS' own files with two profiles; return the variables that lead to them."""
    file = folder / "aws"
    file.write_text(
        "".join(
            f"[profile {user}]\nregion = {IAM_REGION}\naws_access_key_id = {_ACCESS_KEY}\n"
            f"aws_secret_access_key = {secret}\n"
            for user, secret in ((USER, _IAM_SECRET), ("nobody", "another"))
        )
    )
    return {"AWS_CONFIG_FILE": str(file), "AWS_EC2_METADATA_DISABLED": "true"}


class LoginsCluster(SecuredCluster):
    """Who comes without a name may do all; so may ``USER``."""

    @classmethod
    def begin(cls, name: str, directory: Path) -> LoginsCluster:
        """Start one."""
        made = cls(name, directory, security=Security.OAUTH, users=(USER,))
        made.properties = {
            "log.retention.ms": "-1",
            "connections.max.reauth.ms": "3600000",
            "sasl.oauthbearer.clock.skew.seconds": "0",
        }
        made.start()
        for each in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            set_passwords(made.admin, {USER: made.secret}, each)
        return made

    @property
    def secret(self) -> str:
        return read_secrets(self.folder)[USER]

    @property
    def bootstrap_servers(self) -> str:
        """Where who comes without a name begins."""
        return self.at("OPEN")

    def login(self, user: str = USER) -> dict[str, str]:
        return self.java("SASL_SSL", "OAUTHBEARER", user=user)

    @contextmanager
    def issuing_expired_tokens(self) -> Iterator[None]:
        """Let the token end-point issue tokens that ended a minute ago, while the block runs."""
        life_s = self.token_life_s
        self.serve_tokens(-60.0)
        try:
            yield
        finally:
            self.serve_tokens(life_s)

    def serve_tokens(self, life_s: float) -> None:
        """Let tokens live so long from now on; a session ends with its token."""
        self.stop_tokens()
        self.token_life_s = life_s
        self.start_tokens()

    def at(self, listener: str) -> str:
        """Return the address of one of ``LISTENERS``, or of ``CLIENTS``."""
        if listener == "KEYLESS":  # for who comes to MUTUAL without a key
            listener = "MUTUAL"
        port = self._nodes[0].port if listener == "CLIENTS" else self._ports[listener]
        return f"{HOST}:{port}"

    def java(self, protocol: str, mechanism: str = "", **more: str) -> dict[str, str]:
        """Return Java properties; ``more``: another ``listener``, ``user`` or ``password``."""
        listener = {"SASL_SSL": "CLIENTS", "SASL_PLAINTEXT": "SASL", "SSL": "TLS"}.get(protocol)
        found = {
            "bootstrap.servers": self.at(more.get("listener") or listener or "OPEN"),
            "security.protocol": protocol,
        }
        if protocol.endswith("SSL"):
            found |= _only("ssl.", login(Security.MTLS, USER, self.folder))
        if more.get("listener") != "MUTUAL":
            found = {key: each for key, each in found.items() if "keystore" not in key}
        if mechanism:
            found |= {"sasl.mechanism": mechanism, **self._sasl(mechanism, **more)}
        if more.get("listener") == "IAM" and mechanism == "OAUTHBEARER":
            found |= {
                "sasl.jaas.config": f'{OAUTH_MODULE} required awsProfileName="{USER}";',
                "sasl.login.callback.handler.class": (
                    "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
                ),
            }
        return {**found, **PROVIDERS}

    def _sasl(self, mechanism: str, *, user: str = USER, password: str = "", **_: str):
        secret = password or self.secret
        if mechanism == "OAUTHBEARER":
            found = login(
                Security.OAUTH, USER, self.folder, f"http://{HOST}:{self.token_port}/token"
            )
            line = f'{OAUTH_MODULE} required clientId="{user}" clientSecret="{secret}";'
            return {**_only("sasl.", found), "sasl.jaas.config": line}
        if mechanism == "AWS_MSK_IAM":
            return {"sasl.jaas.config": f'{IAM_MODULE} required awsProfileName="{user}";'}
        module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
        return {"sasl.jaas.config": f'{module} required username="{user}" password="{secret}";'}

    def renew_client_key(self) -> None:
        """Give USER a key of another authority, and trust no client whose key is of a former one.

        The broker starts again: whoever was connected has to connect again.
        """
        authority, password = new_authority("of clients"), read_secrets(self.folder)[STORES]
        write_trust_store(self.folder / "clients.pem", authority.certificate, password)
        for suffix in TYPES:
            write_key_store(self.folder / f"{USER}{suffix}", authority.issue(USER), password)
        self.stop_broker(1)
        self.start_broker(1)

    def _create(self) -> None:
        compiler = (str(java()), "-m", "jdk.compiler/com.sun.tools.javac.Main")
        jars = os.pathsep.join(map(str, kafka_jars(self.version).glob("*.jar")))
        subprocess.run([*compiler, "-cp", jars, "-d", self.home, IAM_CLASS], check=True)
        self._ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
        SecuredCluster._create(self)

    def _issue(self) -> None:
        SecuredCluster._issue(self)
        authority = authority_of((self.folder / "authority.pem").read_text())
        write_trust_store(self.folder / "clients.pem", authority.certificate, "")
        ended = dt.datetime.now(dt.UTC) - _HOUR
        for listener, who in {
            "EXPIRED": authority.issue("expired", (HOST,), until=ended),
            "FOREIGN": new_authority("somebody else").issue("foreign", (HOST,)),
            "ELSEWHERE": authority.issue("elsewhere", ("elsewhere.example",)),
        }.items():
            write_whole(self.folder / f"{listener}.pem", who.key_pem() + who.chain_pem)

    def _command(self, node: Node) -> list[str]:
        command = LocalCluster._command(self, node)
        command[command.index("-cp") + 1] += f":{self.home}"
        return command

    def _overrides(self, node: Node) -> Mapping[str, str]:
        found = dict(SecuredCluster._overrides(self, node))
        for name, protocol in LISTENERS.items():
            address = f",{name}://{HOST}:{self._ports[name]}"
            found["listeners"] += address
            found["advertised.listeners"] += address
            found["listener.security.protocol.map"] += f",{name}:{protocol}"
            start = f"listener.name.{name.lower()}"
            if (key := self.folder / f"{name}.pem").exists():
                found[f"{start}.ssl.keystore.location"] = str(key)
                found[f"{start}.ssl.keystore.type"] = "PEM"
            if name == "MUTUAL":
                found[f"{start}.ssl.client.auth"] = "required"
                found[f"{start}.ssl.truststore.location"] = str(self.folder / "clients.pem")
                found[f"{start}.ssl.truststore.type"] = "PEM"
        found["super.users"] += f";User:{USER};User:ANONYMOUS;User:{_ACCESS_KEY}"
        found["sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
        return {**found, **self._mechanisms(found)}

    def _mechanisms(self, found: Mapping[str, str]) -> dict[str, str]:
        """Return the server's side of all mechanisms, on both listeners that have them."""
        oauth = "listener.name.clients.oauthbearer."
        checked = {key.removeprefix(oauth): each for key, each in found.items() if oauth in key}
        mechanisms = {}
        mechanisms["listener.name.iam.sasl.enabled.mechanisms"] = "OAUTHBEARER"
        iam = "listener.name.iam.oauthbearer.sasl"
        mechanisms[f"{iam}.server.callback.handler.class"] = IAM_CLASS.stem
        mechanisms[f"{iam}.jaas.config"] = (
            f'{OAUTH_MODULE} required region="{IAM_REGION}" key_{_ACCESS_KEY}="{_IAM_SECRET}" '
            'unsecuredLoginStringClaim_sub="broker";'  # its own login, which it never uses
        )
        for start in ("listener.name.clients", "listener.name.sasl"):
            plain = f'{PLAIN_MODULE} required user_{USER}="{self.secret}";'
            mechanisms[f"{start}.plain.sasl.jaas.config"] = plain
            for each in ("scram-sha-256", "scram-sha-512"):
                mechanisms[f"{start}.{each}.sasl.jaas.config"] = f"{SCRAM_MODULE} required;"
            mechanisms |= {f"{start}.oauthbearer.{key}": each for key, each in checked.items()}
        return mechanisms


def _only(start: str, properties: Mapping[str, str]) -> dict[str, str]:
    return {key: each for key, each in properties.items() if key.startswith(start)}
