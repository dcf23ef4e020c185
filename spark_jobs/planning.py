"""What a flow is to copy now: asked of both clusters, topics made on the target on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.apply import apply_plan
from replication.explain import explain_action
from replication.gaps import gap
from replication.java_regex import compile_rules
from replication.model import PartitionPlan, TopicPartition
from replication.topics import CreateTopic, GrowTopic, Refuse, WantedTopic, plan_topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.apply import Outcome
    from replication.config.model import CopySettings, Flow
    from replication.ports import Cluster, TopicInfo
    from replication.selection import TopicSelector
    from spark_jobs.modes import Modes

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


def plan_flow(
    flow: Flow, selector: TopicSelector, modes: Modes, source: Cluster, target: Cluster
) -> FlowPlan:
    """Return what ``flow`` is to copy; create or grow the target's topics if the flow may.

    Raises ClusterUnavailable or ClusterRejected for the cluster as a whole. One topic that
    cannot be made is left out, and ``refused`` says why.
    """
    theirs = source.topics()
    chosen = {name: theirs[name] for name in selector.selected(theirs)}
    ours = target.topics()
    told: tuple[_Told, ...] = ()
    if any(_lacks(ours, selector.remote_topic(name), info) for name, info in chosen.items()):
        told = _prepare(flow, selector, chosen, (source, target))
        ours = target.topics()
    pairs = list(_pairs(selector, chosen, ours))
    known = modes.of({(e.source.topic, e.target.topic) for e in pairs}, source, target)
    moded = (replace(e, mode=known[e.source.topic, e.target.topic]) for e in pairs)
    return FlowPlan(
        tuple(_with_settings(flow.copying, moded)),
        tuple(each.text for each in told),
        gap(selector, theirs),
        "; ".join(each.text for each in told if each.refused),
    )


def _with_settings(
    copying: CopySettings, plans: Iterable[PartitionPlan]
) -> Iterator[PartitionPlan]:
    """Add what the flow's settings say of single topics and partitions."""
    first = compile_rules(copying.priority_topics)
    for each in plans:
        topic, partition = each.source
        yield replace(
            each,
            first=any(rule.matches(topic) for rule in first),
            start=copying.start_offsets.get(topic, {}).get(partition),
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


def _pairs(
    selector: TopicSelector, chosen: Mapping[str, TopicInfo], ours: Mapping[str, TopicInfo]
) -> Iterator[PartitionPlan]:
    for name, theirs in sorted(chosen.items()):
        there = ours.get(selector.remote_topic(name))
        if there is None:
            continue
        for number in range(min(theirs.partitions, there.partitions)):
            yield PartitionPlan(
                TopicPartition(name, number),
                TopicPartition(there.name, number),
                theirs.topic_id,
                there.topic_id,
            )
