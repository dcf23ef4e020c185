"""A drill: a failover and a failback, practised with canary records. Pure.

Only the canary topic and the group of the drill are touched, under aliases of its own. Every step
may be followed by ``clean up``: a drill is never continued, the next one begins with removing it::

    clear ─ prepare ─ lose source ─ fail over ─ work on target ─ return ─ fail back ─ compare ─
        clean up
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.durations import format_duration, format_moment
from replication.errors import ConfigError
from replication.recovery.procedure import StepPlan

if TYPE_CHECKING:
    from datetime import timedelta

    from replication.model import TopicPartition
    from replication.recovery.canaries import FoundRecord
    from replication.state import Drill
    from replication.state.drill_names import DrillNames
    from replication.supervision.recovery_point import RecoveryPoint

CLEAR, COMPARE, CLEAN_UP = "clear", "compare", "clean up"


@dataclass(frozen=True, slots=True)
class DrillOptions:
    """How to practise. ``rate``: records a second while the source is lost."""

    rate: int = 200
    partitions: int = 3
    timeout_s: float = 180.0  # of each wait

    def __post_init__(self) -> None:
        """Raise ConfigError for values that cannot succeed."""
        if self.rate < 1 or self.partitions < 1 or self.timeout_s <= 0:
            raise ConfigError("--rate, --partitions and --timeout must be above 0")


def drill_steps(names: DrillNames, options: DrillOptions) -> tuple[StepPlan, ...]:
    """Return the steps of a drill, in order."""
    here, there = names.source, names.target
    return (
        StepPlan(CLEAR, "remove what a drill that was killed left behind"),
        StepPlan(
            "prepare",
            f"create {names.topic} ({options.partitions} partitions) on {here}, copy it to {there} "
            "by Spark drivers of its own",
        ),
        StepPlan(
            "lose source",
            f"write {options.rate} records a second to {here}, commit offsets of {names.group}, "
            "and kill -9 the drivers meanwhile",
        ),
        StepPlan("fail over", f"failover of {names.flow}"),
        StepPlan("work on target", f"write to {there}, as clients do meanwhile"),
        StepPlan("return of source", f"start drivers in both directions: {here} is back"),
        StepPlan("fail back", f"failback of {names.flow}, which merges the tail"),
        StepPlan(COMPARE, f"compare every record on {here} and {there}"),
        StepPlan(CLEAN_UP, "delete the topics, the group and the state of the drill"),
    )


def misannounced(
    point: RecoveryPoint, missing: dict[TopicPartition, list[FoundRecord]]
) -> tuple[str, ...]:
    """Return where a failover named other records than those that are missing on the target.

    ``missing`` are the records by their offsets on the source.
    """
    named = {each.partition: each for each in point.partitions}
    problems = []
    for where, records in sorted(missing.items()):
        announced = named.get(where)
        offsets = [each.offset for each in records]
        if announced is None:
            problems.append(
                f"{where}: offset {offsets[0]} is missing; the failover did not report it"
            )
        elif offsets[0] < announced.first or (announced.exact and offsets[0] != announced.first):
            problems.append(
                f"{where}: offsets from {offsets[0]} on are missing; the failover reported "
                f"{announced.first} as the first missing offset"
            )
    for where, each in sorted(named.items()):
        if each.exact and each.records > len(missing.get(where, [])):
            problems.append(
                f"{where}: the failover reported {each.records} missing records, but "
                f"{len(missing.get(where, []))} are missing"
            )
    return tuple(problems)


def drill_age(good: Drill | None, limit: timedelta, now_ms: int) -> tuple[bool, str]:
    """Say whether the last good drill is younger than ``limit``, and the reason."""
    allowed = format_duration(limit)
    if good is None:
        return False, f"there was no good drill yet; drill.max.age is {allowed}: isthmus drill FILE"
    when = f"the last good drill ended at {format_moment(good.ended_ms)} UTC"
    if now_ms - good.ended_ms > limit.total_seconds() * 1000:
        return False, f"{when}, longer ago than drill.max.age = {allowed}: isthmus drill FILE"
    return True, f"{when} (RTO {good.rto_s or 0:.1f} s, RPO {good.rpo_records or 0} records)"
