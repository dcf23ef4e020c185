"""Denies everybody to write to topics of a source, and takes that back.

Each denial is in the operation's record before it is made, so whoever finds the record can take it
back. A denial that somebody else made before is not in it, and stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.errors import ClusterRejected
from replication.planning.explain import counted
from replication.recovery.switchover import denials, denied_topics, with_denied

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from orchestration.recovery.operator import Operator
    from replication.client.acl_values import Acl
    from replication.client.admin import ClusterAdmin
    from replication.state import Operation


@dataclass(frozen=True, slots=True)
class WriteDenial:
    """The denials of an operation on the source ``cluster``, which messages call ``alias``.

    Raises NoAuthorizer, ClusterRejected, ClusterUnavailable.
    """

    cluster: ClusterAdmin
    alias: str
    operator: Operator

    def require_possible(self) -> None:
        """Raise NoAuthorizer, or ClusterRejected if our user may not change ACLs."""
        self.cluster.acls(to_change=True)

    def deny(self, operation: Operation, topics: Collection[str]) -> str:
        """Deny writes to topics; return what was done."""
        before = denied_topics(operation.options)
        there = self.cluster.acls(to_change=True)
        new = {each for each in topics if not denials([each]) <= set(there)}
        mine = before | new
        self.operator.amend(options=with_denied(operation.options, mine))
        _require(self.cluster.create_acls(denials(mine)), f"denying writes on {self.alias}")
        others = len(set(topics) - mine)
        known = f"; {counted(others, 'topic')} had these ACLs before" if others else ""
        return f"denied writes to {counted(len(mine), 'topic')} on {self.alias}{known}"

    def take_back(self, operation: Operation) -> str:
        """Remove the denials of an operation; return what was done. Its record is as it was."""
        mine = denied_topics(operation.options)
        if not mine:
            return f"no write on {self.alias} was denied"
        _require(self.cluster.delete_acls(denials(mine)), f"allowing writes on {self.alias}")
        return f"writes to {counted(len(mine), 'topic')} on {self.alias} are no longer denied"


def _require(rejected: Mapping[Acl, str], doing: str) -> None:
    for acl, why in sorted(rejected.items()):
        raise ClusterRejected(f"{doing}: {acl.resource}: {why}")
