"""The sensor that observes all clusters every minute, and the check for a person to run."""

import json
from collections.abc import Sequence

import dagster as dg

from orchestration.dagster.assets import cluster_key
from orchestration.dagster.observations.cluster_events import (
    ANSWERS_CHECK,
    SAMPLE_MS,
    ClusterLook,
    Event,
    check_result,
    cluster_events,
)
from orchestration.dagster.resources import IsthmusResource
from orchestration.flows.cluster_overview import cluster_overviews
from replication.clock import now_ms
from replication.settings.config import Cluster, Config


@dg.sensor(minimum_interval_seconds=60, default_status=dg.DefaultSensorStatus.RUNNING)
def observe_clusters(
    context: dg.SensorEvaluationContext, isthmus: IsthmusResource
) -> dg.SensorResult:
    """Observe each cluster: changes at once, else every half hour."""
    before = _parse(context.cursor)
    events: list[Event] = []
    now: dict[str, tuple[str, int]] = {}
    looks = look_at_clusters(isthmus.config())
    for look in looks:
        was, was_ms = before.get(look.alias, ("", 0))
        changed, moment_ms = look.fingerprint != was, now_ms()
        due = moment_ms - was_ms >= SAMPLE_MS
        if changed or due:
            events += cluster_events(look, due=not changed)
        now[look.alias] = look.fingerprint, moment_ms if changed or due else was_ms
    return dg.SensorResult(
        skip_reason="; ".join(f"{each.alias}: {each.verdict[1]}" for each in looks),
        cursor=json.dumps(now),
        asset_events=events,
    )


def look_at_clusters(config: Config, aliases: Sequence[str] = ()) -> list[ClusterLook]:
    """Look at clusters, by default at all, at once."""
    names = aliases or list(config.clusters)
    found = cluster_overviews([config.clusters[each] for each in names])
    return [
        ClusterLook(alias, None, each) if isinstance(each, str) else ClusterLook(alias, each)
        for alias, each in zip(names, found, strict=True)
    ]


def build_cluster_check(cluster: Cluster) -> dg.AssetChecksDefinition:
    """Return the check of one cluster."""
    alias = cluster.alias

    @dg.asset_check(
        asset=cluster_key(alias),
        name=ANSWERS_CHECK,
        description="The cluster answers, and its clock is within a minute of this machine's.",
    )
    def check(isthmus: IsthmusResource) -> dg.AssetCheckResult:
        (look,) = look_at_clusters(isthmus.config(), [alias])
        return check_result(look)

    return check


def _parse(cursor: str | None) -> dict[str, tuple[str, int]]:
    """Read the cursor; an unreadable one counts as empty."""
    try:
        stored = json.loads(cursor or "{}")
        return {alias: (str(what), int(at_ms)) for alias, (what, at_ms) in stored.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
