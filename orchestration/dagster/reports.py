"""The figures of one look at a flow, as checks, events and observations take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.model import Desired
from replication.supervision.flow_figures import CounterSample, Rate, rate, sample
from replication.supervision.lag import FlowLag, SlaVerdict, evaluate_sla
from replication.supervision.recovery_point import RecoveryPoint, evaluate_slo

if TYPE_CHECKING:
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.adapters.followed_file import FileInForce


@dataclass(frozen=True, slots=True)
class FlowReport:
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
    look: FlowLook, lag: FlowLag, before: CounterSample, reading: FileInForce | None = None
) -> FlowReport:
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
    return FlowReport(look, lag, verdict, point, loss, speed, counters, followed)
