"""What prevents the deletion of a topic on the source, to fill it anew from its copy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestration.flows.unknown_ends import unknown_end
from replication.adapters.clients import KafkaClients
from replication.client.admin import Absence, TopicInfo
from replication.model import BY_ID, TopicPartition
from replication.naming.selection import TopicSelector
from replication.provenance.origins import rule_of
from replication.provenance.routes import Routes
from replication.state import Anchor, is_anchors_topic
from replication.transforms.topic_transforms import TopicTransforms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.state import ProvenPosition


@dataclass(frozen=True, slots=True)
class Objections:
    """Those against the deletion of topics on the source of ``flow``, which ``back`` is to fill."""

    flow: Flow
    back: Flow
    config: Config
    clients: KafkaClients = field(default_factory=KafkaClients)

    def to(self, topics: Collection[str], positions: Collection[ProvenPosition]) -> Iterator[str]:
        """Yield each, with what to do. ``positions``: the partitions whose copies are known.

        Raises ClusterUnavailable, ClusterRejected.
        """
        for topic in sorted(topics):
            yield from self._indistinguishable(topic)
            yield from self._readers(topic)
        yield from self._writers(topics)
        yield from self._brokers(topics)
        yield from self._never_copied(topics, positions)

    def _indistinguishable(self, topic: str) -> Iterator[str]:
        text = Routes.of(self.config.flows, self.config.clusters).rule(self.back.name, topic)
        rule = rule_of(text, "")
        if rule is None or rule.by != BY_ID:
            yield (
                f"--tail truncate needs flows that keep the name of {topic} and have "
                "cycle.prevention = producer-id: use --tail merge or keep"
            )
        for each in (self.flow, self.back):
            if TopicTransforms(each.transforms).of(topic) is not None:
                yield (
                    f"{each.name} transforms {topic}, so its copy cannot restore it: use --tail "
                    "merge or keep"
                )

    def _readers(self, topic: str) -> Iterator[str]:
        for each in self.config.flows:
            if each.source != self.flow.source or each.name == self.flow.name:
                continue
            if TopicSelector.for_flow(each, self.config.clusters).judge(topic).selected:
                yield (
                    f"{each.name} also copies {topic} from {self.flow.source}: it would lose its "
                    f"position and copy again what comes back from {self.flow.target}. Use --tail "
                    "keep"
                )

    def _writers(self, topics: Collection[str]) -> Iterator[str]:
        """Yield the flows whose anchors say that they copied to one of the topics on the source."""
        store = self.clients.store(self.back)
        names = sorted(filter(is_anchors_topic, self.clients.source(self.flow).topic_names()))
        found = {
            (each.flow, each.target_topic)
            for name in names
            for each in store.read(name).values()
            if isinstance(each, Anchor) and each.target_topic in topics and each.source is not None
        }
        for name, topic in sorted(found):
            if name != self.back.name:
                yield (
                    f"{name} copies to {topic} on {self.flow.source} too: what it copied would be "
                    "deleted, and it would halt. Use --tail keep"
                )

    def _brokers(self, topics: Collection[str]) -> Iterator[str]:
        source = self.clients.source(self.flow)
        count = source.broker_count()
        for topic, info in sorted(source.look_up(topics).items()):
            if info is Absence.DENIED:
                yield (
                    f"Isthmus' user may not describe {topic} on {self.flow.source}: grant it "
                    "DESCRIBE on the topic, and the rights that the failback needs"
                )
            elif isinstance(info, TopicInfo) and info.replicas > count:
                yield (
                    f"{topic} has {info.replicas} replicas, and {self.flow.source} has {count} "
                    "brokers now: it could not be created again. Start the missing brokers first"
                )

    def _never_copied(
        self, topics: Collection[str], positions: Collection[ProvenPosition]
    ) -> Iterator[str]:
        source, known = self.clients.source(self.flow), {(e.topic, e.partition) for e in positions}
        other = [
            TopicPartition(topic, number)
            for topic, info in sorted(source.look_up(topics).items())
            if isinstance(info, TopicInfo)
            for number in range(info.partitions)
            if (topic, number) not in known
        ]
        ends = source.end_offsets(other, undecided=True)  # who began a transaction may commit it
        for where in other:
            if where not in ends:
                why = unknown_end(source, where, self.flow.source)
                yield f"records of {where} that were never copied cannot be ruled out: {why}"
            elif ends[where]:
                yield (
                    f"{where} on {self.flow.source} was never copied, and would be deleted: let "
                    f"{self.flow.name} copy it first (--tail merge)"
                )
