"""Asset checks of a flow: lag, RPO, health, losses, drills, verifications and others."""

from collections.abc import Iterator

import dagster as dg

from orchestration.dagster.assets import stream_key, topic_key, topics_key
from orchestration.dagster.check_results import (
    BATCH_CHECK,
    BEAT_CHECK,
    DRILL_CHECK,
    FILE_CHECK,
    HEALTH_CHECK,
    LAG_CHECK,
    LOSS_CHECK,
    RPO_CHECK,
    VERIFIED_CHECK,
    check_result,
    checks_of,
)
from orchestration.dagster.lineage import named_topics
from orchestration.dagster.observations.named_topics import (
    topic_check,
    topic_limit,
    topic_verdict,
)
from orchestration.dagster.observations.topic_events import COPIED_CHECK, copied_verdict
from orchestration.dagster.reports import FlowReport, build_report
from orchestration.dagster.resources import Isthmus, IsthmusResource
from orchestration.services.asset_names import slug
from replication.durations import format_duration
from replication.errors import ClusterUnavailable
from replication.settings.config import Config
from replication.settings.flow_settings import Flow
from replication.supervision.driver_supervision import applications
from replication.supervision.flow_figures import CounterSample


def build_flow_checks(flow: Flow) -> dg.AssetChecksDefinition:
    """Return the checks of one flow; the supervisor evaluates them, and so does a manual run."""
    key = stream_key(flow.name)
    describe = _descriptions(flow)
    specs = [
        dg.AssetCheckSpec(each, asset=key, description=describe[each]) for each in checks_of(flow)
    ]
    specs.append(
        dg.AssetCheckSpec(
            COPIED_CHECK,
            asset=topics_key(flow.name),
            description="Each topic of the flow is copied; else the topics that are not, and why.",
        )
    )

    @dg.multi_asset_check(name=f"check_{slug(flow.name)}", specs=specs)
    def check(isthmus: IsthmusResource) -> Iterator[dg.AssetCheckResult]:
        report = _report(isthmus, flow.name)
        yield from (check_result(report, each) for each in checks_of(flow))
        passed, reason = copied_verdict(report.look)
        yield dg.AssetCheckResult(
            passed=passed,
            asset_key=topics_key(flow.name),
            check_name=COPIED_CHECK,
            description=reason,
        )

    return check


def build_topic_checks(config: Config, flow: Flow) -> list[dg.AssetChecksDefinition]:
    """Return a lag check for each topic that the flow names for an SLA."""
    named = named_topics(flow, config.clusters).items()
    return [_topic_check(flow, number, *pair) for number, pair in enumerate(named)]


def _topic_check(flow: Flow, number: int, topic: str, target: str) -> dg.AssetChecksDefinition:
    limit = topic_limit(flow, topic).total_seconds()
    spec = dg.AssetCheckSpec(
        topic_check(flow.name),
        asset=topic_key(flow.target, target),
        description=f"No partition of {topic} lags by more than {limit:g} s.",
    )

    # A number: the names of topics that differ in dots alone would become one.
    @dg.multi_asset_check(name=f"check_{slug(flow.name)}_topic_{number}", specs=[spec])
    def check(isthmus: IsthmusResource) -> Iterator[dg.AssetCheckResult]:
        verdict = topic_verdict(_report(isthmus, flow.name), topic)
        yield dg.AssetCheckResult(
            passed=verdict.passed,
            asset_key=spec.asset_key,
            check_name=spec.name,
            description=verdict.reason,
        )

    return check


def _report(isthmus: Isthmus, name: str) -> FlowReport:
    """Look at a flow now. Raises ClusterUnavailable."""
    reading = isthmus.reading()
    config = reading.config
    app = next(each for each in applications(config) if name in each.flows)
    (look,) = isthmus.look([(config.flow(name), app)])
    if look is None:
        raise ClusterUnavailable(f"checking {name}: its clusters did not answer in time")
    return build_report(look, isthmus.lag(look), CounterSample(), reading)


def _descriptions(flow: Flow) -> dict[str, str]:
    """Return what each check of a flow promises while it passes."""
    drill, verified, run = map(
        format_duration, (flow.drill_max_age, flow.verify_max_age, flow.batch_max_age)
    )
    return {
        LAG_CHECK: _limits(flow),
        RPO_CHECK: "A failover would lose no record that is older than "
        f"{flow.rpo_slo.total_seconds():g} s.",
        HEALTH_CHECK: "Both clusters answer and all partitions are copied.",
        LOSS_CHECK: "No offset was skipped in the last hour.",
        BEAT_CHECK: "Heartbeats are written, if emit.heartbeats.enabled is true.",
        FILE_CHECK: "The driver follows the configuration file as it is now.",
        DRILL_CHECK: f"The last good drill is not older than {drill} (drill.max.age).",
        VERIFIED_CHECK: f"The last good verification is not older than {verified} "
        "(verify.max.age), and none has found a difference since.",
        BATCH_CHECK: f"The last run that copied all is not older than {run} (batch.max.age).",
    }


def _limits(flow: Flow) -> str:
    seconds = f"No partition lags by more than {flow.lag_sla.total_seconds():g} s"
    if flow.lag_sla_records is None:
        return f"{seconds}."
    return f"{seconds}, and all of them by at most {flow.lag_sla_records} records."
