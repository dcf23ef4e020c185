"""What a flow is to copy now: asked of both clusters, topics made on the target on the way."""

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
from replication.planning.topics import Keep, Refuse
from replication.state import PRODUCERS_TOPIC, flow_topics
from spark_jobs.memo import MemoizeLast
from spark_jobs.planning.delivery_modes import new_times

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
    """Partitions to copy, and a sentence for each thing done, or left undone, on the way."""

    partitions: tuple[PartitionPlan, ...] = ()
    notes: tuple[str, ...] = ()
    gap: str = ""  # what is asked for and not there
    remark: str = ""  # what people should know of how it is copied
    missing: str = ""  # one of our own topics that the target does not have
    refused: str = ""  # why something that is selected cannot be copied


class FlowPlanner:
    """Plans one flow again and again; what stayed as it was is not worked out again."""

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
        self._apart = False  # whether source and target are known to be two clusters

    def plan(self, source: Cluster, target: Cluster, planner: Planner) -> FlowPlan:
        """Return what the flow is to copy; create or grow the target's topics if the flow may.

        ``planner`` plans what is missing, with an eye on other flows into the same topics.

        While nothing changes ``partitions`` is the same object. Raises ClusterUnavailable or
        ClusterRejected for the cluster as a whole, ConfigError if both are one. One topic that
        cannot be made, or that must not be mixed with another, is left out, and ``refused`` says
        why.
        """
        if not self._apart:
            refuse_same_cluster(self._flow, source, target)
            self._apart = True
        theirs = source.topics()
        names = frozenset(theirs)
        ours = target.topics()
        named = self._named(self._selected(names))
        conflicts = self._guard.conflicts(self._flow.name, named, ours, target)
        barred = refusals(conflicts, self._flow.name)
        copies = {each.topic: each.target for each in named if each.topic not in barred}
        chosen = {each: theirs[each] for each in copies}
        told = tuple(_Told(str(each), bool(each.refused)) for each in conflicts)
        told += tuple(_Told(f"{e.name}: {e.reason}", refused=True) for e in self._nameless(names))
        told += tuple(_Told(each, refused=False) for each in self._unnamed(chosen))
        silent: tuple[str, ...] = ()
        if lacking := _lacking(copies, theirs, ours):
            plan = planner.plan(self._flow.target, {self._flow.name}, lacking)
            silent = plan.problems
            told += tuple(_told(execute(plan, planner, f"the driver of {self._flow.name}")))
            ours = target.topics()
        there = {name: ours[copy] for name, copy in copies.items() if copy in ours}
        modes = self._modes.of({(each, there[each].name) for each in there}, source, target)
        return FlowPlan(
            self._partitions(chosen, there, modes),
            tuple(filter(None, (self._guard.unheard, *silent, *(each.text for each in told)))),
            self._gap(names),
            "; ".join(filter(None, self._remarks())),
            min(self._own - ours.keys(), default=""),
            "; ".join(each.text for each in told if each.refused),
        )

    def _remarks(self) -> tuple[str, ...]:
        return new_times(self._modes.retimed), self._modes.unseen, self._guard.unheard

    def _unnamed(self, chosen: Mapping[str, TopicInfo]) -> Iterator[str]:
        """Yield a sentence for each partition whose topic is named with other partitions alone."""
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
    """Return the pairs of partitions, with what the flow's settings say of each. Pure.

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
    """Return where a partition begins; one that only its topic's others are named of, at its start.

    What it holds came after those offsets were noted, or was never seen by who noted them.
    """
    return named.get(number, 0) if named else None


class _Told(NamedTuple):
    """A sentence for one action; ``refused``: because of it something is not copied."""

    text: str
    refused: bool


def _lacking(
    copies: Mapping[str, str], theirs: Mapping[str, TopicInfo], ours: Mapping[str, TopicInfo]
) -> frozenset[str]:
    """Return the target topics that are missing, or miss partitions."""
    wanted = ((copy, theirs[name].partitions) for name, copy in copies.items())
    return frozenset(
        name for name, count in wanted if name not in ours or ours[name].partitions < count
    )


def _told(outcomes: Iterable[Outcome]) -> Iterator[_Told]:
    for each in outcomes:
        said = explain_action(each.action)
        is_told = each.problem is None or isinstance(each.action, Keep | Refuse)
        text = said if is_told else f"{said}: {each.problem}"
        yield _Told(text, each.failed and not each.refused)
