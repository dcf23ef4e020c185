"""The topology of a file's flows, with the topics that its clusters have. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.naming.selection import gap
from replication.naming.topology import TopicName, merges_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.naming.topology import Edge, Topology
    from replication.planning.planner import TargetPlan
    from replication.planning.source_snapshot import SourceSnapshot


def with_topics(offline: Topology, plans: Iterable[TargetPlan]) -> Topology:
    """Return the topology with what the clusters show; ``plans`` has one of each target."""
    plans = tuple(plans)
    seen = {source.flow.name: (source, plan) for plan in plans for source in plan.sources}
    conflicts = [conflict for plan in plans for conflict in plan.conflicts]
    return replace(
        offline,
        edges=tuple(
            _with_topics(edge, *seen[edge.flow]) if edge.flow in seen else edge
            for edge in offline.edges
        ),
        merges=tuple(merges_of(conflicts)),
        conflicts=tuple(each for each in conflicts if each.refused),
        problems=tuple(dict.fromkeys(problem for plan in plans for problem in plan.problems)),
    )


def _with_topics(edge: Edge, source: SourceSnapshot, plan: TargetPlan) -> Edge:
    there = plan.topics.topics if plan.topics else {}
    remote = source.selector.remote_topic
    copied = [
        TopicName(topic, remote(topic), source.barred.get(topic, ""), remote(topic) in there)
        for topic in source.selector.selected(source.topics)
    ]
    passed = source.selector.passed_over(source.topics)
    left_out = [TopicName(each.name, "", each.reason) for each in passed]
    return replace(
        edge,
        topics=(*copied, *left_out),
        gap=gap(source.selector, source.topics),
    )
