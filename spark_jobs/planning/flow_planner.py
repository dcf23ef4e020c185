"""Plans which partitions a flow copies now; creates or grows missing target topics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from replication.naming.conflicts import refusals
from replication.naming.name_changes import Changes, kept_names, with_names_in_use
from replication.naming.selection import gap
from replication.planning.execute import execute
from replication.state import PRODUCERS_TOPIC, flow_topics
from spark_jobs.memo import MemoizeLast
from spark_jobs.planning.delivery_modes import append_time_notice
from spark_jobs.planning.partition_plans import (
    MatchedTopics,
    partition_pairs,
    partition_plans,
    with_name_changes,
)
from spark_jobs.planning.plan_notes import (
    Note,
    change_notes,
    hidden_notes,
    nothing_else,
    outcome_notes,
)
from spark_jobs.planning.state_topics import StateTopics

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from replication.client.admin import ClusterAdmin, TopicInfo
    from replication.model import NameChange, PartitionPlan, TopicPartition
    from replication.naming.conflicts import NameConflict, Named
    from replication.naming.topic_namer import Namer
    from replication.planning.planner import Planner
    from replication.provenance.routes import Routes
    from replication.settings.naming_settings import MappedName
    from replication.state import AbsentTopic
    from spark_jobs.planning.delivery_modes import DeliveryModes
    from spark_jobs.planning.names_in_use import NamesInUse
    from spark_jobs.planning.naming_guard import NamingGuard
    from spark_jobs.planning.source_topics import SourceLook, SourceTopics


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """The partitions to copy, and a note for each change that was made or could not be made."""

    partitions: tuple[PartitionPlan, ...] = ()
    notes: tuple[str, ...] = ()
    gap: str = ""  # configured topics that the source does not have
    remark: str = ""  # what an operator should know about how topics are copied
    missing_state_topic: str = ""  # one of Isthmus' topics that was deleted on the target
    refused: str = ""  # why a selected topic cannot be copied
    absent: tuple[AbsentTopic, ...] = ()  # were copied, and are not copied now
    state_at_risk: str = ""  # which of Isthmus' topics loses state, and what to do


class FlowPlanMemory(NamedTuple):
    """What is remembered of one flow between two plans.

    ``check`` raises WrongCluster for another cluster than before, ConfigError if both are one.
    """

    topics: SourceTopics
    names: NamesInUse
    check: Callable[[ClusterAdmin, ClusterAdmin], None]


class _ChosenTopics(NamedTuple):
    """The topics of the source that are copied; those that are not have a reason here."""

    selected: tuple[str, ...]  # by the flow's settings, without the ``hidden`` ones
    hidden: Mapping[
        str, MappedName
    ]  # of the selected ones: they would come back, but for their names
    changes: Changes  # of names
    conflicts: tuple[NameConflict, ...]
    copies: Mapping[str, str]  # target topic by source topic

    @property
    def to_make(self) -> dict[str, str]:
        """Those that are made on the target: not while an operator has to choose a name."""
        waiting = {topic for topic, each in self.changes.items() if not each.choice}
        return {topic: copy for topic, copy in self.copies.items() if topic not in waiting}


class FlowPlanner:
    """Plans one flow repeatedly; a step whose input did not change is not computed again."""

    def __init__(
        self,
        namer: Namer,
        routes: Routes,
        guard: NamingGuard,
        modes: DeliveryModes,
        memory: FlowPlanMemory,
    ) -> None:
        self._flow = namer.flow
        self._selector = namer.selector
        self._guard = guard
        self._modes = modes
        self._source_topics = memory.topics
        self._prompt: frozenset[TopicPartition] = frozenset()  # in the flow's very first plan
        self._names = memory.names
        self._nameless = MemoizeLast(self._selector.nameless)
        self._named = MemoizeLast(namer.named)
        self._gap = MemoizeLast(partial(gap, self._selector))
        self._partitions = MemoizeLast(partial(partition_plans, self._flow, routes))
        self._renamed = MemoizeLast(with_name_changes)
        self._state_topics = StateTopics({*flow_topics(self._flow.source), PRODUCERS_TOPIC})
        self._check_clusters = memory.check

    def plan(self, source: ClusterAdmin, target: ClusterAdmin, planner: Planner) -> FlowPlan:
        """Return what the flow is to copy; create or grow the target's topics if the flow may.

        ``planner`` plans the missing topics, and considers other flows into the same ones.

        While nothing changes ``partitions`` is the same object. Raises ClusterUnavailable or
        ClusterRejected for the cluster as a whole, WrongCluster and ConfigError as
        ``FlowPlanMemory.check``. A topic that cannot
        be created, or that must not be merged with another, is left out: see ``refused``.
        """
        self._check_clusters(source, target)
        look = self._source_topics.look(source)
        theirs, ours = look.topics, target.topics()
        chosen = self._choose(look, ours, target)
        notes, problems = self._notes(chosen, theirs, ours), tuple[str, ...]()
        if missing := _missing_topics(chosen.to_make, theirs, ours):
            outcome, problems = self._make(missing, chosen.changes, planner)
            notes, ours = (*notes, *outcome), target.topics()
        there = {name: ours[copy] for name, copy in chosen.copies.items() if copy in ours}
        modes = self._modes.of({(each, there[each].name) for each in there}, source, target)
        texts = (self._guard.unreadable, *problems, *(each.text for each in notes))
        return FlowPlan(
            self._planned(look, chosen, there, modes),
            tuple(filter(None, texts)),
            self._gap(frozenset(theirs).union(each.topic for each in look.absent))
            or nothing_else(chosen.selected, chosen.hidden),
            "; ".join(filter(None, self._remarks(chosen.changes))),
            self._state_topics.deleted(ours),
            "; ".join(each.text for each in notes if each.refused),
            look.absent,
            self._state_topics.at_risk(target, ours.keys()),
        )

    def _choose(
        self, look: SourceLook, ours: Mapping[str, TopicInfo], target: ClusterAdmin
    ) -> _ChosenTopics:
        """Return which topics are copied, and under which names."""
        hidden = self._names.copies(look.selected)
        selected = tuple(each for each in look.selected if each not in hidden)
        changes = self._names.changes(selected, look.topics, ours)
        named = _in_use(self._named(selected), changes)
        conflicts = self._guard.conflicts(self._flow.name, named, ours, target)
        barred = refusals(conflicts, self._flow.name)
        copies = {each.topic: each.target for each in named if each.topic not in barred}
        return _ChosenTopics(selected, hidden, changes, conflicts, copies)

    def _notes(
        self,
        chosen: _ChosenTopics,
        theirs: Mapping[str, TopicInfo],
        ours: Mapping[str, TopicInfo],
    ) -> tuple[Note, ...]:
        """Return the notes on it; ``theirs``: topics of the source, ``ours``: of the target."""
        copied = {each: theirs[each] for each in chosen.copies}
        return (
            *(Note(str(each), bool(each.refused)) for each in chosen.conflicts),
            *(
                Note(f"{e.name}: {e.reason}", refused=True)
                for e in self._nameless(frozenset(theirs))
            ),
            *(Note(each, refused=False) for each in self._without_start(copied)),
            *change_notes(chosen.changes, ours),
            *(Note(each, refused=False) for each in self._names.warnings),
            *hidden_notes(chosen.hidden),
        )

    def _planned(
        self,
        look: SourceLook,
        chosen: _ChosenTopics,
        there: Mapping[str, TopicInfo],
        modes: Mapping[tuple[str, str], str],
    ) -> tuple[PartitionPlan, ...]:
        """Return the partitions to copy; ``there``: the target's topics that exist by now."""
        copied = {each: look.topics[each] for each in chosen.copies}
        if look.is_first:
            self._prompt = frozenset(each for each, _ in partition_pairs(copied, there))
        matched = MatchedTopics(copied, there, modes, look.inventory, self._prompt)
        return self._renamed(self._partitions(matched), chosen.changes)

    def _make(
        self, missing: Collection[str], changes: Changes, planner: Planner
    ) -> tuple[tuple[Note, ...], tuple[str, ...]]:
        """Create or grow topics of the target; return what came of it, and why some were not."""
        config = with_names_in_use(planner.config, {self._flow.name: changes})
        planner = replace(planner, config=config)
        plan = planner.plan(self._flow.target, {self._flow.name}, missing)
        done = execute(plan, planner, f"the driver of {self._flow.name}")
        return tuple(outcome_notes(done)), plan.problems

    def _remarks(self, changes: Mapping[str, NameChange]) -> tuple[str, ...]:
        return (
            append_time_notice(self._modes.retimed),
            self._modes.unseen,
            self._guard.unreadable,
            kept_names(changes),
            *self._names.warnings,
        )

    def _without_start(self, chosen: Mapping[str, TopicInfo]) -> Iterator[str]:
        """Yield a note for each partition without a start offset in a topic that has some."""
        for name, named in sorted(self._flow.copying.start_offsets.items()):
            count = chosen[name].partitions if name in chosen else 0
            for number in sorted(set(range(count)) - named.keys()):
                yield (
                    f"copy.start.offsets names no offset of {name}-{number}: if it was never "
                    "copied, copying starts at its first record"
                )


def _in_use(named: Iterable[Named], changes: Mapping[str, NameChange]) -> tuple[Named, ...]:
    """Return the names under which topics are copied now."""
    return tuple(
        each._replace(target=changes[each.topic].in_use) if each.topic in changes else each
        for each in named
    )


def _missing_topics(
    copies: Mapping[str, str], theirs: Mapping[str, TopicInfo], ours: Mapping[str, TopicInfo]
) -> frozenset[str]:
    """Return the target topics that are missing, or have too few partitions."""
    desired = ((copy, theirs[name].partitions) for name, copy in copies.items())
    return frozenset(
        name for name, count in desired if name not in ours or ours[name].partitions < count
    )
