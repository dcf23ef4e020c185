"""Clusters in memory with flows into B, for tests of plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.client.cluster_ids import FlowClusters, require_clusters
from replication.planning.execute import execute
from replication.planning.explain import explain_action
from replication.planning.planner import Planner
from replication.settings.topic_settings import ConfigSync, TopicCreation
from support.fakes.memory_admin import MemoryClients, MemoryCluster
from support.settings.configs import a_config, a_flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from replication.client.admin import ClusterAdmin


def flow(source: str = "A", **sections: object):
    ready = {"creation": TopicCreation(replication_factor=1), **sections}
    return a_flow(source).model_copy(update=ready)


class Stage:
    """Clusters in memory and a planner for flows into B."""

    def __init__(self, *flows, **clusters: MemoryCluster) -> None:
        self.clusters = {"B": MemoryCluster(), **clusters}
        self.clients = MemoryClients(self.clusters)
        self.config = a_config(*flows)

    @property
    def target(self) -> MemoryCluster:
        return self.clusters["B"]

    def plan(self, *names: str, **options):
        return Planner(self.config, self.clients, **options).plan("B", names or None)

    def apply(self, **options):
        planner = Planner(self.config, self.clients, **options)
        return list(execute(planner.plan("B"), planner, "a test"))

    def lines(self, *names: str, **options) -> list[str]:
        return [explain_action(each) for each in self.plan(*names, **options).actions]


def one_topic(configs=None, ours=None, rules: ConfigSync | None = None) -> Stage:
    """Return a stage on which ``orders`` of A has been copied to B."""
    source = MemoryCluster({"orders": 2}, {"orders": dict(configs or {})})
    target = MemoryCluster({"A.orders": 2}, {"A.orders": dict(ours or {})})
    return Stage(flow(configs=rules or ConfigSync()), A=source, B=target)


def right_clusters(flow: str) -> Callable[[ClusterAdmin, ClusterAdmin], None]:
    """Return the check of a flow whose clusters are right unless both are one."""
    return lambda source, target: require_clusters(
        FlowClusters(flow), source.cluster_id(), target.cluster_id()
    )
