"""Keys of Dagster's assets, and the assets of one flow: its stream and its topics.

All are external: Dagster reports on them, but does not create them. The stream carries lag, rate
and checks. The topics are the partitions of one asset, so that those which are created later need
no new definitions.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg

from orchestration.services.asset_names import slug, stream_path
from replication.config.announcement import effective_patterns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.settings.flow_settings import Flow

# Materialized every half hour while the target is up to date, see ``reports``. Checks are faster.
FRESH = dg.FreshnessPolicy.time_window(
    fail_window=timedelta(minutes=90), warn_window=timedelta(minutes=45)
)


def cluster_key(alias: str) -> dg.AssetKey:
    return dg.AssetKey(["kafka", alias])


def stream_key(flow: str) -> dg.AssetKey:
    """Return the key of the asset that carries a flow's lag, rate and checks."""
    return dg.AssetKey(stream_path(flow))


def topics_key(flow: str) -> dg.AssetKey:
    """Return the key of the asset whose partitions are the topics that a flow copies."""
    return dg.AssetKey(["replication", slug(flow), "topics"])


def topic_key(alias: str, topic: str) -> dg.AssetKey:
    """Return the key of a named topic on a cluster, be it a source's own or a copy."""
    return dg.AssetKey(["kafka", alias, "topics", topic])


def topic_partitions(flow: str) -> dg.DynamicPartitionsDefinition:
    """Return the topics of a flow as partitions; the supervisor adds and deletes them."""
    return dg.DynamicPartitionsDefinition(name=f"topics_{slug(flow)}")


def shown(flow: Flow) -> dict[str, Any]:
    """Return group, owners and tags, which all assets of a flow share."""
    name = slug(flow.name)
    return {"group_name": name, "owners": list(flow.owners), "tags": {"replication/flow": name}}


def build_flow_assets(flow: Flow, warnings: Sequence[str] = ()) -> list[dg.AssetSpec]:
    """Return the two assets of a flow: its stream, and the topics that it copies.

    ``warnings`` about the file are among the stream's metadata, as are the effective patterns.
    """
    stream = dg.AssetSpec(
        stream_key(flow.name),
        deps=[cluster_key(flow.source)],
        kinds={"kafka", "spark"},
        description=f"The copying of topics from {flow.source} to {flow.target}: whether it runs, "
        "its lag, and what would be lost if the source were lost now. Materialized "
        "while the target is up to date.",
        metadata={**_facts(flow), **configuration_metadata(flow, warnings)},
        freshness_policy=None if flow.is_batch else FRESH,
        **shown(flow),
    )
    topics = dg.AssetSpec(
        topics_key(flow.name),
        deps=[stream_key(flow.name)],
        kinds={"kafka"},
        description=f"The topics of {flow.source} that are copied to {flow.target}: a partition "
        "each, also of topics that are created later. Green: it is copied. Its metadata: its name "
        "on the target, its state and its lag.",
        partitions_def=topic_partitions(flow.name),
        **shown(flow),
    )
    return [stream, topics]


def configuration_metadata(flow: Flow, warnings: Sequence[str]) -> dict[str, str]:
    """Return the effective patterns of a flow, and the warnings about its file, a line each."""
    return {**effective_patterns(flow), "warnings": "\n".join(warnings) or "none"}


def _facts(flow: Flow) -> dict[str, str | int | float]:
    return {
        "flow": flow.name,
        "mode": flow.mode,
        "naming": flow.naming.kind,
        "units": flow.copying.units,
        "isolation": flow.copying.isolation,
        "lag limit in seconds": flow.lag_sla.total_seconds(),
        "lag limit in records": "none" if flow.lag_sla_records is None else flow.lag_sla_records,
        "RPO limit in seconds": flow.rpo_slo.total_seconds(),
    }
