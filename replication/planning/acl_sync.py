"""Plans which ACLs on the target follow those on the source.

MirrorMaker 2's rules: only topics that are copied, under their new names; nobody is allowed to
WRITE into a copy, ALLOW ALL becomes ALLOW READ, a DENY stays as it is. Besides:

- Prefixed patterns follow. Where copies have a prefix of their own it is one pattern, elsewhere a
  ACL for each copied topic: a pattern would reach the target's own topics.
- ALLOW on all topics (``*``) is left out, since it would do the same. DENY on all topics follows
  for the copies, so that a copy is never more open than its source.
- ACLs on groups are synced if the file says so, and ACLs that we created are deleted if it says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.client.acl_values import (
    ALLOW,
    ANY,
    DENY,
    GROUP,
    LITERAL,
    PREFIXED,
    TOPIC,
    Acl,
    Resource,
)
from replication.errors import ClusterRejected, NoAuthorizer
from replication.naming.selection import group_filter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from replication.client.admin import Clients, ClusterAdmin
    from replication.naming.selection import NameFilter
    from replication.planning.source_snapshot import SourceSnapshot
    from replication.planning.target_snapshot import AppliedState
    from replication.state import AppliedAcls


@dataclass(frozen=True, slots=True)
class Grant:
    """ACLs to create on one resource of the target, allowed or denied as on the source."""

    resource: Resource
    acls: tuple[Acl, ...]
    reason: str
    flow: str = ""


@dataclass(frozen=True, slots=True)
class Revoke:
    """ACLs on one resource that Isthmus created and that are to be deleted."""

    resource: Resource
    acls: tuple[Acl, ...]
    reason: str
    flow: str = ""


@dataclass(frozen=True, slots=True)
class Skip:
    """ACLs that are skipped or cannot be read; the others are synced."""

    subject: str
    reason: str
    flow: str = field(default="", compare=False)  # whose ACLs they are; empty: of several flows


AclAction = Grant | Revoke | Skip


@dataclass(frozen=True, slots=True)
class Translated:
    """A flow's desired ACLs on the target, and how many of which kind are left out."""

    acls: frozenset[Acl] = frozenset()
    left: Mapping[str, int] = field(default_factory=dict)  # by reason


def translate(source: SourceSnapshot, acls: Iterable[Acl]) -> Translated:
    """Translate the ACLs on a flow's source to its target."""
    found: set[Acl] = set()
    left: Counter[str] = Counter()
    seen = _AclSource(source, source.chosen, group_filter(source.flow.selection))
    for acl in acls:
        copied = _translate(seen, acl)
        if isinstance(copied, str):
            left[copied] += bool(copied)
        else:
            found |= copied
    return Translated(frozenset(found), {why: count for why, count in left.items() if count})


class _AclSource(NamedTuple):
    """A source, and what decides about each of its ACLs."""

    source: SourceSnapshot
    topics: Collection[str]  # that are copied
    groups: NameFilter


def _translate(seen: _AclSource, acl: Acl) -> set[Acl] | str:
    """Return the ACLs that are synced, or why none is; empty: the ACL does not concern the flow."""
    kind = acl.resource.kind
    if kind == GROUP and seen.source.flow.acls.groups:
        resources = _groups(seen, acl)
    elif kind == TOPIC:
        if acl.permission == ALLOW and acl.operation == "WRITE":
            return "ALLOW WRITE is never copied: only Isthmus writes copies"
        resources = _topics(seen, acl)
    else:
        return ""
    if isinstance(resources, str):
        return resources
    operation = "READ" if (acl.permission, acl.operation) == (ALLOW, "ALL") else acl.operation
    return {acl._replace(resource=each, operation=operation) for each in resources}


def _topics(seen: _AclSource, acl: Acl) -> set[Resource] | str:
    _, name, pattern = acl.resource
    if pattern == PREFIXED:
        return _copies(seen, name) or "no copied topic has the prefix"
    if name == ANY:
        if acl.permission == DENY:
            return _copies(seen, "")
        return "ALLOW on all topics (*) would also grant access to the target's own topics"
    source = seen.source
    if name in source.barred or not source.selector.judge(name).selected:
        return "on topics that are not copied"
    return {Resource(TOPIC, source.selector.remote_topic(name))}


def _copies(seen: _AclSource, prefix: str) -> set[Resource]:
    """Return the prefix of the copies of all topics that begin with ``prefix``."""
    source, found = seen.source, [each for each in seen.topics if each.startswith(prefix)]
    if found and source.flow.naming.prefixes_all:
        return {Resource(TOPIC, source.selector.remote_topic(prefix), PREFIXED)}
    return {Resource(TOPIC, source.selector.remote_topic(each)) for each in found}


def _groups(seen: _AclSource, acl: Acl) -> set[Resource] | str:
    """Groups keep their names. A prefix is taken as it is: which groups it covers is not known."""
    _, name, pattern = acl.resource
    if name == ANY:
        return "on all groups (*), which would also grant access to the target's own groups"
    if pattern == LITERAL and not seen.groups.judge(name).selected:
        return "on groups that are not synced"
    return {acl.resource}


@dataclass(frozen=True, slots=True)
class TargetRights:
    """The target's ACLs, and which of them we created."""

    name: str
    acls: frozenset[Acl]
    made: tuple[AppliedAcls, ...] = ()


def plan_acls(
    desired: Mapping[str, Translated], deleting: frozenset[str], target: TargetRights
) -> tuple[AclAction, ...]:
    """Return the actions that give the target its flows' desired ACLs, one for each resource.

    ``desired`` is by flow; ACLs of flows in ``deleting`` that no flow desires any more go.
    """
    actions: list[AclAction] = [*_grants(desired, target), *_revocations(desired, deleting, target)]
    actions += [
        Skip(f"ACLs of {flow}", f"{count} not copied: {why}", flow)
        for flow, each in desired.items()
        for why, count in each.left.items()
    ]
    return tuple(actions)


def _grants(desired: Mapping[str, Translated], target: TargetRights) -> Iterator[Grant]:
    seen = set(target.acls)
    made = {acl for each in target.made for acl in acls_of(each)}
    for flow, each in desired.items():
        missing = each.acls - seen
        seen |= missing
        for resource, acls in _by_resource(missing):
            gone = any(acl in made for acl in acls)
            source = flow.partition("->")[0]
            why = f"removed on {target.name} since the last apply" if gone else f"as on {source}"
            yield Grant(resource, acls, why, flow)


def _revocations(
    desired: Mapping[str, Translated], deleting: frozenset[str], target: TargetRights
) -> Iterator[Revoke]:
    kept = frozenset().union(*(each.acls for each in desired.values()))
    for own in target.made:
        if own.flow not in deleting or own.flow not in desired:
            continue
        for resource, acls in _by_resource((set(acls_of(own)) - kept) & target.acls):
            source = own.flow.partition("->")[0]
            yield Revoke(resource, acls, f"{source} no longer has these ACLs", own.flow)


def _by_resource(acls: Iterable[Acl]) -> Iterator[tuple[Resource, tuple[Acl, ...]]]:
    grouped: dict[Resource, list[Acl]] = {}
    for acl in sorted(acls):
        grouped.setdefault(acl.resource, []).append(acl)
    yield from ((resource, tuple(each)) for resource, each in grouped.items())


def acls_of(own: AppliedAcls) -> Iterator[Acl]:
    """Yield the ACLs of a record."""
    resource = Resource(own.resource, own.name, own.pattern)
    yield from (Acl(resource, *each) for each in own.rights)


def remembered_rights(
    action: Grant | Revoke, refused: Mapping[str, str], before: AppliedAcls
) -> AppliedAcls:
    """Return the record of the ACLs that we created on a resource, after an action."""
    done = {
        (each.principal, each.host, each.operation, each.permission)
        for each in action.acls
        if str(each) not in refused
    }
    known = set(before.rights)
    now = known | done if isinstance(action, Grant) else known - done
    return replace(before, rights=tuple(sorted(now)))


_NONE = "no ACLs to copy: {} lists none; it has no authorizer, or no ACLs are set"


def plan_rights(
    sources: Sequence[SourceSnapshot], clients: Clients, kept: AppliedState, *, complete: bool
) -> tuple[tuple[AclAction, ...], tuple[AppliedAcls, ...]]:
    """Return the actions that give the target these flows' desired ACLs, and which ACLs we created.

    Nothing is taken away unless the picture is ``complete``: a source that did not answer may have
    what another one has lost. Raises ClusterUnavailable.
    """
    desired: dict[str, Translated] = {}
    skips: list[AclAction] = []
    flows = [each.flow for each in sources if each.flow.acls.enabled]
    for source in sources:
        if not source.flow.acls.enabled:
            continue
        subject = f"ACLs of {source.flow.name}"
        acls = _acls(clients.source(source.flow), subject, "DESCRIBE")
        if isinstance(acls, Skip):
            skips.append(replace(acls, flow=source.flow.name))
        elif not acls:  # and nothing is taken away: who has none may have lost its authorizer
            none = _NONE.format(source.flow.source)
            skips.append(Skip(subject, none, source.flow.name))
        else:
            desired[source.flow.name] = translate(source, acls)
    if not desired:
        return tuple(skips), ()
    target = flows[0].target
    there = _acls(clients.target(flows[0]), f"ACLs on {target}", "ALTER")
    if isinstance(there, Skip):
        return (*skips, there), ()
    whole = complete and not skips  # a flow whose ACLs are unknown may desire what another lost
    deleting = frozenset(each.name for each in flows if each.acls.delete and whole)
    made = kept.rights({each.name for each in flows})
    rights = TargetRights(target, frozenset(there), made)
    return (*skips, *plan_acls(desired, deleting, rights)), rights.made


def _acls(cluster: ClusterAdmin, subject: str, right: str) -> Collection[Acl] | Skip:
    try:
        return cluster.acls(to_change=right == "ALTER")
    except NoAuthorizer as error:
        return Skip(subject, f"nothing to copy: {error}")
    except ClusterRejected as error:
        return Skip(subject, f"not copied: {error}; Isthmus' user needs {right} on the cluster")
