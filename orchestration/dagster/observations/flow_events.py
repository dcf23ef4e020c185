"""All events about one flow beside those of its stream, and what is remembered of them. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import dagster as dg

from orchestration.dagster.assets import topics_key
from orchestration.dagster.background_tasks.group_offset_assets import (
    FRESH_CHECK,
    NAME,
    freshness,
)
from orchestration.dagster.background_tasks.task_assets import task_key
from orchestration.dagster.observations import task_rounds
from orchestration.dagster.observations.named_topics import named_events
from orchestration.dagster.observations.topic_events import (
    COPIED_CHECK,
    TopicMemory,
    copied_verdict,
    topic_changes,
)
from replication.supervision.heartbeat_check import resting
from replication.supervision.task_schedule import GROUPS_TASK

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from orchestration.dagster.observations.topic_events import Requests
    from orchestration.dagster.report_events import Event
    from orchestration.dagster.reports import FlowReport

CHECKED_MS = 1_800_000

_BY_NAME = ("tasks", "named", "checks")
Verdicts = dict[str, tuple[bool, int]]  # passed, and when it was reported last


@dataclass(frozen=True, slots=True)
class ReportedFlow:
    """What was reported of one flow; part of the sensor's cursor, safe to lose."""

    topics: TopicMemory = field(default_factory=TopicMemory)
    tasks: task_rounds.Reported = field(default_factory=dict)
    named: Verdicts = field(default_factory=dict)  # by named topic
    checks: Verdicts = field(default_factory=dict)

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> Self:
        """Read what ``dump`` returned. Raises ValueError and TypeError."""
        known = {each: task_rounds.parse(stored.get(each, {})) for each in _BY_NAME}
        return cls(TopicMemory.parse(stored.get("topics", {})), **known)

    def dump(self) -> dict[str, Any]:
        """Return it as plain values, without what is empty: cursors are to stay small."""
        return {name: each for name, each in asdict(self).items() if any(each.values())}


@dataclass(frozen=True, slots=True)
class FlowAssets:
    """What Dagster has of a flow: its topics, the named ones with their target names, its tasks."""

    partitions: Collection[str]
    named: Mapping[str, str]
    tasks: Collection[str]


def flow_events(
    report: FlowReport, known: FlowAssets, last: ReportedFlow, *, may_refresh: bool
) -> tuple[list[Event], Requests, ReportedFlow]:
    """Return the events about a flow that are due, and what Dagster knows then."""
    flow, look = report.look.flow, report.look
    changes = topic_changes(report, known.partitions, last.topics, may_refresh=may_refresh)
    rounds, tasks = task_rounds.round_events(flow.name, look.tasks, last.tasks, known.tasks)
    named, verdicts = named_events(report, known.named, last.named)
    moved = changes.memory.states != last.topics.states
    checks, checked = _check_events(report, last.checks, {COPIED_CHECK} if moved else set())
    memory = ReportedFlow(changes.memory, tasks, verdicts, checked)
    return [*changes.events, *rounds, *named, *checks], changes.requests, memory


def _check_events(
    report: FlowReport, last: Verdicts, again: Collection[str]
) -> tuple[list[Event], Verdicts]:
    """Return the checks whose verdict is new or old, or whose reason is another: ``again``."""
    now_ms, now = report.look.seen.now_ms, dict(last)
    events: list[Event] = []
    for name, key, (passed, reason) in _checks(report):
        was, was_ms = last.get(name, (None, 0))
        if passed is not was or now_ms - was_ms >= CHECKED_MS or name in again:
            events.append(dg.AssetCheckEvaluation(key, name, passed, description=reason))
            now[name] = passed, now_ms
    return events, now


def _checks(report: FlowReport) -> list[tuple[str, dg.AssetKey, tuple[bool, str]]]:
    flow, seen = report.look.flow, report.look.seen
    found: list[tuple[str, dg.AssetKey, tuple[bool, str]]] = []
    if seen.target_silence is None and seen.anchors:
        found.append((COPIED_CHECK, topics_key(flow.name), copied_verdict(report.look)))
    if flow.groups.sync and seen.target_silence is None:
        found.append((FRESH_CHECK, task_key(flow.name, NAME), groups_verdict(report)))
    return found


def groups_verdict(report: FlowReport) -> tuple[bool, str]:
    """Return whether the group offsets were synced recently, or need not be; and the reason."""
    seen, flow = report.look.seen, report.look.flow
    rests = resting(seen.desired, seen.status.state if seen.status else None)
    if rests:
        return True, rests
    last = next((each for each in report.look.tasks if each.name == GROUPS_TASK), None)
    passed, reason = freshness(last, flow, seen.now_ms)
    young = report.look.due_s < 60  # a driver that has just started has not synced yet
    return passed or young, reason
