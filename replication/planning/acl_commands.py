"""Required ACLs as commands of ``kafka-acls.sh``. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from replication.client.acl_values import CLUSTER, PREFIXED, Resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.planning.required_acls import RequiredAcl


def together(needs: Iterable[RequiredAcl]) -> dict[tuple[str, Resource], dict[str, None]]:
    """Return the operations on each resource of each cluster, whichever flows need them."""
    found: dict[tuple[str, Resource], dict[str, None]] = {}
    for each in needs:
        found.setdefault((each.cluster, each.resource), {}).update(dict.fromkeys(each.operations))
    return found


def commands(
    needs: Iterable[RequiredAcl], servers: Mapping[str, str], principals: Mapping[str, str]
) -> Iterator[str]:
    """Yield a line of ``kafka-acls.sh`` for each resource, ready for a shell."""
    for (cluster, resource), operations in together(needs).items():
        words = ["kafka-acls.sh", "--bootstrap-server", servers[cluster]]
        words += ["--command-config", f"{cluster}.properties", "--add"]
        words += ["--allow-principal", principals[cluster], *_about(resource)]
        words += [word for each in operations for word in ("--operation", camel(each))]
        yield shlex.join(words)


def camel(operation: str) -> str:
    """Return ``DescribeConfigs`` for ``DESCRIBE_CONFIGS``."""
    return operation.title().replace("_", "")


def _about(resource: Resource) -> list[str]:
    if resource.kind == CLUSTER:
        return ["--cluster"]
    pattern = ["--resource-pattern-type", "prefixed"] if resource.pattern == PREFIXED else []
    return [f"--{resource.kind.replace('_', '-')}", resource.name, *pattern]
