"""Runs a sync only when there is something to change, and says when a copy differs for good.

A run costs 140 KB of history and a process; a schedule's tick that skips, 1 KB. So the tick plans,
which changes nothing, and asks for a run if the plan has changes. Changes that a run did not make
are drift: the check ``in_sync`` fails.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg

from orchestration.dagster.background_tasks.task_assets import desired_state, task_key
from orchestration.dagster.check_history import last_result
from orchestration.flows.observation.time_limit import in_time
from replication.errors import ReplicationError
from replication.model import Desired

if TYPE_CHECKING:
    from orchestration.dagster.background_tasks.task_assets import FlowTask
    from orchestration.dagster.resources import Isthmus
    from replication.settings.flow_settings import Flow

SYNC_CHECK = "in_sync"
LIMIT_S = 40.0  # a tick that takes a minute is lost; a run may take its time
AGAIN = timedelta(hours=6)  # a result that did not change is reported again after this
_SHOWN = 5
_PENDING = "pending"  # the key of the changes in the check's metadata


@dataclass(frozen=True, slots=True)
class Pending:
    """What a sync would change now; ``silence``: why that is not known."""

    changes: tuple[str, ...] = ()
    silence: str = ""

    @property
    def text(self) -> str:
        """The changes in a line."""
        more = len(self.changes) - _SHOWN
        shown = "; ".join(self.changes[:_SHOWN])
        return f"{shown}; and {more} more" if more > 0 else shown


@dataclass(frozen=True, slots=True)
class DriftVerdict:
    """Whether a copy is in sync; ``runs``: a run is to make the changes."""

    passed: bool
    reason: str
    runs: bool = False


def decide(pending: Pending, before: str | None) -> DriftVerdict | None:
    """Return the verdict of a tick; ``before``: the changes that the last one asked a run for.

    None: nothing is known, so nothing is said.
    """
    if pending.silence:
        return None
    if not pending.changes:
        return DriftVerdict(passed=True, reason="nothing to change")
    count = f"{len(pending.changes)} changes"
    if pending.text == before:
        return DriftVerdict(
            passed=False,
            reason=f"{count} pending after a run, see its log: {pending.text}",
            runs=True,
        )
    return DriftVerdict(passed=True, reason=f"a run makes {count}: {pending.text}", runs=True)


def sync_tick(
    instance: dg.DagsterInstance, isthmus: Isthmus, flow: str, task: FlowTask
) -> dg.RunRequest | dg.SkipReason:
    """Plan; report a verdict that is new; return whether a run is to make changes."""
    found = in_time(lambda one: find_pending(isthmus, one, task), [flow], LIMIT_S)[0]
    if found is None:  # it takes longer than a tick may
        return dg.RunRequest()
    key = dg.AssetCheckKey(task_key(flow, task.name), SYNC_CHECK)
    before = _last(instance, key)
    verdict = decide(found, before.pending)
    if verdict is None:
        return dg.SkipReason(f"not planned: {found.silence}")
    if verdict.passed is not before.passed or found.text != before.pending or before.is_old:
        _report(instance, key, verdict, found)
    return dg.RunRequest() if verdict.runs else dg.SkipReason(verdict.reason)


def find_pending(isthmus: Isthmus, name: str, task: FlowTask) -> Pending:
    """Return what a sync of a flow would change; changes nothing."""
    try:
        config, clients = isthmus.config(), isthmus.task_clients()
        flow: Flow = config.flow(name)
        desired = desired_state(flow, clients)
        if desired is not Desired.RUN:
            return Pending(silence=f"the desired state of the flow is {desired}")
        return Pending(tuple(task.pending(config, flow, clients)) if task.pending else ())
    except ReplicationError as error:
        return Pending(silence=str(error))


@dataclass(frozen=True, slots=True)
class _Last:
    """The verdict that was reported last."""

    passed: bool | None = None
    pending: str | None = None
    is_old: bool = True


def _last(instance: dg.DagsterInstance, key: dg.AssetCheckKey) -> _Last:
    last = last_result(instance, key)
    if last is None:
        return _Last()
    pending = last.evaluation.metadata.get(_PENDING)
    old = time.time() - last.at_s > AGAIN.total_seconds()
    return _Last(last.evaluation.passed, str(pending.value) if pending else "", old)


def _report(
    instance: dg.DagsterInstance, key: dg.AssetCheckKey, verdict: DriftVerdict, found: Pending
) -> None:
    if not verdict.runs:  # else the run materializes the asset
        metadata = {"summary": verdict.reason, "by": "a plan of the schedule"}
        instance.report_runless_asset_event(
            dg.AssetMaterialization(key.asset_key, metadata=metadata)
        )
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(
            key.asset_key,
            key.name,
            verdict.passed,
            description=verdict.reason,
            metadata={_PENDING: found.text},
        )
    )
