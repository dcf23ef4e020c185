"""What the clusters say about a file: changed names and aliases, before a flow starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.flows.plans import target_plans
from replication.config.file.findings import ConfigFinding, Severity
from replication.naming.name_changes import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.planning.planner import TargetPlan
    from replication.settings.config import Config


def cluster_findings(config: Config) -> tuple[tuple[ConfigFinding, ...], tuple[str, ...]]:
    """Return warnings about what the flows copied before, and which clusters did not answer."""
    names = [flow.name for flow in config.flows]
    plans = [plan for plan, _ in target_plans(config, names, frozenset())]
    silent = tuple(dict.fromkeys(problem for plan in plans for problem in plan.problems))
    messages = (*(message for plan in plans for message in _messages(plan)), *silent)
    found = tuple(ConfigFinding(Severity.WARNING, config.path, 0, "", each) for each in messages)
    return found, silent


def _messages(plan: TargetPlan) -> Iterator[str]:
    for flow, changes in plan.name_changes.items():
        for topic, each in changes.items():
            yield f"{flow}: {describe(topic, each)}"
    yield from plan.warnings
    for conflict in plan.conflicts:
        if conflict.refused:
            yield f"not copied: {conflict}"
