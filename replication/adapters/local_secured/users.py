"""Users and their ACLs on a cluster, set over the connection of its administrator."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.client.acl_values import ANY, Acl
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replication.client.acl_values import Resource

_LIMIT_S, _LOOK_S = 20.0, 0.05
_ROUNDS = 4096
Right = tuple["Resource", str]  # what, and the operation on it


def set_passwords(
    admin: Mapping[str, str],
    passwords: Mapping[str, str],
    mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_512,
) -> None:
    """Let users log in with SCRAM and these passwords, and with no other ones.

    ``admin``: Java properties of the administrator. Raises EnvironmentProblem.
    """
    info = ScramCredentialInfo(mechanism, _ROUNDS)
    changes: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user, info, password.encode())
        for user, password in passwords.items()
    ]
    client = AdminClient({**to_librdkafka(admin), "log_level": 0})  # its answers end with it
    answers = client.alter_user_scram_credentials(changes)
    for user, answer in answers.items():
        try:
            answer.result(_LIMIT_S)
        except KafkaException as error:
            raise EnvironmentProblem(
                f"setting the password of user {user}: {error.args[0].str()}"
            ) from error


def allow_only(admin: Mapping[str, str], principal: str, rights: Iterable[Right]) -> None:
    """Let ``principal`` do this and no more; return when a broker knows it.

    ``admin``: Java properties of the administrator. Raises EnvironmentProblem, ClusterUnavailable.
    """
    client = KafkaAdmin(to_librdkafka(admin))
    acls = {Acl(resource, principal, ANY, operation) for resource, operation in rights}
    found = _of(client, principal)
    refused = {**client.delete_acls(found - acls), **client.create_acls(acls - found)}
    if refused:
        raise EnvironmentProblem(f"setting the ACLs of {principal}: {next(iter(refused.values()))}")
    deadline = time.monotonic() + _LIMIT_S
    while _of(client, principal) != acls:
        if time.monotonic() > deadline:
            raise EnvironmentProblem(
                f"setting the ACLs of {principal}: not known to the broker after {_LIMIT_S:g} s"
            )
        time.sleep(_LOOK_S)


def _of(client: KafkaAdmin, principal: str) -> set[Acl]:
    return {each for each in client.acls() if each.principal == principal}
