"""The plans of a file's targets, read from the clusters; those that do not answer are problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.flows.reachability import Answers
from replication.adapters.clients import KafkaClients
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.planning.planner import ALL_PARTS, Planner, PlanPart, TargetPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from replication.settings.config import Config


def target_plans(
    config: Config,
    names: Sequence[str],
    parts: AbstractSet[PlanPart] = ALL_PARTS,
    *,
    again: bool = False,
) -> Iterator[tuple[TargetPlan, Planner]]:
    """Yield the plan of each target of the flows ``names``, and the planner that made it.

    All clusters are asked at once whether they answer. A plan's ``problems`` name those that do
    not: with a silent target there is nothing else in its plan.
    """
    targets = dict.fromkeys(config.flow(name).target for name in names)
    answers = Answers(flow for target in targets for flow in config.flows_into(target)).ask()
    planner = Planner(config, KafkaClients(answers.require), parts, again)
    for target in targets:
        flows = [name for name in names if config.flow(name).target == target]
        yield _plan(planner, target, flows, answers), planner


def _plan(planner: Planner, target: str, flows: Sequence[str], answers: Answers) -> TargetPlan:
    if target in answers.silent:
        clusters = {each.source for each in planner.config.flows_into(target)} | {target}
        lines = tuple(answers.line(each) for each in answers.silent if each in clusters)
        return TargetPlan(target, problems=lines)
    try:
        return planner.plan(target, flows)
    except (ClusterUnavailable, ClusterRejected) as error:
        return TargetPlan(target, problems=(f"{target}: {error}",))
