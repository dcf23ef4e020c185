"""Reads the state of a target: which flow writes to which topic, and which topics hold records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.client.cluster_ids import FlowClusters, stored_ids
from replication.errors import ReplicationError
from replication.model import TopicPartition
from replication.naming.conflicts import TargetNames
from replication.naming.former_flows import former_flows
from replication.naming.name_changes import name_changes, unnamed_copies
from replication.naming.selection import TopicSelector
from replication.state import (
    PRODUCERS_TOPIC,
    Anchor,
    AppliedAcls,
    AppliedConfigs,
    Claim,
    ClusterIds,
    NameDecision,
    OffsetPoint,
    ProducerEntry,
    anchors_topic,
    is_anchors_topic,
    is_offsets_topic,
    status_topic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from replication.client.admin import Clients, ClusterAdmin, TopicInfo
    from replication.naming.name_changes import Changes
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.settings.naming_settings import MappedName
    from replication.state import Stored


class TopicReads(Protocol):
    """What is needed of ``client.admin.Records`` to know of one flow."""

    def read(self, topic: str) -> Mapping[bytes, Stored]: ...


class TargetReads(TopicReads, Protocol):
    """What is needed of ``client.admin.Records`` to know of all flows."""

    def read_all(self, topics: Collection[str]) -> Iterable[Stored]: ...


class TopicSources(NamedTuple):
    """Who feeds which topic: see ``TargetNames``."""

    feeders: Mapping[str, set[tuple[str, str]]]
    lost: Collection[str] = ()
    claimed: Collection[tuple[str, str]] = ()


def read_names(
    about: Iterable[str], ours: Mapping[str, TopicInfo], target: ClusterAdmin, store: TargetReads
) -> TargetNames:
    """Return what is to be known of the topics ``about``, of ``ours``, the target's.

    Our own topics are read only if one of ``about`` holds records. Raises ClusterUnavailable.
    """
    filled = read_filled(about, ours, target)
    fed = read_fed(ours, store) if filled else TopicSources({})
    fed = with_points(fed, filled, ours, store)
    return TargetNames(frozenset(ours), filled, *fed)


def read_filled(
    about: Iterable[str], ours: Mapping[str, TopicInfo], target: ClusterAdmin
) -> frozenset[str]:
    """Return those of the topics ``about`` that hold records.

    So may a partition without a leader: it counts as one that does.
    """
    there = [
        TopicPartition(name, number)
        for name in about
        if name in ours
        for number in range(ours[name].partitions)
    ]
    ends = target.end_offsets(there)
    return frozenset(each.topic for each in there if ends.get(each, 1))


def read_fed(ours: Iterable[str], store: TargetReads) -> TopicSources:
    """Read the anchors of every flow into a target whose topics are ``ours``, and the registry."""
    feeders: dict[str, set[tuple[str, str]]] = {}
    claimed = set()
    for each in store.read_all([name for name in ours if is_anchors_topic(name)]):
        if isinstance(each, Claim):
            claimed.add((each.flow, each.topic))
        elif isinstance(each, Anchor):
            for name in {each.target_topic, each.former or each.target_topic}:
                feeders.setdefault(name, set()).add((each.flow, each.topic))
    known = {flow for sources in feeders.values() for flow, _ in sources}
    return TopicSources(feeders, _copied_before(ours, store) - known, claimed)


def with_points(
    fed: TopicSources, filled: Iterable[str], ours: Mapping[str, TopicInfo], store: TargetReads
) -> TopicSources:
    """Return ``fed`` with the flows whose offset points are about a topic that no anchor names.

    Such a topic has lost its anchors: the units know what to do with it. The points are many, so
    they are read only then.
    """
    unfed = {ours[name].topic_id: name for name in filled if name not in fed.feeders}
    topics = [each for each in ours if is_offsets_topic(each)]
    feeders = {name: set(flows) for name, flows in fed.feeders.items()}
    for point in store.read_all(topics) if unfed and topics else ():
        if isinstance(point, OffsetPoint) and point.target_topic_id in unfed:
            name = unfed[point.target_topic_id]
            feeders.setdefault(name, set()).add((point.flow, point.topic))
    return fed._replace(feeders=feeders)


def _anchors(ours: Iterable[str], store: TargetReads) -> Iterable[Anchor]:
    """Return the anchors of every flow into this target, those of other processes too."""
    topics = [each for each in ours if is_anchors_topic(each)]
    return (each for each in store.read_all(topics) if isinstance(each, Anchor))


def _copied_before(ours: Iterable[str], store: TargetReads) -> set[str]:
    registry = store.read(PRODUCERS_TOPIC) if PRODUCERS_TOPIC in ours else {}
    return {each.flow for each in registry.values() if isinstance(each, ProducerEntry)}


def read_copied(flow: Flow, store: TopicReads) -> tuple[Anchor, ...]:
    """Return a flow's own anchors: under which names its topics were copied.

    Raises ClusterUnavailable.
    """
    found = store.read(anchors_topic(flow.source)).values()
    return tuple(e for e in found if isinstance(e, Anchor) and e.flow == flow.name)


class FlowTopicHistory(NamedTuple):
    """What the target knows of a flow's topics from before."""

    changes: Changes  # names that changed
    warnings: tuple[str, ...] = ()  # of copies under a former alias
    copies: tuple[MappedName, ...] = ()  # on the source, whose names do not show it


def read_history(
    flow: Flow, config: Config, clients: Clients, others: Callable[[], Iterable[Anchor]]
) -> FlowTopicHistory:
    """Return what the target knows of a flow; nothing where its source does not answer.

    ``others`` returns the anchors of all flows into the target; it is called for a flow that has
    none. Raises ClusterUnavailable for the target.
    """
    store, selector = clients.store(flow), TopicSelector.for_flow(flow, config.clusters)
    try:
        theirs = clients.source(flow).topics()
    except ReplicationError:
        return FlowTopicHistory({})  # the flow's plan has this problem
    known = [each.name for each in config.flows]
    copies = unnamed_copies(flow, selector, read_arrivals(flow, config, clients), known)
    if not (anchors := read_copied(flow, store)):
        ids = {name: each.topic_id for name, each in theirs.items()}
        warnings = tuple(former_flows(flow.name, selector, ids, others(), known))
        return FlowTopicHistory({}, warnings, copies)
    counts = {name: each.partitions for name, each in theirs.items()}
    changes = name_changes(flow, selector, anchors, {}, counts)
    if changes:
        decisions = read_name_decisions(flow, store)
        changes = name_changes(flow, selector, anchors, decisions, counts)
    return FlowTopicHistory(changes, copies=copies)


def read_arrivals(flow: Flow, config: Config, clients: Clients) -> tuple[Anchor, ...]:
    """Return the anchors of the file's flows into the source of ``flow``.

    Raises ClusterUnavailable.
    """
    into = config.flows_into(flow.source)
    return tuple(chain.from_iterable(read_copied(each, clients.store(each)) for each in into))


def read_others(ours: Iterable[str], store: TargetReads) -> tuple[Anchor, ...]:
    """Return the anchors of all flows into this target that our user may read."""
    return tuple(_anchors(ours, store))


def read_name_decisions(flow: Flow, store: TopicReads) -> dict[str, NameDecision]:
    """Return an operator's decisions on names of a flow's topics, by topic of the source."""
    found = store.read(status_topic(flow.source)).values()
    return {e.topic: e for e in found if isinstance(e, NameDecision) and e.flow == flow.name}


@dataclass(frozen=True)
class AppliedState:
    """Records in the status topics of flows into one target. Raises ClusterUnavailable."""

    flows: Sequence[Flow]
    clients: Clients

    def applied(self) -> Mapping[str, AppliedConfigs]:
        """Return what was last applied, by topic of the target."""
        return {each.topic: each for each in self._records if isinstance(each, AppliedConfigs)}

    def rights(self, flows: Collection[str]) -> tuple[AppliedAcls, ...]:
        """Return the ACLs that we created for the flows with these names."""
        found = (each for each in self._records if isinstance(each, AppliedAcls))
        return tuple(each for each in found if each.flow in flows)

    def clusters(self, flow: Flow) -> FlowClusters:
        """Return the clusters that a flow has copied between, as far as they are known."""
        known = FlowClusters(flow.name)
        if stored := stored_ids(flow.name, self._records):
            known.learn(stored)
        return known

    @cached_property
    def _records(self) -> Sequence[AppliedConfigs | AppliedAcls | ClusterIds]:
        names = {each.name for each in self.flows}
        stores = {each.source: self.clients.store(each) for each in self.flows}
        return [
            record
            for source, store in stores.items()
            for record in store.read(status_topic(source)).values()
            if isinstance(record, AppliedConfigs | AppliedAcls | ClusterIds)
            and record.flow in names
        ]
