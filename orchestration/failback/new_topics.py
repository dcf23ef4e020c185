"""Lets both flows begin in the topics that a failback has created anew on the source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.client.admin import TopicInfo
from replication.clock import now_ms
from replication.errors import ClusterRejected
from replication.model import TopicPartition
from replication.provenance.routes import Routes
from replication.recovery.failback import SINCE
from replication.recovery.refilled_topic import (
    RecreatedTopicIds,
    cut_tail,
    homeward,
    outward,
    whole_rule,
)
from replication.state import (
    Anchor,
    DivergedTail,
    GroupPositions,
    anchors_topic,
    offsets_topic,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from orchestration.failback.tails import FailbackTails
    from replication.adapters.clients import KafkaClients
    from replication.state import Operation, RecreatedTopic, Stored


@dataclass(frozen=True, slots=True)
class NewTopics:
    """The topics of one failback. Raises ClusterRejected, ClusterUnavailable."""

    work: FailbackTails
    notes: Sequence[RecreatedTopic]
    clients: KafkaClients

    def begin(self, operation: Operation) -> None:
        """Write where both flows begin; the flow back is stopped. It may run twice."""
        self._begin_home(operation)
        self._begin_out(operation)

    def _begin_home(self, operation: Operation) -> None:
        back, store = self.work.back, self.clients.store(self.work.back)
        with self.work.way_back() as way:
            known = way.reader.look_at_target().anchors
        routes = Routes.of(self.work.config.flows, self.work.config.clusters)
        positions = {(e.topic, e.partition): e for e in self.work.proven(operation.options[SINCE])}
        points: list[Stored] = []
        anchors: list[Stored] = []
        for note, ids, count in self._pairs():
            places = [TopicPartition(note.topic, number) for number in range(count)]
            logs = self.work.reader.ends(places, target=True)
            for each in places:
                before = known.get(each) or Anchor(back.name, *each, each.topic, None, None)
                if before.target_topic_id == ids.source:
                    continue  # that was done before
                rule = whole_rule(routes.rule(back.name, note.topic), positions.get(each))
                begin = homeward(replace(before, at_ms=now_ms()), logs[each].start, ids, rule)
                points += begin.points
                anchors.append(begin.anchor)
        store.ensure_topics(back.source)
        store.write(offsets_topic(back.source), *points)
        store.write(anchors_topic(back.source), *anchors)

    def _begin_out(self, operation: Operation) -> None:
        work, known = self.work, self.work.reader.look_at_target()
        tails = {TopicPartition(each.topic, each.partition): each for each in work.tails(operation)}
        points: list[Stored] = []
        records: list[Stored] = []
        for note, ids, _ in self._pairs():
            for each in work.proven(operation.options[SINCE]):
                where = TopicPartition(each.topic, each.partition)
                if each.topic != note.topic or known.anchors[where].source_topic_id == ids.source:
                    continue
                tail = tails.get(where, DivergedTail(work.flow.name, operation.id, *where))
                begin = outward(known.anchors[where], each, tail, (ids.source, now_ms()))
                points += begin.points
                if tail.records:
                    records.append(cut_tail(tail, note.topic_id, work.options.export, now_ms()))
                records.append(begin.anchor)
        topics = {each.topic for each in self.notes}
        points += [_without(each, topics) for each in known.groups.values()]
        work.operator.store.write(offsets_topic(work.flow.source), *points)
        work.operator.store.write(anchors_topic(work.flow.source), *records)

    def _pairs(self) -> Iterator[tuple[RecreatedTopic, RecreatedTopicIds, int]]:
        """Yield each topic with its new ids, and how many partitions its copy has too."""
        names = [each.topic for each in self.notes]
        sides = self.clients.source(self.work.flow), self.clients.target(self.work.flow)
        made, copies = (each.look_up(names) for each in sides)
        for each in self.notes:
            here, there = made[each.topic], copies[each.topic]
            if not isinstance(here, TopicInfo) or not isinstance(there, TopicInfo):
                raise ClusterRejected(
                    f"{each.topic}: on {self.work.flow.source} {here}, on {self.work.flow.target} "
                    f"{there}"
                )
            count = min(each.partitions, there.partitions)
            yield each, RecreatedTopicIds(here.topic_id, there.topic_id), count


def _without(positions: GroupPositions, topics: Collection[str]) -> GroupPositions:
    """Return the stored offsets of a group, but those in topics that are gone."""
    left = tuple(each for each in positions.positions if each[0] not in topics)
    return GroupPositions(positions.flow, positions.group, left, positions.at_ms)
