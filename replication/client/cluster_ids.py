"""Compares the ids of a flow's clusters with the ids that its addresses led to before. Pure.

An address may come to lead to another cluster: a DNS name or a proxy that is switched over when a
cluster fails, or a new cluster under the old address. Such a cluster answers every request, and all
that it says is about other topics. So its id is compared with each connection and each plan, and
nothing that another cluster says is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.errors import ConfigError, WrongCluster
from replication.state import ClusterIds, ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from replication.state import Stored

    Verify = Callable[[str], None]  # takes a cluster id, raises WrongCluster


@dataclass(slots=True)
class FlowClusters:
    """The ids of a flow's clusters. An empty one is not known yet: any cluster is right."""

    flow: str
    source_id: str = ""
    target_id: str = ""

    def verify_source(self, cluster_id: str) -> None:
        """Raise WrongCluster if the source's address leads to a cluster of another id."""
        self._verify("source", cluster_id, self.source_id, self.target_id)

    def verify_target(self, cluster_id: str) -> None:
        """Raise WrongCluster if the target's address leads to a cluster of another id."""
        self._verify("target", cluster_id, self.target_id, self.source_id)

    def learn(self, ids: ClusterIds) -> None:
        """Take over what is stored."""
        self.source_id, self.target_id = ids.source, ids.target

    def _verify(self, side: str, cluster_id: str, known: str, other: str) -> None:
        if not known or cluster_id == known:
            return
        source, _, target = self.flow.partition("->")
        mine, theirs = (source, target) if side == "source" else (target, source)
        now = f"{side} {mine} is now the cluster with id {cluster_id}"
        wait = f"the flow waits until {mine}.bootstrap.servers lead to the cluster with id {known}"
        if cluster_id == other:
            raise WrongCluster(f"{now}, which is {theirs}: {wait}")
        raise WrongCluster(
            f"{now}: {wait}. If {mine} was replaced by a new cluster on purpose, accept it: "
            f"isthmus resolve FILE accept --flow '{self.flow}'"
        )


def stored_ids(flow: str, records: Iterable[Stored]) -> ClusterIds | None:
    """Return the ids that are stored of a flow. None: none are.

    ``records`` of the target's status topic and, for flows that an older release began, of its
    registry of producers, whose newest entry names the source that the flow read last.
    """
    newest: ProducerEntry | None = None
    for each in records:
        if isinstance(each, ClusterIds) and each.flow == flow:
            return each
        if isinstance(each, ProducerEntry) and each.flow == flow:
            newest = each if newest is None or each.at_ms > newest.at_ms else newest
    return None if newest is None else ClusterIds(flow, newest.came_by[-1])


def known_ids(stored: ClusterIds, local: ClusterIds, by_other_flows: str = "") -> ClusterIds:
    """Return what is known, from what the target has, a local file, and the flows that read it.

    A local file says more of the target than the cluster that its address leads to, unless an
    operator has answered there since. ``by_other_flows``: the target's id as they know it.
    """
    if stored.by and stored.at_ms > local.at_ms:
        return stored
    return replace(
        stored,
        source=stored.source or local.source,
        target=local.target or stored.target or by_other_flows,
    )


def require_clusters(known: FlowClusters, source: str, target: str) -> None:
    """Raise WrongCluster for another cluster than the known one, ConfigError if both are one."""
    known.verify_target(target)
    known.verify_source(source)
    if source == target:
        here, _, there = known.flow.partition("->")
        raise ConfigError(
            f"{here} and {there} are the same cluster (id {source}): correct the "
            f"bootstrap.servers of one, or remove {known.flow}"
        )
