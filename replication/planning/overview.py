"""A target's plan, topic by topic: what is copied, under which name and how. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.naming.selection import gap
from replication.planning.topic_configs import mode_for, policy_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.naming.selection import Judgement
    from replication.planning.planner import TargetPlan
    from replication.planning.source_snapshot import SourceSnapshot


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic of a flow."""

    topic: str
    target_topic: str
    partitions: int
    mode: str
    there: bool  # on the target already


@dataclass(frozen=True, slots=True)
class FlowOverview:
    """What a flow copies, which patterns match nothing, and which topics a conflict excludes."""

    flow: str
    source: str
    target: str
    topics: tuple[TopicRow, ...]
    gap: str
    passed_over: tuple[Judgement, ...]


def overview(plan: TargetPlan, source: SourceSnapshot) -> FlowOverview:
    """Return one flow of a plan."""
    flow = source.flow
    return FlowOverview(
        flow.name,
        flow.source,
        flow.target,
        tuple(_rows(plan, source)),
        gap(source.selector, source.topics),
        source.selector.passed_over(source.topics),
    )


def _rows(plan: TargetPlan, source: SourceSnapshot) -> Iterator[TopicRow]:
    desired = {each.name: each for each in plan.desired}
    there = plan.topics.topics if plan.topics else {}
    ours = plan.topics.settings if plan.topics else {}
    for topic in source.chosen:
        name = source.selector.remote_topic(topic)
        is_there = name in there
        theirs = policy_of(source.settings, topic)
        made_with = desired[name].configs.get("cleanup.policy", "")
        mode = mode_for(
            theirs,
            policy_of(ours, name) if is_there else made_with,
            source.flow.copying.delivery,
        )
        yield TopicRow(topic, name, source.topics[topic].partitions, mode, is_there)
