"""What a flow is to copy now: asked of both clusters, topics made on the target on the way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from replication.apply import apply_plan
from replication.explain import explain_action
from replication.gaps import gap
from replication.java_regex import compile_rules
from replication.model import PartitionPlan, TopicPartition
from replication.naming_conflicts import refusals
from replication.remembering import Last
from replication.topics import CreateTopic, GrowTopic, Refuse, WantedTopic, plan_topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.apply import Outcome
    from replication.config.model import CopySettings, Flow
    from replication.namer import Namer
    from replication.ports import Cluster, TopicInfo
    from replication.selection import TopicSelector
    from spark_jobs.modes import Modes
    from spark_jobs.naming_guard import NamingGuard

# Set for the brokers of one cluster, or in the way of copies that keep their timestamps.
_NOT_COPIED = frozenset(
    {
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.difference.max.ms",
        "message.timestamp.type",
        "min.insync.replicas",
        "unclean.leader.election.enable",
    }
)


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """Partitions to copy, and a sentence for each thing done, or left undone, on the way."""

    partitions: tuple[PartitionPlan, ...] = ()
    notes: tuple[str, ...] = ()
    gap: str = ""  # what is asked for and not there
    refused: str = ""  # why something that is selected cannot be copied


class FlowPlanner:
    """Plans one flow again and again; what stayed as it was is not worked out again."""

    def __init__(self, namer: Namer, guard: NamingGuard, modes: Modes) -> None:
        self._flow = namer.flow
        self._selector = namer.selector
        self._guard = guard
        self._modes = modes
        self._selected = Last(self._selector.selected)
        self._named = Last(namer.named)
        self._gap = Last(partial(gap, self._selector))
        self._partitions = Last(partial(_partitions, self._flow.copying))

    def plan(self, source: Cluster, target: Cluster) -> FlowPlan:
        """Return what the flow is to copy; create or grow the target's topics if the flow may.

        While nothing changes ``partitions`` is the same object. Raises ClusterUnavailable or
        ClusterRejected for the cluster as a whole. One topic that cannot be made, or that must not
        be mixed with another, is left out, and ``refused`` says why.
        """
        theirs, remote = source.topics(), self._selector.remote_topic
        names = frozenset(theirs)
        ours = target.topics()
        named = self._named(self._selected(names))
        conflicts = self._guard.conflicts(self._flow.name, named, ours, target)
        barred = refusals(conflicts, self._flow.name)
        chosen = {each.topic: theirs[each.topic] for each in named if each.topic not in barred}
        told = tuple(_Told(str(each), bool(each.refused)) for each in conflicts)
        if any(_lacks(ours, remote(name), info) for name, info in chosen.items()):
            told += _prepare(self._flow, self._selector, chosen, (source, target))
            ours = target.topics()
        there = {name: ours[remote(name)] for name in chosen if remote(name) in ours}
        modes = self._modes.of({(each, there[each].name) for each in there}, source, target)
        return FlowPlan(
            self._partitions(chosen, there, modes),
            tuple(each.text for each in told),
            self._gap(names),
            "; ".join(each.text for each in told if each.refused),
        )


def _partitions(
    copying: CopySettings,
    chosen: Mapping[str, TopicInfo],
    there: Mapping[str, TopicInfo],
    modes: Mapping[tuple[str, str], str],
) -> tuple[PartitionPlan, ...]:
    """Return the pairs of partitions, with what the flow's settings say of each. Pure.

    ``there`` are the target's topics, by their names at the source.
    """
    first = compile_rules(copying.priority_topics)
    return tuple(
        PartitionPlan(
            TopicPartition(name, number),
            TopicPartition(ours.name, number),
            chosen[name].topic_id,
            ours.topic_id,
            mode=modes[name, ours.name],
            first=priority,
            start=copying.start_offsets.get(name, {}).get(number),
        )
        for name, ours in sorted(there.items())
        for priority in [any(rule.matches(name) for rule in first)]
        for number in range(min(chosen[name].partitions, ours.partitions))
    )


class _Told(NamedTuple):
    """A sentence for one action; ``refused``: because of it something is not copied."""

    text: str
    refused: bool


def _lacks(ours: Mapping[str, TopicInfo], name: str, theirs: TopicInfo) -> bool:
    return name not in ours or ours[name].partitions < theirs.partitions


def _prepare(
    flow: Flow,
    selector: TopicSelector,
    chosen: Mapping[str, TopicInfo],
    clusters: tuple[Cluster, Cluster],
) -> tuple[_Told, ...]:
    source, target = clusters
    if not flow.creation.enabled:
        lacking = (
            f"{flow.target} lacks topics or partitions of {flow.source}, and this flow may not "
            "make any: make them by hand"
        )
        return (_Told(lacking, refused=True),)
    configs = source.topic_configs(chosen)
    wanted = [
        wanted_topic(flow, selector.remote_topic(name), info, configs.get(name, {}))
        for name, info in chosen.items()
    ]
    plan = plan_topics(wanted, target.topics(), target.broker_count())
    return tuple(_told(apply_plan(plan, target)))


def wanted_topic(
    flow: Flow, name: str, theirs: TopicInfo, configs: Mapping[str, str]
) -> WantedTopic:
    """Return how a topic of the source should be on the target. Pure."""
    creation = flow.creation
    copied = {} if creation.configs_strategy == "NONE" else dict(configs)
    kept = {key: value for key, value in copied.items() if key not in _NOT_COPIED}
    if creation.min_insync_replicas is not None:
        kept["min.insync.replicas"] = str(creation.min_insync_replicas)
    partitions = max(theirs.partitions, creation.default_partitions or 1)
    return WantedTopic(name, partitions, creation.replication_factor, kept)


def _told(outcomes: Iterable[Outcome]) -> Iterator[_Told]:
    for each in outcomes:
        said = explain_action(each.action)
        rejected = bool(each.problem) and isinstance(each.action, CreateTopic | GrowTopic)
        text = f"{said}: {each.problem}" if rejected else said
        yield _Told(text, rejected or isinstance(each.action, Refuse))
