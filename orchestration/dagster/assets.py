"""Dagster assets of clusters, flows and topics.

All are external: Dagster reports on them, but does not create them. A flow's stream is the asset
that carries lag, rate and checks. Topics become assets only where a flow lists them by name.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import dagster as dg

from replication.config.announcement import effective_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replication.settings.sections import Cluster, Config, Flow

TOPIC_ASSETS_MAX = 500  # more make the UI and every reload slow; the rest is a table on the flow
_LITERAL = re.compile(r"[\w.-]+")


def slug(flow: str) -> str:
    """Return a flow's name in the form of Dagster's keys, groups and tags: ``A_to_B``.

    Names with replaced characters get some digits of a hash: ``a-x->b`` and ``a_x->b`` differ.
    """
    plain = flow.replace("->", "_to_")
    safe = re.sub(r"\W", "_", plain)
    if safe == plain and flow.count("->") <= 1 and "_to_" not in flow:
        return safe
    return f"{safe}_{hashlib.sha256(flow.encode()).hexdigest()[:4]}"


def cluster_key(alias: str) -> dg.AssetKey:
    return dg.AssetKey(["kafka", alias])


def stream_key(flow: str) -> dg.AssetKey:
    """Return the key of the asset that carries a flow's lag, rate and checks."""
    return dg.AssetKey(["replication", slug(flow), "stream"])


def listed_topics(flow: Flow) -> list[str]:
    """Return the topics that the flow names without a pattern, at most TOPIC_ASSETS_MAX.

    ``orders.v1`` is strictly a pattern too; it is treated as a name.
    """
    return [each for each in flow.selection.topics if _LITERAL.fullmatch(each)][:TOPIC_ASSETS_MAX]


def build_cluster_asset(cluster: Cluster) -> dg.AssetSpec:
    return dg.AssetSpec(
        cluster_key(cluster.alias),
        group_name="clusters",
        kinds={"kafka"},
        description=f"Kafka cluster {cluster.alias}.",
        metadata={"bootstrap servers": ", ".join(cluster.bootstrap_servers)},
    )


def build_flow_definitions(flow: Flow, warnings: Sequence[str] = ()) -> dg.Definitions:
    """Return the assets of one flow: its stream, and the topics that it lists by name.

    ``warnings`` about the file are among the stream's metadata, as are the effective patterns.
    """
    stream = dg.AssetSpec(
        stream_key(flow.name),
        deps=[cluster_key(flow.source)],
        group_name=slug(flow.name),
        kinds={"kafka", "spark"},
        description=f"Copies topics from {flow.source} to {flow.target}.",
        metadata={**_facts(flow), **configuration_metadata(flow, warnings)},
        tags={"replication/flow": slug(flow.name)},
    )
    return dg.Definitions(assets=[stream, *_topic_assets(flow)])


def build_assets(config: Config) -> dg.Definitions:
    """Return the assets of a whole file."""
    clusters = [build_cluster_asset(each) for each in config.clusters.values()]
    flows = [build_flow_definitions(each, config.warnings) for each in config.flows]
    return dg.Definitions.merge(dg.Definitions(assets=clusters), *flows)


def configuration_metadata(flow: Flow, warnings: Sequence[str]) -> dict[str, str]:
    """Return the effective patterns of a flow, and the warnings about its file, a line each."""
    return {**effective_patterns(flow), "warnings": "\n".join(warnings) or "none"}


def _facts(flow: Flow) -> dict[str, str | int | float]:
    return {
        "flow": flow.name,
        "naming": flow.naming.kind,
        "units": flow.copying.units,
        "isolation": flow.copying.isolation,
        "lag limit in seconds": flow.lag_sla.total_seconds(),
        "RPO limit in seconds": flow.rpo_slo.total_seconds(),
    }


def _topic_assets(flow: Flow) -> Iterator[dg.AssetSpec]:
    for topic in listed_topics(flow):
        yield dg.AssetSpec(
            dg.AssetKey(["kafka", flow.target, "from", flow.source, topic]),
            deps=[stream_key(flow.name)],
            group_name=slug(flow.name),
            kinds={"kafka"},
            description=f"The copy of topic {topic} of {flow.source} on {flow.target}.",
        )
