"""ACL bindings as values: resource, pattern, principal, operation, permission."""

from __future__ import annotations

from typing import NamedTuple

ANY = "*"
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = "topic", "group", "cluster", "transactional_id"
LITERAL, PREFIXED = "literal", "prefixed"
ALLOW, DENY = "allow", "deny"


class Resource(NamedTuple):
    """The resource that an ACL covers."""

    kind: str  # topic, group, cluster, transactional_id
    name: str
    pattern: str = LITERAL

    def __str__(self) -> str:
        tail = ANY if self.pattern == PREFIXED else ""
        return f"{self.kind.replace('_', ' ')} {self.name}{tail}"


class Acl(NamedTuple):
    """One ACL, with the fields of Kafka's AclBinding."""

    resource: Resource
    principal: str
    host: str
    operation: str  # READ, WRITE, …
    permission: str = ALLOW

    def __str__(self) -> str:
        host = "" if self.host == ANY else f" from {self.host}"
        return f"{self.permission} {self.principal}{host} to {self.operation}"
