"""Decides which events about a flow are written to Dagster's history, and how often.

One event costs about 30 ms and 4 KB of a database that is never pruned. So: changes at once, a
sample every few minutes, and a materialization only while records are copied.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import dagster as dg

from orchestration.dagster.assets import stream_key
from replication.durations import format_moment
from replication.model import Desired, FlowState, PartitionState
from replication.supervision import losses
from replication.supervision.flow_figures import CounterSample, Rate, rate, sample
from replication.supervision.heartbeat_check import beating, resting
from replication.supervision.lag import FlowLag, SlaVerdict, evaluate_sla
from replication.supervision.recovery_point import RecoveryPoint, evaluate_slo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orchestration.flows.observe import FlowLook
    from replication.state import AbsentTopic

SAMPLE_MS = 300_000
TABLE_ROWS = 50
ABSENT_SHOWN = 10
_COPYING = {FlowState.RUNNING, FlowState.DEGRADED}  # else the records are an earlier driver's
LAG_CHECK = "lag_sla"
RPO_CHECK = "rpo_slo"
HEALTH_CHECK = "healthy"
LOSS_CHECK = "nothing_lost"
BEAT_CHECK = "heartbeat_age"
CHECKS = (LAG_CHECK, RPO_CHECK, HEALTH_CHECK, LOSS_CHECK, BEAT_CHECK)

Event = dg.AssetObservation | dg.AssetMaterialization | dg.AssetCheckEvaluation


@dataclass(frozen=True, slots=True)
class LastReported:
    """The last reported state of a flow; kept in the sensor's cursor, safe to lose."""

    state: str = ""
    in_time: bool | None = None  # last verdict on the lag
    recoverable: bool | None = None  # last verdict on what a failover would lose
    healthy: bool | None = None
    complete: bool | None = None  # no recent losses
    beating: bool | None = None  # heartbeats are young
    sampled_ms: int = 0
    moved_ms: int = 0  # last materialization
    moved_records: int = 0
    absent: int = 0  # topics that are not copied any more
    counters: CounterSample = field(default_factory=CounterSample)

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> Self:
        return cls(**{**stored, "counters": CounterSample(**stored["counters"])})

    def dump(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one look at a flow."""

    look: FlowLook
    lag: FlowLag
    verdict: SlaVerdict
    point: RecoveryPoint
    loss: SlaVerdict
    rate: Rate | None
    counters: CounterSample

    @property
    def line(self) -> str:
        """The flow in a few words."""
        health = self.look.health
        if not health.healthy:
            return f"{self.look.flow.name} {health.state}: {health.reason}"
        behind = (
            self.verdict.reason if self.lag.seconds is None else f"{self.lag.seconds:.1f} s behind"
        )
        speed = f", {self.rate.records_s:,.0f} records/s" if self.rate else ""
        return f"{self.look.flow.name} {health.state} {behind}{speed}"


def build_report(look: FlowLook, lag: FlowLag, before: CounterSample) -> Report:
    """Return the report of a look; ``before`` are the counters of the previous one."""
    counters = sample(look.seen.anchors, look.seen.now_ms)
    point = look.recovery_point(lag)
    if look.seen.open_since and look.seen.desired is Desired.STOP:  # clients are on the target
        verdict = loss = SlaVerdict(passed=True, reason=look.seen.open_since)
    else:
        verdict = evaluate_sla(lag, look.flow.lag_sla, look.up_s, look.silence)
        loss = evaluate_slo(point, lag, look.flow.rpo_slo, look.up_s, look.silence)
    speed = rate(before if before.at_ms else None, counters)
    return Report(look, lag, verdict, point, loss, speed, counters)


def events_of(report: Report, last: LastReported) -> tuple[list[Event], LastReported]:
    """Return the events to store now, in order, and what is reported by then.

    Checks come after the materialization: the UI hides a check that is older than its asset.
    """
    now_ms, health = report.look.seen.now_ms, report.look.health
    due = now_ms - last.sampled_ms >= SAMPLE_MS
    more = report.counters.records > last.moved_records and health.state in _COPYING
    moved = more and now_ms - last.moved_ms >= SAMPLE_MS
    now = replace(
        last,
        state=health.state,
        healthy=health.healthy,
        in_time=report.verdict.passed,
        recoverable=report.loss.passed,
        complete=_check(report, LOSS_CHECK)[0],
        beating=_check(report, BEAT_CHECK)[0],
        absent=len(report.look.seen.absent),
        sampled_ms=now_ms if due else last.sampled_ms,
        moved_ms=now_ms if moved else last.moved_ms,
        moved_records=report.counters.records if moved else last.moved_records,
        counters=report.counters,
    )
    changed = (now.state, now.healthy, now.absent) != (last.state, last.healthy, last.absent)
    key = stream_key(report.look.flow.name)
    candidates: list[tuple[bool, Callable[[], Event]]] = [
        (due or changed, lambda: dg.AssetObservation(key, metadata=_meta(report))),
        (moved, lambda: dg.AssetMaterialization(key, metadata=_meta(report))),
        (due or moved or now.in_time != last.in_time, lambda: _evaluation(report, LAG_CHECK)),
        (
            due or moved or now.recoverable != last.recoverable,
            lambda: _evaluation(report, RPO_CHECK),
        ),
        (due or moved or now.healthy != last.healthy, lambda: _evaluation(report, HEALTH_CHECK)),
        (due or moved or now.complete != last.complete, lambda: _evaluation(report, LOSS_CHECK)),
        (due or moved or now.beating != last.beating, lambda: _evaluation(report, BEAT_CHECK)),
    ]
    return [make() for is_due, make in candidates if is_due], now


def check_result(report: Report, check: str) -> dg.AssetCheckResult:
    """Return the result for a check that was run manually."""
    passed, reason = _check(report, check)
    return dg.AssetCheckResult(
        asset_key=stream_key(report.look.flow.name),
        check_name=check,
        passed=passed,
        description=reason,
        metadata=_figures(report),
    )


def _evaluation(report: Report, check: str) -> dg.AssetCheckEvaluation:
    passed, reason = _check(report, check)
    return dg.AssetCheckEvaluation(
        asset_key=stream_key(report.look.flow.name),
        check_name=check,
        passed=passed,
        description=reason,
        metadata=_figures(report),
    )


def _check(report: Report, check: str) -> tuple[bool, str]:
    if check == LAG_CHECK:
        return report.verdict.passed, report.verdict.reason
    if check == RPO_CHECK:
        return report.loss.passed, report.loss.reason
    if check == LOSS_CHECK:
        return losses.summary(report.look.seen.losses, report.look.seen.now_ms)
    if check == BEAT_CHECK:
        look, status = report.look, report.look.seen.status
        rests = resting(look.seen.desired, status.state if status else None)
        settings, now_ms = look.flow.mm2.heartbeats, look.seen.now_ms
        return beating(settings, look.tasks, now_ms, due_s=look.due_s, rests=rests)
    health = report.look.health
    return health.healthy, f"{health.state}: {health.reason}"


def _figures(report: Report) -> dict[str, str | int | float]:
    figures: dict[str, str | int | float] = {}
    if report.lag.seconds is not None:
        figures |= {"lag in records": report.lag.records, "lag in seconds": report.lag.seconds}
    if since := report.lag.unknown_since:
        figures["lag"] = since
    if report.point.partitions:
        figures |= _missing(report.point)
    if report.rate is not None:
        figures["records per second"] = round(report.rate.records_s, 1)
        figures["MB per second"] = round(report.rate.bytes_s / 1e6, 3)
    return figures


def _missing(point: RecoveryPoint) -> dict[str, str | int | float]:
    """Return what a failover would lose, as numbers that Dagster plots over time."""
    found: dict[str, str | int | float] = {
        "RPO in records": point.records,
        "RPO in bytes": point.bytes,
        "RPO in seconds": point.seconds,
    }
    if (since_ms := point.unknown_since_ms) is not None:
        found["RPO"] = f"not known since {format_moment(since_ms)} UTC: the numbers are older"
    return found


def _meta(report: Report) -> dict[str, Any]:
    health, status = report.look.health, report.look.seen.status
    facts = {
        "state": str(health.state),  # Dagster stores plain strings only, no members of an enum
        "reason": health.reason,
        "records copied": report.counters.records,
        "offsets lost": sum(each.lost for each in report.look.seen.anchors),
        "partitions": len(report.look.seen.anchors),
        **_figures(report),
        "topics": _table(report),
    }
    if report.point.groups:
        facts["groups"] = _groups(report.point)
    if gone := report.look.seen.absent:
        facts["topics not copied any more"] = _listed_absent(gone)
    if status is not None:
        facts |= {
            "driver": f"{status.host}, process {status.pid}",
            "driver generation": status.generation,
        }
    return facts


def _listed_absent(absent: tuple[AbsentTopic, ...]) -> str:
    shown = [f"{each.topic} {each.state}: {each.reason}" for each in absent[:ABSENT_SHOWN]]
    more = [f"and {len(absent) - ABSENT_SHOWN} more"] if absent[ABSENT_SHOWN:] else []
    return "; ".join([*shown, *more])


def _table(report: Report) -> dg.TableMetadataValue:
    anchors = report.look.seen.anchors
    topics = sorted({each.topic for each in anchors})[:TABLE_ROWS]
    records = []
    for topic in topics:
        lag, own = report.lag.topic(topic), [each for each in anchors if each.topic == topic]
        row: dict[str, str | int | float | bool | None] = {
            "topic": topic,
            "on target": own[0].target_topic,
            "partitions": len(own),
            "records": sum(each.records for each in own),
            "lag": lag.records if lag.seconds is not None else None,
            "seconds": lag.seconds,
            "RPO in records": report.point.topic(topic).records,
            "RPO in seconds": report.point.topic(topic).seconds,
            "state": next((str(e.state) for e in own if e.state != PartitionState.RUNNING), ""),
        }
        records.append(dg.TableRecord(row))
    return dg.MetadataValue.table(records, _SCHEMA)


_SCHEMA = dg.TableSchema(
    columns=[
        dg.TableColumn("topic", "string"),
        dg.TableColumn("on target", "string"),
        dg.TableColumn("partitions", "int"),
        dg.TableColumn("records", "int"),
        dg.TableColumn("lag", "int"),
        dg.TableColumn("seconds", "float"),
        dg.TableColumn("RPO in records", "int"),
        dg.TableColumn("RPO in seconds", "float"),
        dg.TableColumn("state", "string"),
    ]
)


def _groups(point: RecoveryPoint) -> dg.TableMetadataValue:
    """Return what a failover would lose of the records that groups had not read, the most first."""
    groups = sorted(point.groups, key=lambda each: (-each.records, each.group))[:TABLE_ROWS]
    records = [
        dg.TableRecord(
            {
                "group": each.group,
                "RPO in records": each.records,
                "RPO in bytes": each.bytes,
                "RPO in seconds": each.seconds,
                "offsets changed": format_moment(each.at_ms),
            }
        )
        for each in groups
    ]
    return dg.MetadataValue.table(records, _GROUP_SCHEMA)


_GROUP_SCHEMA = dg.TableSchema(
    columns=[
        dg.TableColumn("group", "string"),
        dg.TableColumn("RPO in records", "int"),
        dg.TableColumn("RPO in bytes", "int"),
        dg.TableColumn("RPO in seconds", "float"),
        dg.TableColumn("offsets changed", "string"),
    ]
)
