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
from replication.model import FlowState
from replication.supervision.flow_figures import CounterSample
from replication.supervision.partition_states import by_state, needing_no_action

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestration.dagster.reports import FlowReport
    from orchestration.flows.observation.flow_look import FlowLook
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
    check_verdict,
    checks_of,
    evaluation,
)
from orchestration.dagster.report_metadata import metadata_of

SAMPLE_MS = 300_000
CHECKED_MS = 1_800_000  # the freshness policy of ``assets`` waits for longer
_COPYING = {FlowState.RUNNING, FlowState.DEGRADED}  # else the records are an earlier driver's
_STORED_ON_TARGET = {VERIFIED_CHECK, BATCH_CHECK}  # what they are about is stored there
_FIELDS = {  # of ``LastReported``, by check
    LAG_CHECK: "in_time",
    RPO_CHECK: "recoverable",
    HEALTH_CHECK: "healthy",
    LOSS_CHECK: "complete",
    BEAT_CHECK: "beating",
    FILE_CHECK: "in_force",
    DRILL_CHECK: "practised",
    VERIFIED_CHECK: "verified",
    BATCH_CHECK: "batched",
}
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


def events_of(report: FlowReport, last: LastReported) -> tuple[list[Event], LastReported]:
    """Return the events to store now, in order, and what is reported by then.

    Checks come after the materialization: the UI hides a check that is older than its asset.
    """
    now_ms, moved = report.look.seen.now_ms, _moves(report, last)
    due = now_ms - last.sampled_ms >= SAMPLE_MS
    recheck = moved or now_ms - last.checked_ms >= CHECKED_MS
    now = replace(
        last,
        **_verdicts(report),
        state=report.look.health.state,
        halted=_halted(report.look),
        absent=len(report.look.seen.absent),
        sampled_ms=now_ms if due else last.sampled_ms,
        checked_ms=now_ms if recheck else last.checked_ms,
        moved_ms=now_ms if moved else last.moved_ms,
        moved_records=report.counters.records if moved else last.moved_records,
        counters=report.counters,
    )
    key, events = stream_key(report.look.flow.name), list[Event]()
    if due or _health(now) != _health(last) or now.absent != last.absent:
        events.append(dg.AssetObservation(key, metadata=metadata_of(report)))
    if moved:
        events.append(dg.AssetMaterialization(key, metadata=metadata_of(report)))
    checks = [each for each in _known_checks(report) if recheck or _differ(each, now, last)]
    return [*events, *(evaluation(report, each) for each in checks)], now


def _moves(report: FlowReport, last: LastReported) -> bool:
    """Whether the stream is materialized: its target is up to date, or records are copied to it."""
    look = report.look
    if look.flow.is_batch or look.health.state not in _COPYING:
        return False  # a run of a batch flow is a materialization itself
    more = report.counters.records > last.moved_records
    current = report.lag.seconds is not None and report.verdict.passed
    return (more or current) and look.seen.now_ms - last.moved_ms >= CHECKED_MS


def _known_checks(report: FlowReport) -> list[str]:
    """Return the checks of the flow that its clusters' answers decide."""
    is_silent = report.look.seen.target_silence is not None
    return [e for e in checks_of(report.look.flow) if not (is_silent and e in _STORED_ON_TARGET)]


def _verdicts(report: FlowReport) -> dict[str, Any]:
    """Return what the checks say now, by their field of what is reported."""
    return {_FIELDS[each]: check_verdict(report, each)[0] for each in _known_checks(report)}


def _differ(check: str, now: LastReported, last: LastReported) -> bool:
    if check == HEALTH_CHECK:
        return _health(now) != _health(last)
    field = _FIELDS[check]
    return bool(getattr(now, field) != getattr(last, field))


def _health(reported: LastReported) -> tuple[str, bool | None, str]:
    return reported.state, reported.healthy, reported.halted


def _halted(look: FlowLook) -> str:
    """Return the states of topics that are not copied, each with a few: no number that grows."""
    no_action = needing_no_action(look.flow.policies)
    bad = {(each.topic, str(each.state)) for each in look.anchors if each.state not in no_action}
    return by_state(sorted(bad))
