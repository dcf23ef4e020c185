"""Asset checks on a flow's stream: lag, RPO, health, losses and heartbeats, also run manually."""

from collections.abc import Iterator

import dagster as dg

from orchestration.dagster.assets import slug, stream_key
from orchestration.dagster.reports import (
    BEAT_CHECK,
    CHECKS,
    HEALTH_CHECK,
    LAG_CHECK,
    LOSS_CHECK,
    RPO_CHECK,
    build_report,
    check_result,
)
from orchestration.dagster.resources import IsthmusResource
from replication.errors import ClusterUnavailable
from replication.settings.sections import Flow
from replication.supervision.driver_supervision import applications
from replication.supervision.flow_figures import CounterSample


def build_flow_checks(flow: Flow) -> dg.AssetChecksDefinition:
    """Return the checks of one flow: within its lag limit and its RPO, healthy, complete, alive."""
    key, limit = stream_key(flow.name), flow.lag_sla.total_seconds()
    specs = [
        dg.AssetCheckSpec(
            LAG_CHECK, asset=key, description=f"No partition lags by more than {limit:g} s."
        ),
        dg.AssetCheckSpec(
            RPO_CHECK,
            asset=key,
            description="A failover would lose no record that is older than "
            f"{flow.rpo_slo.total_seconds():g} s.",
        ),
        dg.AssetCheckSpec(
            HEALTH_CHECK,
            asset=key,
            description="Both clusters answer and all partitions are copied.",
        ),
        dg.AssetCheckSpec(
            LOSS_CHECK, asset=key, description="No offset was skipped in the last hour."
        ),
        dg.AssetCheckSpec(
            BEAT_CHECK,
            asset=key,
            description="Heartbeats are written, if emit.heartbeats.enabled is true.",
        ),
    ]

    @dg.multi_asset_check(name=f"check_{slug(flow.name)}", specs=specs)
    def check(isthmus: IsthmusResource) -> Iterator[dg.AssetCheckResult]:
        config = isthmus.config()
        app = next(each for each in applications(config) if flow.name in each.flows)
        (look,) = isthmus.look([(config.flow(flow.name), app)])
        if look is None:
            raise ClusterUnavailable(f"checking {flow.name}: its clusters did not answer in time")
        report = build_report(look, isthmus.lag(look), CounterSample())
        yield from (check_result(report, each) for each in CHECKS)

    return check
