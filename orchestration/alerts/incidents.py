"""Group what is wrong with flows by its cause: 100 flows behind one dead cluster are one incident.

Pure. What somebody asked for is none: a paused or stopped flow is not behind, and one that starts
is not dead.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.model import Desired, FlowState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from orchestration.alerts.conditions import Condition

START_S = 180.0  # so long a flow may take that somebody starts, resumes or stops
HOLD_S = 20.0  # a driver that died is running again before; a sensor's tick later it is 30 s
_OF_STATE = frozenset({"healthy", "lag_sla", "rpo_slo", "heartbeat_age"})  # follow from the state
_BEGINS = frozenset({"STARTING", "STOPPED", "STOPPING"})
FILE = "the configuration file"


@dataclass(frozen=True, slots=True)
class Incident:
    """One cause. It is an alert once it has lasted for ``hold_s``."""

    subject: str
    state: str
    reason: str
    checks: tuple[str, ...] = ()
    flows: tuple[str, ...] = ()
    at_risk: tuple[str, ...] = ()
    hold_s: float = 0.0
    halted: tuple[tuple[str, str], ...] = ()  # topics that are not copied, and the state of each


def incidents(
    conditions: Iterable[Condition], file_problem: str, now_ms: int
) -> dict[str, Incident]:
    """Return the incidents by subject."""
    found = list(conditions)
    all_of_them = (
        *_of_file(file_problem, found),
        *_of_clusters(found),
        *_of_drivers(found),
        *(each for condition in found for each in _of_flow(condition, file_problem, now_ms)),
    )
    return {each.subject: each for each in all_of_them}


def _of_file(problem: str, conditions: list[Condition]) -> Iterator[Incident]:
    if problem:
        flows = tuple(each.flow for each in conditions)
        yield Incident(FILE, "BROKEN_FILE", problem, ("file_in_force",), flows)


def _of_clusters(conditions: list[Condition]) -> Iterator[Incident]:
    by_cluster: dict[str, list[Condition]] = defaultdict(list)
    for each in conditions:
        for alias in each.silent if each.desired is not Desired.STOP else ():
            by_cluster[alias].append(each)
    for alias, those in sorted(by_cluster.items()):
        yield _common(f"cluster {alias}", "UNREACHABLE", those[0].silent[alias], those)


def _of_drivers(conditions: list[Condition]) -> Iterator[Incident]:
    by_application: dict[str, list[Condition]] = defaultdict(list)
    for each in conditions:
        if each.state == "DEAD" and not each.silent:
            by_application[each.application].append(each)
    for name, those in sorted(by_application.items()):
        yield _common(f"driver of {name}", "DEAD", those[0].reason, those)


def _common(subject: str, state: str, reason: str, those: list[Condition]) -> Incident:
    flows = tuple(each.flow for each in those)
    several = len(those) > 1
    at_risk = tuple(
        f"{each.flow} {part}" if several else part for each in those for part in each.at_risk
    )
    return Incident(subject, state, reason, ("healthy",), flows, at_risk, HOLD_S)


def _of_flow(condition: Condition, file_problem: str, now_ms: int) -> Iterator[Incident]:
    failed = _own(condition, file_problem)
    if not failed:
        return
    reason = "; ".join(dict.fromkeys(failed.values()))
    flows = (condition.flow,)
    yield Incident(
        condition.flow,
        condition.state,
        reason,
        tuple(failed),
        flows,
        condition.at_risk,
        _hold_s(condition, failed, now_ms),
        condition.halted if "healthy" in failed else (),
    )


def _own(condition: Condition, file_problem: str) -> Mapping[str, str]:
    """Return the failed checks that are no consequence of something else, nor asked for."""
    failed = dict(condition.failed)
    if condition.healthy:
        failed.pop("healthy", None)
    else:
        failed["healthy"] = condition.reason
    if condition.state == FlowState.WRONG_CLUSTER:
        failed = {name: why for name, why in failed.items() if name not in _OF_STATE - {"healthy"}}
    explained = condition.silent or condition.state == "DEAD"
    if explained or condition.desired is not Desired.RUN:
        failed = {name: why for name, why in failed.items() if name not in _OF_STATE}
    if file_problem:
        failed.pop("file_in_force", None)
    return failed


def _needs_somebody(condition: Condition) -> bool:
    return condition.state == FlowState.WRONG_CLUSTER or condition.needs_somebody


def _hold_s(condition: Condition, failed: Mapping[str, str], now_ms: int) -> float:
    if not failed.keys() <= _OF_STATE or _needs_somebody(condition):
        return 0.0
    asked_s = (now_ms - condition.asked_ms) / 1000
    if condition.state in _BEGINS or asked_s < START_S:
        return START_S
    return HOLD_S if set(failed) == {"healthy"} else 0.0
