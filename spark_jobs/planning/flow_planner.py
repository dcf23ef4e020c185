"""Plans which partitions a flow copies now; creates or grows missing target topics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from replication.model import PartitionPlan, TopicPartition
from replication.naming.conflicts import refusals
from replication.naming.java_regex import compile_rules
from replication.naming.selection import gap
from replication.planning.execute import execute
from replication.planning.explain import explain_action
from replication.planning.source_snapshot import refuse_same_cluster
from replication.planning.topics import Refuse
from replication.state import PRODUCERS_TOPIC, flow_topics
from spark_jobs.memo import MemoizeLast
from spark_jobs.planning.delivery_modes import append_time_notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.client.admin import Cluster, TopicInfo
    from replication.naming.topic_namer import Namer
    from replication.planning.apply import Outcome
    from replication.planning.planner import Planner
    from replication.provenance.routes import Routes
    from replication.settings.sections import Flow
    from spark_jobs.planning.delivery_modes import DeliveryModes
    from spark_jobs.planning.naming_guard import NamingGuard


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """The partitions to copy, and a note for each change that was made or could not be made."""

    partitions: tuple[PartitionPlan, ...] = ()
    notes: tuple[str, ...] = ()
    gap: str = ""  # configured topics that the source does not have
    remark: str = ""  # what an operator should know about how topics are copied
    missing_state_topic: str = ""  # one of Isthmus' topics that the target does not have
    refused: str = ""  # why a selected topic cannot be copied


class FlowPlanner:
    """Plans one flow repeatedly; a step whose input did not change is not computed again."""

    def __init__(
        self, namer: Namer, routes: Routes, guard: NamingGuard, modes: DeliveryModes
    ) -> None:
        self._flow = namer.flow
        self._selector = namer.selector
        self._guard = guard
        self._modes = modes
        self._selected = MemoizeLast(self._selector.selected)
        self._nameless = MemoizeLast(self._selector.nameless)
        self._named = MemoizeLast(namer.named)
        self._gap = MemoizeLast(partial(gap, self._selector))
        self._partitions = MemoizeLast(partial(_partitions, self._flow, routes))
        self._own = {*flow_topics(self._flow.source), PRODUCERS_TOPIC}
        self._are_two = False  # whether source and target are known to be two clusters

    def plan(self, source: Cluster, target: Cluster, planner: Planner) -> FlowPlan:
        """Return what the flow is to copy; create or grow the target's topics if the flow may.

        ``planner`` plans the missing topics, and considers other flows into the same ones.

        While nothing changes ``partitions`` is the same object. Raises ClusterUnavailable or
        ClusterRejected for the cluster as a whole, ConfigError if both are one. A topic that cannot
        be created, or that must not be merged with another, is left out: see ``refused``.
        """
        if not self._are_two:
            refuse_same_cluster(self._flow, source, target)
            self._are_two = True
        theirs = source.topics()
        names = frozenset(theirs)
        ours = target.topics()
        named = self._named(self._selected(names))
        conflicts = self._guard.conflicts(self._flow.name, named, ours, target)
        barred = refusals(conflicts, self._flow.name)
        copies = {each.topic: each.target for each in named if each.topic not in barred}
        chosen = {each: theirs[each] for each in copies}
        notes = tuple(_Note(str(each), bool(each.refused)) for each in conflicts)
        notes += tuple(_Note(f"{e.name}: {e.reason}", refused=True) for e in self._nameless(names))
        notes += tuple(_Note(each, refused=False) for each in self._without_start(chosen))
        problems: tuple[str, ...] = ()
        if missing := _missing_topics(copies, theirs, ours):
            plan = planner.plan(self._flow.target, {self._flow.name}, missing)
            problems = plan.problems
            notes += tuple(_notes_of(execute(plan, planner, f"the driver of {self._flow.name}")))
            ours = target.topics()
        there = {name: ours[copy] for name, copy in copies.items() if copy in ours}
        modes = self._modes.of({(each, there[each].name) for each in there}, source, target)
        return FlowPlan(
            self._partitions(chosen, there, modes),
            tuple(
                filter(None, (self._guard.unreadable, *problems, *(each.text for each in notes)))
            ),
            self._gap(names),
            "; ".join(filter(None, self._remarks())),
            min(self._own - ours.keys(), default=""),
            "; ".join(each.text for each in notes if each.refused),
        )

    def _remarks(self) -> tuple[str, ...]:
        return append_time_notice(self._modes.retimed), self._modes.unseen, self._guard.unreadable

    def _without_start(self, chosen: Mapping[str, TopicInfo]) -> Iterator[str]:
        """Yield a note for each partition without a start offset in a topic that has some."""
        for name, named in sorted(self._flow.copying.start_offsets.items()):
            count = chosen[name].partitions if name in chosen else 0
            for number in sorted(set(range(count)) - named.keys()):
                yield (
                    f"copy.start.offsets names no offset of {name}-{number}: if it was never "
                    "copied, copying starts at its first record"
                )


def _partitions(
    flow: Flow,
    routes: Routes,
    chosen: Mapping[str, TopicInfo],
    there: Mapping[str, TopicInfo],
    modes: Mapping[tuple[str, str], str],
) -> tuple[PartitionPlan, ...]:
    """Return the pairs of partitions, with the flow's settings for each. Pure.

    ``there`` are the target's topics, by their names at the source.
    """
    copying = flow.copying
    first = compile_rules(copying.priority_topics)
    return tuple(
        PartitionPlan(
            TopicPartition(name, number),
            TopicPartition(ours.name, number),
            chosen[name].topic_id,
            ours.topic_id,
            mode=modes[name, ours.name],
            first=priority,
            start=_start(copying.start_offsets.get(name, {}), number),
            origins=routes.rule(flow.name, name),
        )
        for name, ours in sorted(there.items())
        for priority in [any(rule.matches(name) for rule in first)]
        for number in range(min(chosen[name].partitions, ours.partitions))
    )


def _start(named: Mapping[int, int], number: int) -> int | None:
    """Return a partition's start offset: 0 where only other partitions of its topic have one.

    Its records came after those offsets were taken, or whoever took them did not see it.
    """
    return named.get(number, 0) if named else None


class _Note(NamedTuple):
    """A note on one action; ``refused``: because of it a topic is not copied."""

    text: str
    refused: bool


def _missing_topics(
    copies: Mapping[str, str], theirs: Mapping[str, TopicInfo], ours: Mapping[str, TopicInfo]
) -> frozenset[str]:
    """Return the target topics that are missing, or have too few partitions."""
    desired = ((copy, theirs[name].partitions) for name, copy in copies.items())
    return frozenset(
        name for name, count in desired if name not in ours or ours[name].partitions < count
    )


def _notes_of(outcomes: Iterable[Outcome]) -> Iterator[_Note]:
    for each in outcomes:
        action = explain_action(each.action)
        has_reason = each.problem is None or isinstance(each.action, Refuse)
        text = action if has_reason else f"{action}: {each.problem}"
        yield _Note(text, each.failed and not each.refused)
