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
from replication.supervision.partition_states import as_wanted, by_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orchestration.dagster.reports import Report
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
        complete=check_verdict(report, LOSS_CHECK)[0],
        beating=check_verdict(report, BEAT_CHECK)[0],
        in_force=report.in_force[0],
        practised=check_verdict(report, DRILL_CHECK)[0],
        verified=check_verdict(report, VERIFIED_CHECK)[0] if told else last.verified,
        batched=check_verdict(report, BATCH_CHECK)[0] if told else last.batched,
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
        (due or changed, lambda: dg.AssetObservation(key, metadata=metadata_of(report))),
        (moved, lambda: dg.AssetMaterialization(key, metadata=metadata_of(report))),
        (recheck or now.in_time != last.in_time, lambda: evaluation(report, LAG_CHECK)),
        (recheck or now.recoverable != last.recoverable, lambda: evaluation(report, RPO_CHECK)),
        (recheck or other, lambda: evaluation(report, HEALTH_CHECK)),
        (recheck or now.complete != last.complete, lambda: evaluation(report, LOSS_CHECK)),
        (recheck or now.beating != last.beating, lambda: evaluation(report, BEAT_CHECK)),
        (recheck or now.in_force != last.in_force, lambda: evaluation(report, FILE_CHECK)),
        (
            bool(report.look.flow.drill_max_age) and (recheck or now.practised != last.practised),
            lambda: evaluation(report, DRILL_CHECK),
        ),
        (
            told
            and bool(report.look.flow.verify_max_age)
            and (recheck or now.verified != last.verified),
            lambda: evaluation(report, VERIFIED_CHECK),
        ),
        (
            told
            and BATCH_CHECK in checks_of(report.look.flow)
            and (recheck or now.batched != last.batched),
            lambda: evaluation(report, BATCH_CHECK),
        ),
    ]
    return [make() for is_due, make in candidates if is_due], now


def _halted(look: FlowLook) -> str:
    """Return the states of topics that are not copied, each with a few: no number that grows."""
    wanted = as_wanted(look.flow.policies)
    bad = {(each.topic, str(each.state)) for each in look.anchors if each.state not in wanted}
    return by_state(sorted(bad))
