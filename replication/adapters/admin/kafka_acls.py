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
    from collections.abc import Iterable, Mapping
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


def read_acls(client: AdminClient, timeout_s: float, *, to_change: bool) -> frozenset[Acl]:
    """Return all rights that we know the kind of. Raises NoAuthorizer, KafkaException.

    The library answers "none" for whoever may not see them, and where there is no authorizer: what
    none means has to be asked by other means, else rights would be taken away because of it. A
    missing authorizer shows only to those who are ``to_change`` rights.
    """
    found = client.describe_acls(_EVERYTHING, request_timeout=timeout_s).result(timeout_s + 1)
    if not found and to_change:
        client_answer = client.delete_acls([_filter(_NOBODYS)], request_timeout=timeout_s)
        if _refused(client_answer, timeout_s):
            raise KafkaException(_NOT_ALLOWED)
    elif not found:
        asked = client.describe_cluster(
            include_authorized_operations=True, request_timeout=timeout_s
        ).result(timeout_s + 1)
        if AclOperation.DESCRIBE not in (asked.authorized_operations or ()):
            raise KafkaException(_NOT_ALLOWED)
    return frozenset(_ours(each) for each in found if _kind(each))


def create_acls(client: AdminClient, acls: Iterable[Acl], timeout_s: float) -> Mapping[Acl, str]:
    """Create rights; return which were refused, and why."""
    wanted = [_theirs(each) for each in acls]
    if not wanted:  # the library takes no empty list
        return {}
    return _refused(client.create_acls(wanted, request_timeout=timeout_s), timeout_s)


def delete_acls(client: AdminClient, acls: Iterable[Acl], timeout_s: float) -> Mapping[Acl, str]:
    """Delete exactly these rights; return which were refused, and why."""
    wanted = [_filter(each) for each in acls]
    if not wanted:
        return {}
    return _refused(client.delete_acls(wanted, request_timeout=timeout_s), timeout_s)


def _refused(asked: Mapping[Any, Future[Any]], timeout_s: float) -> Mapping[Acl, str]:
    refused = {}
    for binding, future in asked.items():
        try:
            future.result(timeout_s + 1)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.SECURITY_DISABLED:
                raise NoAuthorizer(
                    "it has no authorizer, so every user is allowed every operation"
                ) from error
            if error.args[0].code() < 0:  # the client's own: no answer
                raise
            refused[_ours(binding)] = _why(error.args[0])
    return refused


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
