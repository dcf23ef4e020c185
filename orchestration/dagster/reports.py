"""Decides which events about a flow are written to Dagster's history, and how often.

One event costs about 30 ms and 4 KB of a database that is never pruned. So: changes at once, a
sample of the figures every five minutes, checks and a materialization every half hour. The stream
is materialized while its target is up to date, or while records are copied to it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import dagster as dg

from orchestration.dagster.assets import stream_key
from replication.durations import format_moment
from replication.model import Desired, FlowState, PartitionState
from replication.recovery.drill import drill_age
from replication.supervision.batch_run import batch_age
from replication.supervision.flow_figures import CounterSample, Rate, rate, sample
from replication.supervision.heartbeat_check import beating, resting
from replication.supervision.lag import FlowLag, SlaVerdict, evaluate_sla
from replication.supervision.partition_states import as_wanted, by_state, loss_summary
from replication.supervision.recovery_point import RecoveryPoint, evaluate_slo
from replication.verification.verified_age import verified_age

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from orchestration.flows.observe import FlowLook
    from replication.adapters.followed_file import Reading
    from replication.settings.flow_settings import Flow
    from replication.state import AbsentTopic, Anchor, FlowStatus

SAMPLE_MS = 300_000
CHECKED_MS = 1_800_000  # the freshness policy of ``assets`` waits for longer
TABLE_ROWS = 50
_RECENT_MS = 60_000
ABSENT_SHOWN = 10
_COPYING = {FlowState.RUNNING, FlowState.DEGRADED}  # else the records are an earlier driver's
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


Event = dg.AssetObservation | dg.AssetMaterialization | dg.AssetCheckEvaluation


@dataclass(frozen=True, slots=True)
class LastReported:
    """The last reported state of a flow; kept in the sensor's cursor, safe to lose."""

    state: str = ""
    in_time: bool | None = None  # last verdict on the lag
    recoverable: bool | None = None  # last verdict on what a failover would lose
    healthy: bool | None = None
    halted: str = ""  # the states of its partitions in which they are not copied
    complete: bool | None = None  # no recent losses
    beating: bool | None = None  # heartbeats are young
    in_force: bool | None = None  # the driver follows the file as it is
    practised: bool | None = None  # the last good drill is young enough
    verified: bool | None = None  # the last good verification is, and no difference was found since
    batched: bool | None = None  # the last good run of a batch flow is
    sampled_ms: int = 0
    checked_ms: int = 0
    moved_ms: int = 0  # last materialization
    moved_records: int = 0
    absent: int = 0  # topics that are not copied any more
    counters: CounterSample = field(default_factory=CounterSample)

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> Self:
        return cls(**{**stored, "counters": CounterSample(**stored["counters"])})

    def dump(self) -> dict[str, Any]:
        stored = asdict(self)
        return stored if self.halted else {k: v for k, v in stored.items() if k != "halted"}


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
    in_force: tuple[bool, str] = (True, "")  # whether the driver follows the file, and why not

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


def build_report(
    look: FlowLook, lag: FlowLag, before: CounterSample, reading: Reading | None = None
) -> Report:
    """Return the report of a look; ``before`` are the counters of the previous one.

    ``reading``: of the file now.
    """
    counters = sample(look.seen.anchors, look.seen.now_ms)
    point = look.recovery_point(lag)
    if look.seen.open_since and look.seen.desired is Desired.STOP:  # clients are on the target
        verdict = loss = SlaVerdict(passed=True, reason=look.seen.open_since)
    elif look.flow.is_batch:  # a record waits for the next run, however long that is
        reason = f"a batch flow: {lag.records:,} records wait for its next run"
        verdict = loss = SlaVerdict(passed=True, reason=reason)
    else:
        flow = look.flow
        verdict = evaluate_sla(lag, flow.lag_sla, look.up_s, look.silence, flow.lag_sla_records)
        loss = evaluate_slo(point, lag, look.flow.rpo_slo, look.up_s, look.silence)
    speed = rate(before if before.at_ms else None, counters)
    followed = (True, "") if reading is None else look.follows(reading)
    return Report(look, lag, verdict, point, loss, speed, counters, followed)


def events_of(report: Report, last: LastReported) -> tuple[list[Event], LastReported]:
    """Return the events to store now, in order, and what is reported by then.

    Checks come after the materialization: the UI hides a check that is older than its asset.
    """
    now_ms, health = report.look.seen.now_ms, report.look.health
    due = now_ms - last.sampled_ms >= SAMPLE_MS
    more = report.counters.records > last.moved_records
    current = report.lag.seconds is not None and report.verdict.passed
    is_stream = not report.look.flow.is_batch  # a run of a batch flow is a materialization itself
    updated = is_stream and (more or current) and health.state in _COPYING
    moved = updated and now_ms - last.moved_ms >= CHECKED_MS
    recheck = moved or now_ms - last.checked_ms >= CHECKED_MS
    told = report.look.seen.target_silence is None  # else no verification is known
    now = replace(
        last,
        state=health.state,
        healthy=health.healthy,
        halted=_halted(report.look),
        in_time=report.verdict.passed,
        recoverable=report.loss.passed,
        complete=_check(report, LOSS_CHECK)[0],
        beating=_check(report, BEAT_CHECK)[0],
        in_force=report.in_force[0],
        practised=_check(report, DRILL_CHECK)[0],
        verified=_check(report, VERIFIED_CHECK)[0] if told else last.verified,
        batched=_check(report, BATCH_CHECK)[0] if told else last.batched,
        absent=len(report.look.seen.absent),
        sampled_ms=now_ms if due else last.sampled_ms,
        checked_ms=now_ms if recheck else last.checked_ms,
        moved_ms=now_ms if moved else last.moved_ms,
        moved_records=report.counters.records if moved else last.moved_records,
        counters=report.counters,
    )
    known = [(each.state, each.healthy, each.halted) for each in (now, last)]
    other = known[0] != known[1]
    changed = other or now.absent != last.absent
    key = stream_key(report.look.flow.name)
    candidates: list[tuple[bool, Callable[[], Event]]] = [
        (due or changed, lambda: dg.AssetObservation(key, metadata=_meta(report))),
        (moved, lambda: dg.AssetMaterialization(key, metadata=_meta(report))),
        (recheck or now.in_time != last.in_time, lambda: _evaluation(report, LAG_CHECK)),
        (recheck or now.recoverable != last.recoverable, lambda: _evaluation(report, RPO_CHECK)),
        (recheck or other, lambda: _evaluation(report, HEALTH_CHECK)),
        (recheck or now.complete != last.complete, lambda: _evaluation(report, LOSS_CHECK)),
        (recheck or now.beating != last.beating, lambda: _evaluation(report, BEAT_CHECK)),
        (recheck or now.in_force != last.in_force, lambda: _evaluation(report, FILE_CHECK)),
        (
            bool(report.look.flow.drill_max_age) and (recheck or now.practised != last.practised),
            lambda: _evaluation(report, DRILL_CHECK),
        ),
        (
            told
            and bool(report.look.flow.verify_max_age)
            and (recheck or now.verified != last.verified),
            lambda: _evaluation(report, VERIFIED_CHECK),
        ),
        (
            told
            and BATCH_CHECK in checks_of(report.look.flow)
            and (recheck or now.batched != last.batched),
            lambda: _evaluation(report, BATCH_CHECK),
        ),
    ]
    return [make() for is_due, make in candidates if is_due], now


def _halted(look: FlowLook) -> str:
    """Return the states of topics that are not copied, each with a few: no number that grows."""
    wanted = as_wanted(look.flow.policies)
    bad = {(each.topic, str(each.state)) for each in look.anchors if each.state not in wanted}
    return by_state(sorted(bad))


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
            "a batch flow beats only while a run copies" if look.flow.is_batch else ""
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
        "healthy": health.healthy,
        "reason": health.reason,
        "records copied": report.counters.records,
        "offsets lost": sum(each.lost for each in report.look.seen.anchors),
        "partitions": len(report.look.seen.anchors),
        **_figures(report),
        **_latency(report.look.seen.anchors, report.look.seen.now_ms),
        "topics": _table(report),
    }
    if report.point.groups:
        facts["groups"] = _groups(report.point)
    if gone := report.look.seen.absent:
        facts["topics not copied any more"] = _listed_absent(gone)
    if status is not None:
        facts |= {
            "driver": f"{status.host}, process {status.pid}",
            "driver starts": status.generation,
            **_throttles(status),
        }
    return facts


def _throttles(status: FlowStatus) -> dict[str, float]:
    """Return what keeps the flow below its budget: quotas in its last epoch, and a full disk."""
    figures = {
        "seconds throttled by the source": status.source_throttled_ms / 1000,
        "seconds throttled by the target": status.target_throttled_ms / 1000,
        "bytes per second while it throttles": status.backed_off_to,
        "bytes per second while a disk fills": status.disk_limit,
    }
    return {name: value for name, value in figures.items() if value}


def _latency(anchors: Iterable[Anchor], now_ms: int) -> dict[str, float]:
    """Return the mean of the last latencies, and the highest of the last minute, in seconds.

    No anchor holds a distribution: the p99 is between the two. See docs/metrics.md.
    """
    recent = [e.latency_ms for e in anchors if e.timed and now_ms - e.at_ms < _RECENT_MS]
    if not recent:
        return {}
    return {
        "latency in seconds": round(sum(each[0] for each in recent) / len(recent) / 1000, 3),
        "highest latency in seconds": max(each[1] for each in recent) / 1000,
    }


def _listed_absent(absent: tuple[AbsentTopic, ...]) -> str:
    shown = [f"{each.topic} {each.state}: {each.reason}" for each in absent[:ABSENT_SHOWN]]
    more = [f"and {len(absent) - ABSENT_SHOWN} more"] if absent[ABSENT_SHOWN:] else []
    return "; ".join([*shown, *more])


def _table(report: Report) -> dg.TableMetadataValue:
    anchors = report.look.anchors
    topics = _worst_topics(report)[:TABLE_ROWS]
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


def _worst_topics(report: Report) -> list[str]:
    """Return all topics: those that are not copied, then those that are the furthest behind."""
    behind: dict[str, tuple[bool, float, int]] = {}
    for each in report.look.anchors:
        behind.setdefault(each.topic, (False, 0.0, 0))
        if each.state != PartitionState.RUNNING:
            behind[each.topic] = (True, 0.0, 0)
    for lag in report.lag.partitions:
        name = lag.partition.topic
        if name in behind:  # not where the target does not answer
            bad, seconds, count = behind[name]
            behind[name] = (bad, max(seconds, lag.seconds or 0.0), count + (lag.records or 0))
    return sorted(behind, key=lambda each: ([-part for part in behind[each]], each))


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
