"""Lineage: source cluster, flow, topics, target cluster; through chains of flows.

Dagster's graph must not have a circle. A cluster that a circle of flows comes back to is shown
twice: as their source, and with what they copy to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from orchestration.dagster.assets import (
    build_flow_assets,
    cluster_key,
    shown,
    stream_key,
    topic_key,
    topics_key,
)
from orchestration.dagster.background_tasks.task_assets import task_key
from replication.naming.selection import TopicSelector

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from replication.settings.config import Cluster, Config
    from replication.settings.flow_settings import Flow

NAMED_TOPICS_MAX = 500  # more make the UI and every reload slow; all are partitions of their flow
CLUSTERS = "clusters"  # their group


def build_assets(config: Config) -> dg.Definitions:
    """Return the external assets of a file: clusters, flows, topics that are named for an SLA."""
    flows = [each for flow in config.flows for each in build_flow_assets(flow, config.warnings)]
    topics = _named_topic_assets(config)
    in_circles = flows_in_circles(config)
    clusters = [
        spec
        for cluster in config.clusters.values()
        for spec in _cluster_assets(cluster, config.flows_into(cluster.alias), in_circles)
    ]
    syncs = [_offset_syncs(each) for each in config.flows if each.mm2.syncs.enabled]
    return dg.Definitions(assets=[*clusters, *flows, *topics, *syncs])


def flows_in_circles(config: Config) -> frozenset[str]:
    """Return the names of the flows that are part of a circle of flows."""
    targets = {
        alias: {each.target for each in config.flows if each.source == alias}
        for alias in config.clusters
    }
    return frozenset(e.name for e in config.flows if e.source in _reached(e.target, targets))


def _reached(start: str, targets: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return ``start`` and the clusters that flows lead to from there."""
    found, new = {start}, [start]
    while new:
        new = [each for alias in new for each in targets[alias] if each not in found]
        found.update(new)
    return frozenset(found)


def copies_key(alias: str) -> dg.AssetKey:
    """Return the key of a cluster as the target of flows that are part of a circle."""
    return dg.AssetKey(["kafka", alias, "copies"])


def named_topics(flow: Flow, aliases: Collection[str]) -> dict[str, str]:
    """Return the topics of ``lag.sla.topics`` and their names on the target.

    Raises ConfigError where a custom naming policy has no name.
    """
    selector = TopicSelector.for_flow(flow, aliases)
    names = list(flow.lag_sla_topics)[:NAMED_TOPICS_MAX]
    return {each: selector.remote_topic(each) for each in names}


def _cluster_assets(
    cluster: Cluster, flows: Iterable[Flow], in_circles: Collection[str]
) -> Iterator[dg.AssetSpec]:
    alias, into = cluster.alias, list(flows)
    back = [topics_key(each.name) for each in into if each.name in in_circles]
    yield dg.AssetSpec(
        cluster_key(alias),
        deps=[topics_key(each.name) for each in into if each.name not in in_circles],
        group_name=CLUSTERS,
        kinds={"kafka"},
        description=f"Kafka cluster {alias}: whether it answers, its version, brokers, controller, "
        "and how far its clock differs from this machine's. Observed every minute.",
        metadata={"bootstrap servers": ", ".join(cluster.bootstrap_servers)},
    )
    if back:
        yield dg.AssetSpec(
            copies_key(alias),
            deps=back,
            group_name=CLUSTERS,
            kinds={"kafka"},
            description=f"Kafka cluster {alias} as the target of flows that are part of a cycle: "
            "Dagster's graph has none.",
        )


def _offset_syncs(flow: Flow) -> dg.AssetSpec:
    """Return the asset of a task that only the driver can do."""
    return dg.AssetSpec(
        task_key(flow.name, "offset_syncs"),
        deps=[stream_key(flow.name)],
        kinds={"kafka"},
        description="Write offset pairs for MirrorMaker 2's checkpoint connector. The Spark driver "
        "does it every 5 s.",
        **shown(flow),
    )


def _named_topic_assets(config: Config) -> Iterator[dg.AssetSpec]:
    """Yield each named topic once: as the copy of all flows that merge into it, else as a source's.

    In a circle of flows the source topic is left out: it would be its own copy.
    """
    copies: dict[dg.AssetKey, list[tuple[Flow, str]]] = {}
    for flow in config.flows:
        for topic, name in named_topics(flow, config.clusters).items():
            copies.setdefault(topic_key(flow.target, name), []).append((flow, topic))
    in_circles = flows_in_circles(config)
    sources: dict[dg.AssetKey, tuple[Flow, str]] = {}
    for key, made_by in copies.items():
        straight = {
            topic_key(flow.source, topic): (flow, topic)
            for flow, topic in made_by
            if flow.name not in in_circles
        }
        sources |= straight
        flow, topic = made_by[0]
        origins = ", ".join(f"{each} of {flow.source}" for flow, each in made_by)
        yield dg.AssetSpec(
            key,
            deps=[*(stream_key(each.name) for each, _ in made_by), *straight],
            kinds={"kafka"},
            description=f"On {flow.target}: the copy of {origins}, with its own lag check.",
            **shown(flow),
        )
    for key, (flow, topic) in sources.items():
        if key not in copies:
            yield dg.AssetSpec(
                key,
                deps=[cluster_key(flow.source)],
                kinds={"kafka"},
                description=f"Topic {topic} of {flow.source}, which is copied to {flow.target}.",
                **shown(flow),
            )
