"""Compares what one flow copied: its topics, up to what its anchors say, the rest in flight."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from orchestration.flows.comparison.compared_partition import TopicPair
from orchestration.flows.comparison.copy_positions import ClusterTopicIds, FlowPositions
from orchestration.flows.comparison.own_records import FlowRecordFilter
from orchestration.flows.comparison.topic_comparison import TopicComparer
from orchestration.flows.unknown_ends import unknown_end
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.clients import KafkaClients, stored_clusters
from replication.model import TopicPartition
from replication.naming.name_changes import holding
from replication.naming.selection import TopicSelector
from replication.planning.target_snapshot import read_history
from replication.records.compare_compacted import Compacted
from replication.transforms.topic_transforms import TopicTransforms

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Self

    from orchestration.flows.comparison.compared_partition import PartitionResult, Work
    from orchestration.flows.comparison.compared_span import Span
    from orchestration.flows.comparison.copy_positions import CopyPosition, CopyPositions
    from orchestration.flows.comparison.topic_comparison import Options
    from replication.adapters.admin.kafka_admin import KafkaAdmin
    from replication.client.admin import Clients, TopicInfo
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.settings.transform_settings import TopicTransform

_LOOK_S = 0.5


class UncopiedPartition(NamedTuple):
    """A partition that is not copied up to the end that was waited for."""

    partition: TopicPartition
    end: int
    copied: int | None  # None: nothing is known of it


class FlowComparison:
    """One flow to compare. Raises ClusterUnavailable or ClusterRejected, naming the cluster."""

    def __init__(
        self, flow: Flow, config: Config, topics: re.Pattern[str], options: Options
    ) -> None:
        self.flow, self._config = flow, config
        clients = KafkaClients(known={flow.name: stored_clusters(flow)})
        self._source, target = clients.source(flow), clients.target(flow)
        self._here, there = self._source.topics(), target.topics()
        self._topics = topics
        self._selector = selector = selector_in_use(flow, config, clients)
        named = {
            each: selector.remote_topic(each)
            for each in selector.selected(self._here)
            if topics.fullmatch(each)
        }
        rules = TopicTransforms(flow.transforms)
        self.transformed = sorted(each for each in named if rules.of(each) is not None)
        self._rules, self._target, self._named = rules, target, named
        named = {one: two for one, two in named.items() if one not in self.transformed}
        compacted = (
            _compacted(self._source, named),
            _compacted(target, {*named.values()} & {*there}),
        )
        self.pairs = [
            TopicPair(one, two, Compacted(one in compacted[0], two in compacted[1]))
            for one, two in named.items()
        ]
        self.own = FlowRecordFilter.for_flow(flow, config)
        ids = ClusterTopicIds(_ids(self._here), _ids(there))
        shared = self.own is not None or options.foreign_ok
        self.positions = FlowPositions(
            flow, ids, shared=shared, own=self.own is not None, tail=options.tail
        )
        readers = flow.clients.source_consumer, flow.clients.target_admin
        self._clients = to_librdkafka(readers[0]), to_librdkafka(readers[1])
        self._comparer = TopicComparer(self._clients, options, self.own, self.positions)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._comparer.close()
        self.positions.close()

    def wait(
        self,
        limit_s: float,
        progress: Callable[[int], object],
        partitions: Collection[TopicPartition] | None = None,
    ) -> list[UncopiedPartition]:
        """Wait until all is copied that the source holds now; return what is not, in order.

        ``progress`` gets the offsets that are still to be copied. ``partitions``: those to wait
        for, by default those that are compared. Partitions that halted are not waited for. Raises
        ClusterUnavailable if a partition has no leader all the time: what it holds is not known.
        """
        deadline = time.monotonic() + limit_s
        partitions = self.partitions if partitions is None else partitions
        ends = self._all_ends(partitions, deadline)
        while True:
            self.positions.look()
            copied = {each: self._copied(each) for each in partitions}
            left = uncopied(ends, copied)
            progress(sum(each.end - (each.copied or 0) for each in left))
            waiting = any(not copied[each.partition].halted for each in left)
            if not waiting or time.monotonic() > deadline:
                return left
            time.sleep(_LOOK_S)

    def _all_ends(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> Mapping[TopicPartition, int]:
        """Return the readable end of each partition of the source; wait for leaders.

        Raises ClusterRejected at once for one that our user may not describe.
        """
        while True:
            ends = self._source.end_offsets(partitions)
            if not (missing := sorted({*partitions} - ends.keys())):
                return ends
            why = unknown_end(self._source, missing[0], self.flow.source)
            if time.monotonic() > deadline or not why.retriable:
                raise type(why)(f"whether all of {missing[0]} is copied is not known: {why}")
            time.sleep(_LOOK_S)

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions of the source that are compared."""
        return self._partitions_of(pair.source for pair in self.pairs)

    @property
    def selected_partitions(self) -> list[TopicPartition]:
        """The partitions of the source that the flow copies or transforms."""
        return self._partitions_of(self._named)

    def _partitions_of(self, topics: Iterable[str]) -> list[TopicPartition]:
        return [
            TopicPartition(topic, number)
            for topic in topics
            for number in range(self._here[topic].partitions)
        ]

    def transformed_pairs(self) -> dict[int, list[TopicPair]]:
        """Return the topics of each transform, by its number, if one of them is compared.

        All of its topics: which of them a record on the target came from is not known.
        """
        chosen = {number: self._pairs_of(each) for number, each in enumerate(self.flow.transforms)}
        return {
            number: pairs
            for number, pairs in chosen.items()
            if any(each.source in self.transformed for each in pairs)
        }

    def _pairs_of(self, transform: TopicTransform) -> list[TopicPair]:
        named = [e for e in self._selector.selected(self._here) if self._rules.of(e) is transform]
        copies = {each: self._selector.remote_topic(each) for each in named}
        compacted = (
            _compacted(self._source, copies),
            _compacted(self._target, {*copies.values()} & {*self._target.topics()}),
        )
        return [
            TopicPair(one, two, Compacted(one in compacted[0], two in compacted[1]))
            for one, two in copies.items()
        ]

    def readable_ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the readable end of partitions of the source that have a leader."""
        return self._source.end_offsets(partitions)

    def target_settings(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the configs of those of ``topics`` that the target has."""
        found = self._target.topic_settings({*topics} & {*self._target.topics()})
        return {
            topic: {name: each.value for name, each in settings.items() if each.value is not None}
            for topic, settings in found.items()
        }

    def plan(self) -> list[Work]:
        """Return the partitions to compare; see TopicComparer."""
        return self._comparer.plan(self.pairs)

    def compare(self, work: Work, progress: Callable[[int], object]) -> PartitionResult:
        """Compare one partition; see TopicComparer."""
        return self._comparer.compare(work, progress)

    def span(self, work: Work) -> Span:
        """Return from where a partition can be compared; see TopicComparer."""
        return self._comparer.span(work)

    def comparer(self, positions: CopyPositions, options: Options) -> TopicComparer:
        """Return what compares parts of partitions, as ``positions`` say; the caller closes it."""
        own = FlowRecordFilter.for_flow(self.flow, self._config)
        return TopicComparer(self._clients, options, own, positions)

    def source_offsets(
        self, partitions: Collection[TopicPartition], at_ms: int
    ) -> Mapping[TopicPartition, int | None]:
        """Return the first offset of each with a timestamp from ``at_ms`` on; None: there is none.

        Raises ClusterUnavailable.
        """
        return self.positions.reader.source_offsets(partitions, at_ms)

    def deleted_topics(self) -> list[str]:
        """Return the selected topics that were copied and that the source has no longer, sorted."""
        self.positions.look()
        copied = {each.topic for each in self.positions.reader.known.anchors}
        chosen = filter(self._topics.fullmatch, copied - self._here.keys())
        return list(self._selector.selected(chosen))

    def other_writers(self, pair: TopicPair) -> list[str]:
        """Return the flows that copy a topic of this name into the same target topic."""
        return [
            each.name
            for each in self._config.flows_into(self.flow.target)
            if each.name != self.flow.name and _joins(each, self._config, pair)
        ]

    def _copied(self, source: TopicPartition) -> CopyPosition:
        target = TopicPartition(self._named[source.topic], source.partition)
        return self.positions.copied(source, target)


def selector_in_use(flow: Flow, config: Config, clients: Clients) -> TopicSelector:
    """Return what selects and names a flow's topics as its driver does: by what was copied before.

    Raises ClusterUnavailable for the target.
    """
    history = read_history(flow, config, clients, tuple)  # its warnings are not needed
    return TopicSelector.for_flow(holding(flow, history.changes, history.copies), config.clusters)


def uncopied(
    ends: Mapping[TopicPartition, int], copied: Mapping[TopicPartition, CopyPosition]
) -> list[UncopiedPartition]:
    """Return the partitions that are not copied up to their ends, in order."""
    return [
        UncopiedPartition(each, end, copied[each].source)
        for each, end in sorted(ends.items())
        if end and not copied[each].reaches(end)
    ]


def _joins(flow: Flow, config: Config, pair: TopicPair) -> bool:
    selector = TopicSelector.for_flow(flow, config.clusters)
    return (
        selector.judge(pair.source).selected and selector.remote_topic(pair.source) == pair.target
    )


def _compacted(cluster: KafkaAdmin, topics: Iterable[str]) -> set[str]:
    """Return those of ``topics`` whose records a later one replaces, as far as configs are seen."""
    configs = cluster.topic_settings(topics)
    return {
        name
        for name, settings in configs.items()
        if (policy := settings.get("cleanup.policy")) is not None and "compact" in policy.value
    }


def _ids(topics: Mapping[str, TopicInfo]) -> Mapping[str, str]:
    return {name: info.topic_id for name, info in topics.items()}
