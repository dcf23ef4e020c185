"""Events about the topics that have an asset of their own: figures, and a lag check. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from orchestration.dagster.assets import topic_key
from orchestration.dagster.observations.topic_events import topic_metadata, topic_states
from orchestration.services.asset_names import slug
from replication.supervision.lag import SlaVerdict, evaluate_sla

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from orchestration.dagster.report_events import Event
    from orchestration.dagster.reports import FlowReport
    from replication.settings.flow_settings import Flow

SAMPLE_MS = 300_000


def topic_check(flow: str) -> str:
    """Return the name of the lag check of a named topic: flows may merge into one."""
    return f"lag_sla_{slug(flow)}"


def topic_limit(flow: Flow, topic: str) -> timedelta:
    return flow.lag_sla_topics[topic] or flow.lag_sla


def topic_verdict(report: FlowReport, topic: str) -> SlaVerdict:
    """Return whether a topic is within its limit."""
    if not any(each.topic == topic for each in report.look.seen.anchors):
        waiting = f"the flow does not copy {topic}: the source has none, or it is not selected"
        return SlaVerdict(passed=report.look.up_s < report.look.flow.lag_sla.total_seconds(),
                          reason=waiting)  # fmt: skip
    if report.look.flow.is_batch:
        return report.verdict
    look, limit = report.look, topic_limit(report.look.flow, topic)
    return evaluate_sla(report.lag.topic(topic), limit, look.up_s, look.silence)


def named_events(
    report: FlowReport, names: Mapping[str, str], last: Mapping[str, tuple[bool, int]]
) -> tuple[list[Event], dict[str, tuple[bool, int]]]:
    """Return the events of the topics ``names`` (source: target), and what is reported then.

    ``last``: by topic, the last verdict and when its figures were reported.
    """
    states, now_ms = topic_states(report.look.anchors), report.look.seen.now_ms
    flow, now = report.look.flow, dict[str, tuple[bool, int]]()
    events: list[Event] = []
    for topic, target in names.items():
        verdict = topic_verdict(report, topic)
        was_passed, was_ms = last.get(topic, (None, 0))
        due = now_ms - was_ms >= SAMPLE_MS
        key = topic_key(flow.target, target)
        if due and topic in states:
            found = topic_metadata(report, states[topic])
            events.append(dg.AssetObservation(key, metadata=found))
        if due or verdict.passed is not was_passed:
            events.append(
                dg.AssetCheckEvaluation(
                    key, topic_check(flow.name), verdict.passed, description=verdict.reason
                )
            )
        now[topic] = (verdict.passed, now_ms if due else was_ms)
    return events, now
