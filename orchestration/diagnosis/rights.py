"""Judges what our users may do on the clusters, against what the flows have to do. Pure.

Brokers say what a user may do with one topic or group, not with all that begin with a name. So an
ACL for many names is judged by those that exist.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from orchestration.diagnosis.finding import DiagnosisFinding, FindingLevel, some
from replication.client.acl_values import ANY, LITERAL, TOPIC, TRANSACTIONAL_ID, Resource

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from replication.client.cluster_facts import GrantedOperations
    from replication.planning.required_acls import RequiredAcl

_PROBE = "isthmus-doctor"  # a name that nobody has
_STOPS_COPYING = {"READ", "WRITE", "CREATE"}
_TO_DO = "grant it: `isthmus acls needed FILE -o commands` prints the commands"


def examples(need: RequiredAcl, topics: Collection[str]) -> tuple[Resource, ...]:
    """Return names that an ACL covers; ``topics``: those that its flow uses on that cluster."""
    kind, name, pattern = need.resource
    is_any = name == ANY
    if pattern == LITERAL and not is_any:
        return (need.resource,)
    if kind != TOPIC:
        return (Resource(kind, _PROBE if is_any else f"{name}doctor"),)
    beginning = "" if is_any else name
    return tuple(Resource(TOPIC, each) for each in sorted(topics) if each.startswith(beginning))


def judge_rights(
    needs: Iterable[RequiredAcl],
    topics: Mapping[tuple[str, str], Collection[str]],
    grants: Iterable[GrantedOperations],
) -> Iterator[DiagnosisFinding]:
    """Yield what is missing on one cluster. ``topics``: by cluster and flow."""
    allowed = {each.resource: each.operations for each in grants}
    lacking: dict[tuple[str, frozenset[str], str], dict[Resource, None]] = defaultdict(dict)
    asked, cluster = 0, ""
    for need in needs:
        cluster = need.cluster
        for each in examples(need, topics.get((need.cluster, need.flow), ())):
            granted = allowed.get(each)
            if granted is None:
                continue  # it does not exist, or the cluster does not say
            asked += 1
            if missing := _visible_operations(need) - granted:
                lacking[cluster, missing, need.why][each] = None
    for (cluster, missing, why), resources in lacking.items():
        level = FindingLevel.ERROR if missing & _STOPS_COPYING else FindingLevel.WARNING
        names = some(resources)
        what = f"our user lacks {', '.join(sorted(missing))} on {names}: {why}"
        yield DiagnosisFinding(level, f"cluster {cluster}", "rights", what, _TO_DO)
    if asked and not lacking:
        yield DiagnosisFinding(
            FindingLevel.OK, f"cluster {cluster}", "rights", "the user may do what flows need"
        )


def _visible_operations(need: RequiredAcl) -> frozenset[str]:
    """Return what a broker tells about. Of a transactional id DESCRIBE, which WRITE implies."""
    if need.resource.kind == TRANSACTIONAL_ID:
        return frozenset({"DESCRIBE"})
    return frozenset(need.operations)
