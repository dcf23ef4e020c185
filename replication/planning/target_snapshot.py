"""Reads the state of a target: which flow writes to which topic, and which topics hold records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from replication.model import TopicPartition
from replication.naming.conflicts import TargetNames
from replication.state import (
    PRODUCERS_TOPIC,
    Anchor,
    AppliedAcls,
    AppliedConfigs,
    NameDecision,
    ProducerEntry,
    anchors_topic,
    status_topic,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from replication.client.admin import Clients, Cluster, TopicInfo
    from replication.settings.sections import Flow
    from replication.state import Stored


_BEGIN, _END = anchors_topic("\0").split("\0")


class TargetReads(Protocol):
    """What is needed of ``client.admin.Records``."""

    def read(self, topic: str) -> Mapping[bytes, Stored]: ...


class TopicSources(NamedTuple):
    """Who feeds which topic: see ``TargetNames``."""

    feeders: Mapping[str, set[tuple[str, str]]]
    lost: Collection[str]


def read_names(
    about: Iterable[str], ours: Mapping[str, TopicInfo], target: Cluster, store: TargetReads
) -> TargetNames:
    """Return what is to be known of the topics ``about``, of ``ours``, the target's.

    Our own topics are read only if one of ``about`` holds records. Raises ClusterUnavailable.
    """
    filled = read_filled(about, ours, target)
    fed = read_fed(ours, store) if filled else TopicSources({}, ())
    return TargetNames(frozenset(ours), filled, *fed)


def read_filled(
    about: Iterable[str], ours: Mapping[str, TopicInfo], target: Cluster
) -> frozenset[str]:
    """Return those of the topics ``about`` that hold records."""
    there = [name for name in about if name in ours]
    ends = target.end_offsets(
        [TopicPartition(name, number) for name in there for number in range(ours[name].partitions)]
    )
    return frozenset(partition.topic for partition, end in ends.items() if end)


def read_fed(ours: Iterable[str], store: TargetReads) -> TopicSources:
    """Read the anchors of every flow into a target whose topics are ``ours``, and the registry."""
    feeders: dict[str, set[tuple[str, str]]] = {}
    for anchor in _anchors(ours, store):
        feeders.setdefault(anchor.target_topic, set()).add((anchor.flow, anchor.topic))
    known = {flow for each in feeders.values() for flow, _ in each}
    return TopicSources(feeders, _copied_before(ours, store) - known)


def _anchors(ours: Iterable[str], store: TargetReads) -> Iterable[Anchor]:
    """Yield the anchors of every flow into this target, those of other processes too."""
    for topic in ours:
        if topic.startswith(_BEGIN) and topic.endswith(_END):
            yield from (each for each in store.read(topic).values() if isinstance(each, Anchor))


def _copied_before(ours: Iterable[str], store: TargetReads) -> set[str]:
    registry = store.read(PRODUCERS_TOPIC) if PRODUCERS_TOPIC in ours else {}
    return {each.flow for each in registry.values() if isinstance(each, ProducerEntry)}


def read_copied(flow: Flow, store: TargetReads) -> tuple[Anchor, ...]:
    """Return a flow's own anchors: under which names its topics were copied.

    Raises ClusterUnavailable.
    """
    found = store.read(anchors_topic(flow.source)).values()
    return tuple(e for e in found if isinstance(e, Anchor) and e.flow == flow.name)


def read_name_decisions(flow: Flow, store: TargetReads) -> dict[str, NameDecision]:
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

    @cached_property
    def _records(self) -> Sequence[AppliedConfigs | AppliedAcls]:
        names = {each.name for each in self.flows}
        stores = {each.source: self.clients.store(each) for each in self.flows}
        return [
            record
            for source, store in stores.items()
            for record in store.read(status_topic(source)).values()
            if isinstance(record, AppliedConfigs | AppliedAcls) and record.flow in names
        ]
