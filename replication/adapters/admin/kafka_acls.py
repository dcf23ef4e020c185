"""Converts ACLs between the client library's classes and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from replication.client.acl_values import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID, Acl, Resource
from replication.errors import NoAuthorizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from confluent_kafka.admin import AdminClient

_KINDS = {
    ResourceType.TOPIC: TOPIC,
    ResourceType.GROUP: GROUP,
    ResourceType.BROKER: CLUSTER,  # as the library calls the cluster
    ResourceType.TRANSACTIONAL_ID: TRANSACTIONAL_ID,
}
_TYPES = {kind: each for each, kind in _KINDS.items()}
_EVERYTHING = AclBindingFilter(
    ResourceType.ANY,
    None,  # type: ignore[arg-type] # any name; the stubs know no None, here and below
    ResourcePatternType.ANY,
    None,  # type: ignore[arg-type]
    None,  # type: ignore[arg-type]
    AclOperation.ANY,
    AclPermissionType.ANY,
)

_NOT_ALLOWED = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed")
_NOBODYS = Acl(Resource(TOPIC, "isthmus-probe.internal"), "User:isthmus-probe", "*", "READ")


def read_acls(
    client: AdminClient, timeout_s: float, require_broker: Callable[[], object], *, to_change: bool
) -> frozenset[Acl]:
    """Return all ACLs of the kinds that we know. Raises NoAuthorizer, KafkaException.

    ``require_broker`` raises where no broker is alive: see ``CheckedClient.cluster``.

    The library also answers "none" if the principal may not describe ACLs, and if there is no
    authorizer. A second request tells these cases apart; otherwise ACLs would be deleted because
    of them. Only a caller that is going ``to_change`` ACLs notices a missing authorizer.
    """
    found = client.describe_acls(_EVERYTHING, request_timeout=timeout_s).result(timeout_s + 1)
    if not found and to_change:
        client_answer = client.delete_acls([_filter(_NOBODYS)], request_timeout=timeout_s)
        if _rejected(client_answer, timeout_s):
            raise KafkaException(_NOT_ALLOWED)
    elif not found:
        require_broker()
        cluster = client.describe_cluster(
            include_authorized_operations=True, request_timeout=timeout_s
        ).result(timeout_s + 1)
        if AclOperation.DESCRIBE not in (cluster.authorized_operations or ()):
            raise KafkaException(_NOT_ALLOWED)
    return frozenset(_ours(each) for each in found if _kind(each))


def create_acls(client: AdminClient, acls: Iterable[Acl], timeout_s: float) -> Mapping[Acl, str]:
    """Create ACLs; return which were rejected, and why."""
    bindings = [_theirs(each) for each in acls]
    if not bindings:  # the library takes no empty list
        return {}
    return _rejected(client.create_acls(bindings, request_timeout=timeout_s), timeout_s)


def delete_acls(client: AdminClient, acls: Iterable[Acl], timeout_s: float) -> Mapping[Acl, str]:
    """Delete exactly these ACLs; return which were rejected, and why."""
    filters = [_filter(each) for each in acls]
    if not filters:
        return {}
    return _rejected(client.delete_acls(filters, request_timeout=timeout_s), timeout_s)


def _rejected(answers: Mapping[Any, Future[Any]], timeout_s: float) -> Mapping[Acl, str]:
    rejected = {}
    for binding, future in answers.items():
        try:
            future.result(timeout_s + 1)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.SECURITY_DISABLED:
                raise NoAuthorizer(
                    "it has no authorizer, so every user is allowed every operation"
                ) from error
            if error.args[0].code() < 0:  # the client's own: no answer
                raise
            rejected[_ours(binding)] = _why(error.args[0])
    return rejected


def _why(error: KafkaError) -> str:
    """Return the broker's words, unless they are a dump of the request."""
    if error.code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED:
        return "Isthmus' user needs ALTER on the cluster"
    return error.str()


def _ours(binding: AclBinding) -> Acl:
    """The library has turned every field into its enum, whatever its stubs say."""
    pattern = cast("ResourcePatternType", binding.resource_pattern_type)
    resource = Resource(_kind(binding) or "", str(binding.name), pattern.name.lower())
    return Acl(
        resource,
        str(binding.principal),
        str(binding.host),
        cast("AclOperation", binding.operation).name,
        cast("AclPermissionType", binding.permission_type).name.lower(),
    )


def _kind(binding: AclBinding) -> str | None:
    return _KINDS.get(cast("ResourceType", binding.restype))


def _theirs(acl: Acl) -> AclBinding:
    return AclBinding(*_words(acl))


def _filter(acl: Acl) -> AclBindingFilter:
    return AclBindingFilter(*_words(acl))


def _words(
    acl: Acl,
) -> tuple[ResourceType, str, ResourcePatternType, str, str, AclOperation, AclPermissionType]:
    return (
        _TYPES[acl.resource.kind],
        acl.resource.name,
        ResourcePatternType[acl.resource.pattern.upper()],
        acl.principal,
        acl.host,
        AclOperation[acl.operation],
        AclPermissionType[acl.permission.upper()],
    )
