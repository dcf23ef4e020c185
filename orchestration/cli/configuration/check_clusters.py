"""What the clusters say about a file: changed names and aliases, before a flow starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.adapters.clients import KafkaClients
from replication.config.file.findings import Finding, Severity
from replication.errors import ReplicationError
from replication.naming.name_changes import describe
from replication.planning.planner import Planner, TargetPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.settings.sections import Config


def cluster_findings(config: Config) -> Iterator[Finding]:
    """Yield warnings about what the flows copied before, and the clusters that did not answer."""
    planner = Planner(config, KafkaClients(), frozenset())
    for target in dict.fromkeys(flow.target for flow in config.flows):
        try:
            plan = planner.plan(target)
        except ReplicationError as error:
            plan = TargetPlan(target, problems=(f"{target}: {error}",))
        for message in _messages(plan):
            yield Finding(Severity.WARNING, config.path, 0, "", message)


def _messages(plan: TargetPlan) -> Iterator[str]:
    for flow, changes in plan.name_changes.items():
        for topic, each in changes.items():
            yield f"{flow}: {describe(topic, each)}"
    yield from plan.warnings
    for conflict in plan.conflicts:
        if conflict.refused:
            yield f"not copied: {conflict}"
    yield from plan.problems
