"""Applies a plan and records its outcomes, for the next plan and for status."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.clock import now_ms
from replication.errors import ReplicationError
from replication.planning.acl_sync import Grant, Revoke, remembered_rights
from replication.planning.apply import applied, apply_actions, is_change
from replication.planning.topic_plan import AlterConfigs, CreateTopic
from replication.state import AppliedAcls, AppliedConfigs, status_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.planning.apply import ActionOutcome
    from replication.planning.planner import Planner, TargetPlan
    from replication.settings.flow_settings import Flow
    from replication.state import Stored


def execute(plan: TargetPlan, planner: Planner, by: str) -> Iterator[ActionOutcome]:
    """Apply a plan and record what was applied. Yields each outcome when it is known.

    Raises ClusterUnavailable when the target falls silent: what was done until then is known.
    """
    if not plan.actions:
        return
    memory = _AppliedMemory(plan, planner, by)
    try:
        for outcome in apply_actions(plan.actions, planner.clients.target(plan.sources[0].flow)):
            memory.note(outcome)
            yield outcome
    except BaseException:
        with contextlib.suppress(ReplicationError):  # the first reason counts
            memory.write()
        raise
    memory.write()


@dataclass(frozen=True, slots=True)
class Execution:
    """What became of a plan."""

    outcomes: tuple[ActionOutcome, ...]
    problems: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The round in one line."""
        changed = sum(is_change(each.action) and not each.failed for each in self.outcomes)
        failed = [each.problem for each in self.outcomes if each.failed]
        parts = [f"{changed} changed" if changed else "nothing to change"]
        parts += [f"{len(failed)} rejected ({failed[0]})"] if failed else []
        return "; ".join((*parts, *self.problems))


def plan_and_apply(planner: Planner, flow: Flow, by: str) -> Execution:
    """Plan for one flow and apply the plan. Raises ClusterUnavailable, ClusterRejected."""
    plan = planner.plan(flow.target, {flow.name})
    return Execution(tuple(execute(plan, planner, by)), plan.problems)


class _AppliedMemory:
    """Collects what a plan applied, and writes it once."""

    def __init__(self, plan: TargetPlan, planner: Planner, by: str) -> None:
        self._plan = plan
        self._planner = planner
        self._by = by
        self._owners = {each.name: each.flows[0] for each in plan.desired}
        self._records: dict[str, tuple[Flow, list[Stored]]] = {}  # by source

    def note(self, outcome: ActionOutcome) -> None:
        """Keep what an outcome leaves to remember."""
        match outcome.action:
            case CreateTopic(topic=topic) | AlterConfigs(topic=topic):
                flow = self._owners[topic]
                before = self._plan.applied.get(topic, AppliedConfigs(flow, topic))
                now = replace(before, at_ms=now_ms(), by=self._by)
                self._keep(flow, applied(outcome, now))
            case Grant(flow=flow) | Revoke(flow=flow) as action:
                own = AppliedAcls(flow, *action.resource)
                known = {each.key(): each for each in self._plan.made}
                before_it = replace(known.get(own.key(), own), at_ms=now_ms(), by=self._by)
                self._keep(flow, remembered_rights(action, outcome.refused, before_it))

    def _keep(self, flow_name: str, record: Stored | None) -> None:
        flow = self._planner.config.flow(flow_name)
        if record is not None:
            self._records.setdefault(flow.source, (flow, []))[1].append(record)

    def write(self) -> None:
        """Store it all. Raises ClusterUnavailable."""
        for source, (flow, records) in self._records.items():
            store = self._planner.clients.store(flow)
            store.ensure_topics(source)
            store.write(status_topic(source), *records)
        self._records = {}
