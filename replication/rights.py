"""Ask source and target about their ACLs and plan what follows.

A cluster without an authorizer, or one that does not show us its ACLs, is said in the plan and
holds nothing else up: rights are the least of what a flow carries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.acls import Skip, TargetRights, plan_acls, translate
from replication.errors import ClusterRejected, NoAuthorizer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from replication.acls import Acl, AclAction, Translated
    from replication.kept import Kept
    from replication.ports import Clients, Cluster
    from replication.state import OwnRights
    from replication.wanted import SourceSnapshot

_NONE = "no ACLs to copy: {} lists none; it has no authorizer, or no ACLs are set"


def plan_rights(
    sources: Sequence[SourceSnapshot], clients: Clients, kept: Kept, *, complete: bool
) -> tuple[tuple[AclAction, ...], tuple[OwnRights, ...]]:
    """Return what gives the target the rights that these flows want, and which of them we made.

    Nothing is taken away unless the picture is ``complete``: a source that did not answer may have
    what another one has lost. Raises ClusterUnavailable.
    """
    wanted: dict[str, Translated] = {}
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
            wanted[source.flow.name] = translate(source, acls)
    if not wanted:
        return tuple(skips), ()
    target = flows[0].target
    there = _acls(clients.target(flows[0]), f"ACLs on {target}", "ALTER")
    if isinstance(there, Skip):
        return (*skips, there), ()
    whole = complete and not skips  # whose rights are not seen may want what another lost
    deleting = frozenset(each.name for each in flows if each.acls.delete and whole)
    made = kept.rights({each.name for each in flows})
    rights = TargetRights(target, frozenset(there), made)
    return (*skips, *plan_acls(wanted, deleting, rights)), rights.made


def _acls(cluster: Cluster, subject: str, right: str) -> Collection[Acl] | Skip:
    try:
        return cluster.acls(to_change=right == "ALTER")
    except NoAuthorizer as error:
        return Skip(subject, f"nothing to copy: {error}")
    except ClusterRejected as error:
        return Skip(subject, f"not copied: {error}; Isthmus' user needs {right} on the cluster")
