"""Group offsets in Dagster: an asset a flow that shows the plan of a round, and how fresh it is.

The driver carries groups over every few seconds; the schedule is for whoever wants rounds that
stand in Dagster's history, and is off unless somebody turns it on.
"""

from collections.abc import Sequence
from datetime import timedelta

import dagster as dg

from orchestration.assets import slug, stream_key
from orchestration.observe import now_ms
from orchestration.resources import Plant
from replication.config.model import Flow
from replication.errors import ReplicationError
from replication.group_round import Round, told
from replication.groups import explain_group
from replication.state import DutyReport, status_topic

DUTY = "group offsets"
FRESH_CHECK = "group_offsets_fresh"
_LINES = 50  # of a plan; Dagster shows metadata in full
_PATIENCE = timedelta(seconds=30)  # what a round may take, on top of three intervals


def offsets_key(flow: str) -> dg.AssetKey:
    return dg.AssetKey(["replication", slug(flow), "group_offsets"])


def build_group_definitions(flow: Flow) -> dg.Definitions:
    """Return asset, check and schedule of a flow; nothing for one that does not sync groups."""
    if not flow.groups.sync:
        return dg.Definitions()
    asset = _asset(flow)
    job = dg.define_asset_job(f"sync_groups_{slug(flow.name)}", selection=[asset])
    schedule = dg.ScheduleDefinition(
        name=f"sync_groups_{slug(flow.name)}_every_10_minutes",
        job=job,
        cron_schedule="*/10 * * * *",
        default_status=dg.DefaultScheduleStatus.STOPPED,
    )
    return dg.Definitions(
        assets=[asset], asset_checks=[_check(flow)], jobs=[job], schedules=[schedule]
    )


def _asset(flow: Flow) -> dg.AssetsDefinition:
    @dg.asset(
        key=offsets_key(flow.name),
        deps=[stream_key(flow.name)],
        group_name=slug(flow.name),
        kinds={"kafka"},
        description=f"Positions of consumer groups of {flow.source} on {flow.target}",
    )
    def group_offsets(plant: Plant) -> dg.MaterializeResult[None]:
        """Do one round, as the driver does; show what was planned and what came of it."""
        try:
            found, refused = plant.sync_groups(flow.name)
        except ReplicationError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        return dg.MaterializeResult(metadata=_metadata(found, refused))

    return group_offsets


def _metadata(found: Round, refused: dict[str, str]) -> dict[str, dg.MetadataValue | str | int]:
    lines = [line for action in found.actions for line in explain_group(action)]
    return {
        "did": told(found, refused),
        "groups": len({each.group for each in found.moved}),
        "moved": len(found.commits) - len(refused),
        "not copied yet": found.waiting,
        "left out": found.silent or "nothing",
        "plan": dg.MetadataValue.md(_listed(lines)),
        "refused": dg.MetadataValue.md(_listed([f"{g}: {why}" for g, why in refused.items()])),
    }


def _listed(lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - _LINES} more"] if len(lines) > _LINES else []
    return "\n".join(f"- {each}" for each in [*lines[:_LINES], *more]) or "nothing"


def _check(flow: Flow) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=offsets_key(flow.name),
        name=FRESH_CHECK,
        description="The driver has carried the groups over, and not long ago.",
    )
    def check(plant: Plant) -> dg.AssetCheckResult:
        report = plant.clusters().store(flow).read(status_topic(flow.source))
        found = report.get(DutyReport(flow.name, DUTY).key())
        passed, reason = freshness(found if isinstance(found, DutyReport) else None, flow, now_ms())
        return dg.AssetCheckResult(passed=passed, metadata={"reason": reason})

    return check


def freshness(report: DutyReport | None, flow: Flow, moment_ms: int) -> tuple[bool, str]:
    """Return whether the groups of a flow were carried over of late, and a sentence."""
    if report is None:
        return False, "the driver has not carried groups over yet"
    age = timedelta(milliseconds=moment_ms - report.at_ms)
    ago = f"{age.total_seconds():.0f} s ago"
    if not report.ok:
        return False, f"{ago}: {report.summary}"
    return age <= 3 * flow.groups.every + _PATIENCE, f"{ago}: {report.summary}"
