"""What a drill found: RTO, RPO, what became of the records; as values and in sentences."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from orchestration.recovery.failover_report import operation_json
from replication.durations import format_moment
from replication.state import Drill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.recovery.canaries import CanaryVerdict
    from replication.state import Operation


@dataclass(frozen=True, slots=True)
class DrillReport:
    """One drill of ``flow``. A number is None where the drill did not come so far."""

    flow: str
    id: str
    rate: int = 0  # records a second when the source was lost
    rto_s: float | None = None  # from the command until the group's first record on the target
    rpo_records: int | None = None  # acked by the source before the loss, and not on the target
    rpo_s: float | None = None  # the age of the oldest of them
    failback_s: float | None = None
    tail_records: int | None = None  # also those that the source took after the loss
    acked: int = 0  # records, when the source was lost
    group_practised: bool = True
    source: CanaryVerdict | None = None
    target: CanaryVerdict | None = None
    problems: tuple[str, ...] = ()
    operation: Operation | None = None
    files: tuple[str, ...] = ()  # where the report was written

    @property
    def good(self) -> bool:
        """Whether the drill came to its end, and found nothing wrong."""
        return not self.problems and self.source is not None and self.target is not None

    def record(self) -> Drill:
        """Return what is kept of it on the target."""
        operation = self.operation
        return Drill(
            self.flow,
            self.good,
            self.id,
            by=operation.by if operation else "",
            started_ms=operation.started_ms if operation else 0,
            ended_ms=operation.beat_ms if operation else 0,
            rto_s=self.rto_s,
            rpo_records=self.rpo_records,
            rpo_s=self.rpo_s,
            problem=next(iter(self.problems), ""),
            report=next(iter(self.files), ""),
        )

    def as_json(self) -> dict[str, Any]:
        """Return everything as values for JSON; times in ms."""
        return {
            **asdict(self),
            "good": self.good,
            "operation": None if self.operation is None else operation_json(self.operation),
        }

    def lines(self) -> Iterator[str]:
        """Yield it in sentences, the most important first."""
        yield f"{self.flow}: the drill was {'good' if self.good else 'not good'}"
        yield from (f"  {each}" for each in self.problems)
        if self.rto_s is not None:
            yield f"RTO {self.rto_s:.1f} s: from the command until the first record on the target"
        if self.rpo_records is not None:
            yield (
                f"RPO {self.rpo_records} records, the oldest {self.rpo_s or 0:.3f} s old, at "
                f"{self.rate} records a second"
            )
        if self.tail_records is not None:
            yield f"failback {self.failback_s or 0:.1f} s; the tail had {self.tail_records} records"
        if not self.group_practised:
            yield (
                "no group was practised: sync.group.offsets.enabled is false, so a failover would "
                "set no group's offsets"
            )
        for name, each in (("source", self.source), ("target", self.target)):
            if each is not None:
                yield f"{name}: {each}"
        yield from (f"report: {each}" for each in self.files)


def step_rows(operation: Operation) -> list[tuple[str, str, str, str]]:
    """Return of each step: its name, when it ended, how long it took, what it did."""
    rows, before = [], operation.started_ms
    for name, at_ms, did in operation.done:
        rows.append((name, format_moment(at_ms), f"{(at_ms - before) / 1000:.1f} s", did))
        before = at_ms
    return rows
