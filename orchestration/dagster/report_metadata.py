"""The figures of a report as metadata of Dagster: numbers that it plots, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

from replication.durations import format_moment
from replication.model import PartitionState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestration.dagster.reports import FlowReport
    from replication.state import AbsentTopic, Anchor, FlowStatus
    from replication.supervision.recovery_point import RecoveryPoint

TABLE_ROWS = 50
_RECENT_MS = 60_000
ABSENT_SHOWN = 10
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
_GROUP_SCHEMA = dg.TableSchema(
    columns=[
        dg.TableColumn("group", "string"),
        dg.TableColumn("RPO in records", "int"),
        dg.TableColumn("RPO in bytes", "int"),
        dg.TableColumn("RPO in seconds", "float"),
        dg.TableColumn("offsets changed", "string"),
    ]
)


def figures_of(report: FlowReport) -> dict[str, str | int | float]:
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


def metadata_of(report: FlowReport) -> dict[str, Any]:
    health, status = report.look.health, report.look.seen.status
    facts = {
        "state": str(health.state),  # Dagster stores plain strings only, no members of an enum
        "healthy": health.healthy,
        "reason": health.reason,
        "records copied": report.counters.records,
        "offsets lost": sum(each.lost for each in report.look.seen.anchors),
        "partitions": len(report.look.seen.anchors),
        **figures_of(report),
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


def _table(report: FlowReport) -> dg.TableMetadataValue:
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


def _worst_topics(report: FlowReport) -> list[str]:
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
