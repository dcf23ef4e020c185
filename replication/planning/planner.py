"""Reads the clusters and plans what has to change on a target for its flows.

One implementation, three callers: the command line, Dagster's scheduled jobs and the driver's own
loop. The caller selects the parts of the plan.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING

from replication.client.cluster_ids import require_clusters
from replication.errors import ReplicationError
from replication.naming.conflicts import find_conflicts, refusals
from replication.naming.name_changes import describe, with_names_in_use
from replication.naming.selection import TopicSelector
from replication.naming.topic_namer import Namer
from replication.planning.acl_sync import plan_rights
from replication.planning.source_snapshot import (
    SourceSnapshot,
    desired_topics,
    read_source,
)
from replication.planning.target_snapshot import (
    AppliedState,
    read_history,
    read_names,
    read_others,
)
from replication.planning.topic_plan import (
    MIN_INSYNC,
    AlterConfigs,
    Keep,
    Refuse,
    TargetTopics,
    plan_topics,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from replication.client.admin import Clients, ClusterAdmin
    from replication.naming.conflicts import NameConflict
    from replication.naming.name_changes import Changes
    from replication.planning.apply import Action
    from replication.planning.topic_plan import DesiredTopic, TopicAction
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor, AppliedAcls, AppliedConfigs


class PlanPart(StrEnum):
    """A part of a plan."""

    TOPICS = "topics"  # to be created, or to grow
    CONFIGS = "configs"
    ACLS = "acls"


ALL_PARTS = frozenset(PlanPart)


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """What one target needs, and what was seen on the way."""

    target: str
    sources: tuple[SourceSnapshot, ...] = ()
    topics: TargetTopics | None = None
    desired: tuple[DesiredTopic, ...] = ()
    actions: tuple[Action, ...] = ()
    problems: tuple[str, ...] = ()  # clusters that did not answer; the others are planned
    conflicts: tuple[
        NameConflict, ...
    ] = ()  # conflicting names, and what is not copied because of them
    made: tuple[AppliedAcls, ...] = ()  # ACLs that are ours
    name_changes: Mapping[str, Changes] = field(default_factory=dict)  # by flow
    warnings: tuple[str, ...] = ()  # what an operator should know before a flow starts

    @property
    def applied(self) -> Mapping[str, AppliedConfigs]:
        """What was last applied, by topic of the target."""
        return self.topics.applied if self.topics else {}


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans for the flows of a file, with what it takes to ask their clusters."""

    config: Config
    clients: Clients
    parts: AbstractSet[PlanPart] = ALL_PARTS
    again: bool = False  # also retry what was rejected before

    def plan(
        self,
        target: str,
        names: Collection[str] | None = None,
        only: Collection[str] | None = None,
    ) -> TargetPlan:
        """Plan for one target, for what concerns the flows called ``names``.

        Other flows that may share topics with them are read all the same. ``only``: just
        these target topics, whose names the caller has judged. A source that does not answer is
        a problem, the target an error.
        """
        if only is not None:
            return self._plan(target, names, only)
        flows = self._flows(target, names)
        others = functools.cache(lambda: self._anchors_of_all(flows[0]))
        histories = {
            each.name: read_history(each, self.config, self.clients, others) for each in flows
        }
        changes = {flow: each.changes for flow, each in histories.items() if each.changes}
        copies = {flow: each.copies for flow, each in histories.items()}
        holder = replace(self, config=with_names_in_use(self.config, changes, copies))
        plan = holder._plan(target, names, None)  # noqa: SLF001 - of this class
        asked = [flow for flow in histories if names is None or flow in names]
        about = {flow: changes[flow] for flow in asked if flow in changes}
        named = _changed_names(about) if PlanPart.TOPICS in self.parts else ()
        actions = (*named, *plan.actions)
        warnings = tuple(chain.from_iterable(histories[flow].warnings for flow in asked))
        return replace(plan, actions=actions, name_changes=about, warnings=warnings)

    def _anchors_of_all(self, flow: Flow) -> tuple[Anchor, ...]:
        """Return the anchors of all flows into the target of ``flow``."""
        return read_others(self.clients.target(flow).topics(), self.clients.store(flow))

    def _flows(self, target: str, names: Collection[str] | None) -> list[Flow]:
        return [
            each
            for each in self.config.flows_into(target)
            if names is None or any(_may_meet(each, self.config.flow(name)) for name in names)
        ]

    def _plan(
        self, target: str, names: Collection[str] | None, only: Collection[str] | None
    ) -> TargetPlan:
        """Plan with the names that this planner's configuration gives."""
        flows = self._flows(target, names)
        kept = AppliedState(flows, self.clients)
        sources, problems = self._sources(kept, only)
        conflicts = self._conflicts(sources) if only is None else ()
        sources = tuple(
            replace(each, barred=refusals(conflicts, each.flow.name)) for each in sources
        )
        about = tuple(
            each
            for each in desired_topics(sources)
            if (names is None or set(each.flows) & set(names))
            and (only is None or each.name in only)
        )
        topics = self._target(kept, [each.name for each in about])
        actions = plan_topics(self._certain(about, problems), topics)
        found = TargetPlan(
            target,
            sources,
            topics,
            about,
            (
                *(_refused_names(conflicts, names) if PlanPart.TOPICS in self.parts else ()),
                *(each for each in actions if self._is_asked_for(each)),
            ),
            problems,
            conflicts,
        )
        return self._with_rights(found, names, kept)

    def _with_rights(
        self, plan: TargetPlan, names: Collection[str] | None, kept: AppliedState
    ) -> TargetPlan:
        if PlanPart.ACLS not in self.parts:
            return plan

        def is_asked(flow: str) -> bool:
            return names is None or flow in names

        # All of them have a say: what one flow has lost another one may still want.
        first = sorted(plan.sources, key=lambda each: not is_asked(each.flow.name))
        rights, made = plan_rights(first, self.clients, kept, complete=not plan.problems)
        rights = tuple(each for each in rights if not each.flow or is_asked(each.flow))
        return replace(plan, actions=(*plan.actions, *rights), made=made)

    def _conflicts(self, sources: Sequence[SourceSnapshot]) -> tuple[NameConflict, ...]:
        """Return the conflicts of the flows' target names."""
        named = [
            name
            for each in sources
            for name in Namer.for_flow(each.flow, self.config).named(each.chosen)
        ]
        if not named:
            return ()
        flow = sources[0].flow
        target, store = self.clients.target(flow), self.clients.store(flow)
        about = {each.target for each in named}
        return find_conflicts(named, read_names(about, target.topics(), target, store))

    def _certain(
        self, desired: Iterable[DesiredTopic], problems: Collection[str]
    ) -> Iterator[DesiredTopic]:
        """Leave configs alone that a source which did not answer has a say in."""
        for each in desired:
            flows = map(self.config.flow, each.flows)
            shared = bool(problems) and any(not flow.naming.prefixes_all for flow in flows)
            yield replace(each, desired_configs=None) if shared else each

    def _sources(
        self, kept: AppliedState, only: Collection[str] | None
    ) -> tuple[tuple[SourceSnapshot, ...], tuple[str, ...]]:
        found, problems = [], []
        for flow in kept.flows:
            selector = TopicSelector.for_flow(flow, self.config.clusters)
            try:
                source = self.clients.source(flow)
                known = kept.clusters(flow)
                require_clusters(known, source.cluster_id(), self.clients.target(flow).cluster_id())
                found.append(read_source(flow, selector, source, only))
                known.verify_source(source.cluster_id())  # it may have changed while it was read
            except ReplicationError as error:
                problems.append(f"{flow.name}: {error}")
        return tuple(found), tuple(problems)

    def _target(self, kept: AppliedState, names: Sequence[str]) -> TargetTopics:
        flow = kept.flows[0]
        found = read_target(self.clients.target(flow), flow.target, names)
        if PlanPart.CONFIGS not in self.parts:
            return found
        return replace(found, applied=kept.applied(), again=self.again)

    def _is_asked_for(self, action: TopicAction) -> bool:
        if isinstance(action, Keep):
            return not self.parts.isdisjoint({PlanPart.TOPICS, PlanPart.CONFIGS})
        return (
            PlanPart.CONFIGS if isinstance(action, AlterConfigs) else PlanPart.TOPICS
        ) in self.parts


def _refused_names(
    conflicts: Iterable[NameConflict], names: Collection[str] | None
) -> Iterator[Refuse]:
    """Yield a refusal for each target topic that flows of ``names`` must not write to."""
    for each in conflicts:
        if any(names is None or member.flow in names for member in each.refused):
            yield Refuse(each.target, each.reason)


def _changed_names(changes: Mapping[str, Changes]) -> Iterator[Refuse | Keep]:
    """Yield an action for each topic whose name changed: nothing is made while it waits."""
    for found in changes.values():
        for topic, each in found.items():
            if each.choice:
                yield Keep(each.old, describe(topic, each))
            else:
                yield Refuse(each.new, describe(topic, each))


def _may_meet(one: Flow, other: Flow) -> bool:
    """Say whether two flows into a target can share a topic; prefixes keep them apart."""
    prefixed = one.naming.prefixes_all and other.naming.prefixes_all
    groups = all(each.acls.enabled and each.acls.groups for each in (one, other))
    return one.name == other.name or not prefixed or groups


def read_target(target: ClusterAdmin, name: str, topics: Collection[str]) -> TargetTopics:
    """Ask a target about some topics. Raises ClusterUnavailable or ClusterRejected."""
    there = target.topics()
    settings = target.topic_settings([each for each in topics if each in there])
    new = not all(each in there for each in topics)
    default = target.broker_default(MIN_INSYNC) if new else None
    least = int(default) if default is not None and default.isdigit() else None
    return TargetTopics(there, target.broker_count(), name, settings, least)
