"""What the plan of a target says about topics that cannot be copied. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from orchestration.diagnosis.finding import DiagnosisFinding, FindingLevel, some
from replication.planning.apply import is_change
from replication.planning.overview import overview
from replication.planning.topic_plan import Keep, Refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.planning.planner import TargetPlan


def judge_plan(plan: TargetPlan) -> Iterator[DiagnosisFinding]:
    """Yield findings about the flows into one target."""
    where = f"cluster {plan.target}"
    for problem in plan.problems:
        yield DiagnosisFinding(
            FindingLevel.ERROR,
            where,
            "plan",
            problem,
            "correct what is found about this cluster "
            "and the sources of its flows, then run `isthmus doctor FILE` again",
        )
    for warning in plan.warnings:
        yield DiagnosisFinding(
            FindingLevel.WARNING, where, "plan", warning, "see `isthmus plan FILE`"
        )
    refused: dict[str, list[str]] = defaultdict(list)
    for action in plan.actions:
        if isinstance(action, Refuse):
            refused[action.reason].append(action.topic)
    for reason, topics in refused.items():
        what = f"not copied: {some(topics)}: {reason}"
        yield DiagnosisFinding(FindingLevel.ERROR, where, "topics", what, "see `isthmus plan FILE`")
    kept = [each for each in plan.actions if isinstance(each, Keep)]
    if kept:
        listed = some(f"{e.topic}: {e.reason}" for e in kept)
        what = f"{len(kept)} difference(s) that Isthmus does not change: {listed}"
        yield DiagnosisFinding(FindingLevel.NOTE, where, "plan", what)
    yield from _flows(plan)
    count = sum(map(is_change, plan.actions))
    if count:
        yield DiagnosisFinding(
            FindingLevel.NOTE,
            where,
            "plan",
            f"{count} change(s) are due; `isthmus plan FILE` lists them",
        )


def _flows(plan: TargetPlan) -> Iterator[DiagnosisFinding]:
    for source in plan.sources:
        found = overview(plan, source)
        where = f"flow {source.flow.name}"
        if found.gap:
            to_do = "correct topics and topics.exclude, or create the topics"
            yield DiagnosisFinding(FindingLevel.WARNING, where, "topics", found.gap, to_do)
        else:
            yield DiagnosisFinding(
                FindingLevel.OK, where, "topics", f"{len(found.topics)} topics are copied"
            )
