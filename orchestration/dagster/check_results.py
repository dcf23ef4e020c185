"""What the asset checks of a flow say of one look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from orchestration.dagster.assets import stream_key
from replication.recovery.drill import drill_age
from replication.supervision.batch_run import batch_age
from replication.supervision.heartbeat_check import beating, resting
from replication.supervision.partition_states import loss_summary
from replication.verification.verified_age import verified_age

if TYPE_CHECKING:
    from orchestration.dagster.reports import FlowReport
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.settings.flow_settings import Flow
from orchestration.dagster.report_metadata import figures_of

LAG_CHECK = "lag_sla"
RPO_CHECK = "rpo_slo"
HEALTH_CHECK = "healthy"
LOSS_CHECK = "nothing_lost"
BEAT_CHECK = "heartbeat_age"
FILE_CHECK = "file_in_force"
DRILL_CHECK = "drill_age"
VERIFIED_CHECK = "verified_age"
BATCH_CHECK = "batch_age"
CHECKS = (LAG_CHECK, RPO_CHECK, HEALTH_CHECK, LOSS_CHECK, BEAT_CHECK, FILE_CHECK)


def checks_of(flow: Flow) -> tuple[str, ...]:
    """Return the checks of a flow: of drills, verifications and runs where these have a limit."""
    limited = {
        DRILL_CHECK: flow.drill_max_age,
        VERIFIED_CHECK: flow.verify_max_age,
        BATCH_CHECK: flow.is_batch and flow.batch_max_age,
    }
    return (*CHECKS, *(check for check, limit in limited.items() if limit))


def check_result(report: FlowReport, check: str) -> dg.AssetCheckResult:
    """Return the result for a check that was run manually."""
    passed, reason = check_verdict(report, check)
    return dg.AssetCheckResult(
        asset_key=stream_key(report.look.flow.name),
        check_name=check,
        passed=passed,
        description=reason,
        metadata=figures_of(report),
    )


def evaluation(report: FlowReport, check: str) -> dg.AssetCheckEvaluation:
    passed, reason = check_verdict(report, check)
    return dg.AssetCheckEvaluation(
        asset_key=stream_key(report.look.flow.name),
        check_name=check,
        passed=passed,
        description=reason,
        metadata=figures_of(report),
    )


def check_verdict(report: FlowReport, check: str) -> tuple[bool, str]:
    if check in (LAG_CHECK, RPO_CHECK):
        verdict = report.verdict if check == LAG_CHECK else report.loss
        return verdict.passed, verdict.reason
    if check == LOSS_CHECK:
        return loss_summary(report.look.seen.losses, report.look.seen.now_ms)
    if check == FILE_CHECK:
        return report.in_force
    if check in (DRILL_CHECK, VERIFIED_CHECK, BATCH_CHECK):
        return _young(report.look, check)
    if check == BEAT_CHECK:
        look, status = report.look, report.look.seen.status
        rests = resting(look.seen.desired, status.state if status else None)
        rests = rests or (
            "a batch flow writes heartbeats only while a run copies" if look.flow.is_batch else ""
        )
        settings, now_ms = look.flow.mm2.heartbeats, look.seen.now_ms
        return beating(settings, look.tasks, now_ms, due_s=look.due_s, rests=rests)
    health = report.look.health
    return health.healthy, f"{health.state}: {health.reason}"


def _young(look: FlowLook, check: str) -> tuple[bool, str]:
    """Return whether the last good drill, verification or run is young enough, and the reason."""
    if check == DRILL_CHECK:
        return drill_age(look.drill, look.flow.drill_max_age, look.seen.now_ms)
    if look.seen.target_silence is not None:
        return False, f"not known: {look.seen.target_silence}"
    if check == BATCH_CHECK:
        return batch_age(look.seen.run, look.flow.batch_max_age, look.seen.now_ms)
    return verified_age(look.verification, look.flow.verify_max_age, look.seen.now_ms)
