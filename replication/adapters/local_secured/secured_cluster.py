"""A cluster on this machine whose clients log in, and its files.

Beside those of ``LocalCluster``::

    <directory>/<name>/security/authority.pem, *.jks, *.p12, *.pem     certificates and their keys
    <directory>/<name>/security/secrets.properties                     passwords of users and stores
    <directory>/<name>/security/<user>.properties                      for the tools of Kafka
    <directory>/<name>/token-server.pid                                of the token end-point
"""

from __future__ import annotations

import json
import secrets
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.local import processes
from replication.adapters.local.broker_config import HOST, as_properties
from replication.adapters.local.files import make_private, write_whole
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.local_network import brokers_seen, free_ports
from replication.adapters.local_secured.authority import new_authority
from replication.adapters.local_secured.listeners import (
    ADMIN,
    BROKER,
    Security,
    ServerFiles,
    secured_listeners,
    system_properties,
)
from replication.adapters.local_secured.login import TRUST_STORE, login, principal
from replication.adapters.local_secured.secret_file import (
    PROVIDERS,
    STORES,
    read_secrets,
    write_secrets,
)
from replication.adapters.local_secured.store_files import TYPES, write_key_store, write_trust_store
from replication.adapters.local_secured.token_server import TOKEN_KEY
from replication.adapters.local_secured.tokens import new_token_key
from replication.adapters.local_secured.users import allow_only, set_passwords
from replication.config.file.providers import resolve_all
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from replication.adapters.local.broker_config import Node
    from replication.adapters.local_secured.users import Right

USER = "isthmus"  # with only the rights that ``isthmus acls needed`` prints
_KEY_SET = "token-keys.json"
_READY_S, _TOKENS_STOP_S = 30.0, 2.0


@dataclass(slots=True)
class SecuredCluster(LocalCluster):
    """A cluster that nobody enters without a login. ``users`` log in, and may do nothing at first.

    ``passwords``: secrets of users, and of the stores (``STORES``), at the first start; those that
    are missing are drawn.
    """

    KEPT: ClassVar[tuple[str, ...]] = (
        *LocalCluster.KEPT,
        *("security", "users", "admin_ports", "token_port", "token_life_s"),
    )
    security: Security = Security.SASL_SSL
    users: Sequence[str] = (USER,)
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    admin_ports: Sequence[int] = ()
    token_port: int = 0
    token_life_s: float = 300.0

    def __post_init__(self) -> None:
        self.security = Security(self.security)  # as text in cluster.json

    @property
    def folder(self) -> Path:
        """Where stores and secrets are."""
        return self.home / "security"

    @property
    def admin(self) -> dict[str, str]:
        """Java properties of an administrator, who may do all."""
        servers = ",".join(f"{HOST}:{port}" for port in self.admin_ports)
        found = login(Security.MTLS, ADMIN, self.folder)
        return {"bootstrap.servers": servers, **found, **PROVIDERS}

    @property
    def admin_file(self) -> Path:
        """Java properties of the administrator with all secrets, for tools."""
        return self.folder / f"{ADMIN}.properties"

    def login(self, user: str = USER) -> dict[str, str]:
        """Return Java properties of a user, but for the provider of its placeholders."""
        url = f"http://{HOST}:{self.token_port}/token"
        found = login(self.security, user, self.folder, url)
        return {"bootstrap.servers": self.bootstrap_servers, **found}

    def allow_only(self, rights: Iterable[Right], user: str = USER) -> None:
        """Let ``user`` do this and no more. Raises EnvironmentProblem, ClusterUnavailable."""
        allow_only(self.admin, principal(self.security, user), rights)

    def set_password(self, user: str, password: str) -> None:
        """Replace a user's secret, on the brokers and in the file. Raises EnvironmentProblem."""
        if self.security is Security.SASL_SSL:
            set_passwords(self.admin, {user: password})
        write_secrets(self.folder, {**read_secrets(self.folder), user: password})

    def start(self) -> None:
        """Start what does not run; return when every user can log in.

        Raises EnvironmentProblem, as for a cluster without logins.
        """
        is_new = not self._nodes
        LocalCluster.start(self)
        if self.security is Security.OAUTH:
            self.start_tokens()
        if is_new:
            self._introduce_users()
        self._await_logins()

    def stop(self, grace_s: float = 10.0) -> None:
        """End all brokers and the token end-point. Data stays."""
        LocalCluster.stop(self, grace_s)
        self.stop_tokens()

    def stop_tokens(self) -> None:
        """End the token end-point."""
        if server := processes.recall(self._token_pid):
            server.stop(_TOKENS_STOP_S)

    def destroy(self) -> None:
        """Kill all brokers and the token end-point, and remove their data."""
        self.stop_tokens()
        LocalCluster.destroy(self)

    def _create(self) -> None:
        self.admin_ports, (self.token_port,) = free_ports(self.brokers), free_ports(1)
        LocalCluster._create(self)
        make_private(self.folder)
        names = [*self.users, STORES]
        drawn = {each: secrets.token_urlsafe(18) for each in names}
        write_secrets(self.folder, {**drawn, **self.passwords})
        self._issue()
        key = new_token_key()
        write_whole(self.folder / TOKEN_KEY, key.pem())
        write_whole(self.folder / _KEY_SET, key.key_set())

    def _issue(self) -> None:
        """Issue all certificates and write the stores."""
        authority = new_authority(f"authority of {self.name}")
        password = read_secrets(self.folder)[STORES]
        write_whole(self.folder / "authority.pem", authority.pem())
        for suffix in TYPES:
            file = self.folder / f"{TRUST_STORE}{suffix}"
            write_trust_store(file, authority.certificate, password)
        broker = authority.issue(BROKER, ("localhost", HOST))
        write_whole(self.folder / f"{BROKER}.pem", broker.key_pem() + broker.chain_pem)
        for each in (ADMIN, *self.users):
            who = authority.issue(each)
            for suffix in TYPES:
                write_key_store(self.folder / f"{each}{suffix}", who, password)

    @property
    def _files(self) -> ServerFiles:
        names = f"{BROKER}.pem", f"{TRUST_STORE}.pem", _KEY_SET
        return ServerFiles(*(self.folder / each for each in names))

    def _overrides(self, node: Node) -> Mapping[str, str]:
        port = self.admin_ports[node.id - 1]
        return {**secured_listeners(self.security, node, port, self._files), **self.properties}

    def _system_properties(self) -> Mapping[str, str]:
        return system_properties(self.security, self._files)

    def _seen_by(self, node: Node) -> set[int]:
        address = HOST, self.admin_ports[node.id - 1]
        return brokers_seen(address, to_librdkafka(self.admin))

    def _introduce_users(self) -> None:
        """Let users log in, and write what Kafka's tools log in with."""
        known = read_secrets(self.folder)
        if self.security is Security.SASL_SSL:
            set_passwords(self.admin, {each: known[each] for each in self.users})
        logins = {each: {**self.login(each), **PROVIDERS} for each in self.users}
        for user, found in {**logins, ADMIN: self.admin}.items():
            write_whole(self.folder / f"{user}.properties", as_properties(resolve_all(found)))

    def _await_logins(self) -> None:
        """Wait until the brokers know all users."""
        for user in self.users:
            client = AdminClient(
                {**to_librdkafka({**self.login(user), **PROVIDERS}), "log_level": 0}
            )
            deadline = time.monotonic() + _READY_S
            while (problem := _refusal(client)) is not None:
                if time.monotonic() > deadline:
                    raise EnvironmentProblem(
                        f"user {user} cannot log in at cluster {self.name}: {problem}; "
                        f"see {self.log(1)}"
                    )

    @property
    def _token_pid(self) -> Path:
        return self.home / "token-server.pid"

    def start_tokens(self) -> None:
        """Start the token end-point unless it runs. Raises EnvironmentProblem."""
        if processes.recall(self._token_pid):
            return
        command = [
            *(sys.executable, "-m", "replication.adapters.local_secured.token_server"),
            *(str(self.folder), str(self.token_port), str(self.token_life_s)),
        ]
        server = processes.spawn(command, self.home / "token-server.log")
        processes.remember(server, self._token_pid)
        deadline = time.monotonic() + _READY_S
        while server.alive() and time.monotonic() < deadline:
            try:
                socket.create_connection((HOST, self.token_port), 1.0).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise EnvironmentProblem(
            f"starting the token end-point of cluster {self.name} at {HOST}:{self.token_port}: "
            f"no answer; see {self.home / 'token-server.log'}"
        )


def _refusal(client: AdminClient) -> str | None:
    """Return why a client gets no answer within two seconds; None: it gets one."""
    try:
        client.list_topics(timeout=2)
    except KafkaException as error:
        reason: str = error.args[0].str()
        return reason
    return None


def stored_cluster(name: str, directory: Path) -> LocalCluster:
    """Return a cluster that was started before, with or without logins.

    Raises FileNotFoundError.
    """
    saved = json.loads((directory / name / "cluster.json").read_text())
    kind = SecuredCluster if "security" in saved["options"] else LocalCluster
    return kind.load(name, directory)


def stored_clusters(directory: Path) -> list[LocalCluster]:
    """Return the clusters that were started in ``directory``, by name."""
    found = sorted(directory.glob("*/cluster.json"))
    return [stored_cluster(file.parent.name, directory) for file in found]
