"""What would change on a target so that it is as its flows say: asked, planned, carried out.

One implementation, three callers: the command line, Dagster's scheduled jobs and the driver's own
loop. Whoever asks says which parts of the plan it is about.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from replication.apply import applied, carry_out, is_change
from replication.errors import ReplicationError
from replication.selection import TopicSelector
from replication.state import Applied, status_topic
from replication.topics import MIN_INSYNC, AlterConfigs, TargetTopics, plan_topics
from replication.wanted import SourceSnapshot, read_source, wanted_topics

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from replication.apply import Action, Outcome
    from replication.config.model import Config, Flow
    from replication.ports import Clients, Cluster
    from replication.topics import TopicAction, WantedTopic


class Part(StrEnum):
    """A part of a plan."""

    TOPICS = "topics"  # to be made, or to grow
    CONFIGS = "configs"


ALL_PARTS = frozenset(Part)


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """What one target needs, and what was seen on the way."""

    target: str
    sources: tuple[SourceSnapshot, ...] = ()
    topics: TargetTopics | None = None
    wanted: tuple[WantedTopic, ...] = ()
    actions: tuple[Action, ...] = ()
    problems: tuple[str, ...] = ()  # clusters that could not be asked; the rest is planned


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans for the flows of a file, with what it takes to ask their clusters."""

    config: Config
    clients: Clients
    parts: Collection[Part] = field(default_factory=lambda: ALL_PARTS)
    again: bool = False  # try what was refused before, too

    def plan(
        self,
        target: str,
        names: Collection[str] | None = None,
        only: Collection[str] | None = None,
    ) -> TargetPlan:
        """Plan for one target, for what concerns the flows called ``names``.

        Other flows that may share topics with them are asked all the same. ``only``: just
        these target topics. A source that does not answer is a problem, the target an error.
        """
        flows = [
            each
            for each in self.config.flows_into(target)
            if names is None or any(_may_meet(each, self.config.flow(name)) for name in names)
        ]
        sources, problems = self._sources(flows, only)
        about = [
            each
            for each in wanted_topics(sources)
            if (names is None or set(each.flows) & set(names))
            and (only is None or each.name in only)
        ]
        topics = self._target(flows, [each.name for each in about])
        actions = tuple(
            each
            for each in plan_topics(self._certain(about, problems), topics)
            if self._is_asked_for(each)
        )
        return TargetPlan(target, sources, topics, tuple(about), actions, problems)

    def _certain(
        self, wanted: Iterable[WantedTopic], problems: Collection[str]
    ) -> Iterator[WantedTopic]:
        """Leave configs alone that a source which did not answer has a say in."""
        for each in wanted:
            flows = map(self.config.flow, each.flows)
            shared = bool(problems) and any(not flow.naming.prefixes_all for flow in flows)
            yield replace(each, wish=None) if shared else each

    def _sources(
        self, flows: Iterable[Flow], only: Collection[str] | None
    ) -> tuple[tuple[SourceSnapshot, ...], tuple[str, ...]]:
        found, problems = [], []
        for flow in flows:
            selector = TopicSelector.for_flow(flow, self.config.clusters)
            try:
                found.append(read_source(flow, selector, self.clients.source(flow), only))
            except ReplicationError as error:
                problems.append(f"{flow.name}: {error}")
        return tuple(found), tuple(problems)

    def _target(self, flows: Sequence[Flow], names: Sequence[str]) -> TargetTopics:
        found = read_target(self.clients.target(flows[0]), flows[0].target, names)
        if Part.CONFIGS not in self.parts:
            return found
        return replace(found, applied=remembered(flows, self.clients), again=self.again)

    def _is_asked_for(self, action: TopicAction) -> bool:
        return (Part.CONFIGS if isinstance(action, AlterConfigs) else Part.TOPICS) in self.parts


def _may_meet(one: Flow, other: Flow) -> bool:
    """Say whether two flows into a target can share a topic; prefixes keep them apart."""
    return one.name == other.name or not (one.naming.prefixes_all and other.naming.prefixes_all)


def read_target(target: Cluster, name: str, topics: Iterable[str]) -> TargetTopics:
    """Ask a target about some topics. Raises ClusterUnavailable or ClusterRejected."""
    there = target.topics()
    settings = target.topic_settings([each for each in topics if each in there])
    default = target.broker_default(MIN_INSYNC)
    least = int(default) if default is not None and default.isdigit() else None
    return TargetTopics(there, target.broker_count(), name, settings, least)


def remembered(flows: Iterable[Flow], clients: Clients) -> Mapping[str, Applied]:
    """Return what was last applied to each topic of these flows."""
    flows = tuple(flows)
    names = {each.name for each in flows}
    topics = {each.source: each for each in flows}
    return {
        record.topic: record
        for source, flow in topics.items()
        for record in clients.store(flow).read(status_topic(source)).values()
        if isinstance(record, Applied) and record.flow in names
    }


def execute(plan: TargetPlan, planner: Planner, by: str) -> Iterator[Outcome]:
    """Carry a plan out, and remember what was done. Yields each outcome as it comes.

    Raises ClusterUnavailable when the target falls silent: what was done until then is known.
    """
    if not plan.actions:
        return
    memory = _Memory(plan, planner, by)
    try:
        for outcome in carry_out(plan.actions, planner.clients.target(plan.sources[0].flow)):
            memory.note(outcome)
            yield outcome
    except BaseException:
        with contextlib.suppress(ReplicationError):  # the first reason counts
            memory.write()
        raise
    memory.write()


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of a plan."""

    outcomes: tuple[Outcome, ...]
    problems: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The round in one line."""
        changed = sum(is_change(each.action) and not each.failed for each in self.outcomes)
        failed = [each.problem for each in self.outcomes if each.failed]
        parts = [f"{changed} changed" if changed else "nothing to change"]
        parts += [f"{len(failed)} refused ({failed[0]})"] if failed else []
        return "; ".join((*parts, *self.problems))


def carry(planner: Planner, flow: Flow, by: str) -> Carried:
    """Plan for one flow and carry the plan out. Raises ClusterUnavailable, ClusterRejected."""
    plan = planner.plan(flow.target, {flow.name})
    return Carried(tuple(execute(plan, planner, by)), plan.problems)


class _Memory:
    """What is to be remembered of a plan that is carried out; written once."""

    def __init__(self, plan: TargetPlan, planner: Planner, by: str) -> None:
        self._known = plan.topics.applied if plan.topics else {}
        self._owners = {each.name: planner.config.flow(each.flows[0]) for each in plan.wanted}
        self._clients = planner.clients
        self._by = by
        self._records: dict[str, tuple[Flow, list[Applied]]] = {}  # by source

    def note(self, outcome: Outcome) -> None:
        topic = outcome.action.topic
        flow = self._owners[topic]
        before = self._known.get(topic, Applied(flow.name, topic))
        record = applied(outcome, replace(before, at_ms=int(time.time() * 1000), by=self._by))
        if record is not None:
            self._records.setdefault(flow.source, (flow, []))[1].append(record)

    def write(self) -> None:
        for source, (flow, records) in self._records.items():
            store = self._clients.store(flow)
            store.ensure_topics(source)
            store.write(status_topic(source), *records)
        self._records = {}
