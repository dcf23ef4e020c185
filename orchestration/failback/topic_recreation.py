"""Deletes the topics of a tail on the source, and creates them as they were.

Each part may run twice: all that the deletion takes away is noted on the target before it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.failback.deleted_topic import groups_on_target
from orchestration.failback.new_topics import NewTopics
from orchestration.failback.objections import Objections
from orchestration.failback.other_groups import set_other_groups
from orchestration.failback.tail_export import export_tail
from orchestration.flows.intents import write_intent
from replication.adapters.clients import KafkaClients
from replication.client.admin import TopicInfo
from replication.clock import now_ms
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import Desired, TopicPartition
from replication.planning.explain import counted
from replication.recovery.failback import SINCE
from replication.recovery.procedure import stopped_by
from replication.state import (
    RecreatedTopic,
    status_topic,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from orchestration.failback.tails import FailbackTails
    from replication.adapters.admin.planned_cluster import PlannedCluster
    from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
    from replication.state import Operation

_GONE_S = 60.0
_POLL_S = 0.2
_EXPORTS = 3  # further ones, while records come


@dataclass(slots=True)
class TopicRecreation:
    """The topics of one failback. Raises ReplicationError where a part cannot succeed."""

    work: FailbackTails
    clients: KafkaClients = field(default_factory=KafkaClients)

    @property
    def _source(self) -> PlannedCluster:
        return self.clients.source(self.work.flow)

    # -- the steps ---------------------------------------------------------------------------

    def note(self, operation: Operation) -> str:
        """Stop the flow back, and note what the topics with a tail are like."""
        topics = {each.topic for each in self.work.tails(operation) if each.records}
        if unasked := sorted(topics - self.work.options.delete):
            raise ClusterRejected(
                f"{unasked[0]} has records that never arrived, so it would be deleted on "
                f"{self.work.flow.source}: to agree, run this again with --delete {unasked[0]}"
            )
        objections = Objections(self.work.flow, self.work.back, self.work.config, self.clients)
        if problems := list(objections.to(topics, self.work.proven(operation.options[SINCE]))):
            raise ClusterRejected("; ".join(problems))
        half_made = self.work.half_made()
        self._stop_back(operation, topics | {each.topic for each in half_made})
        notes = [
            *self._notes(operation, topics),
            *(replace(e, operation=operation.id) for e in half_made),
        ]
        self.work.operator.store.write(status_topic(self.work.flow.source), *notes)
        groups = {name for each in notes for name, _, _ in each.groups}
        noted = (
            f"{counted(len(notes), 'topic')}, and where {counted(len(groups), 'group')} continue"
        )
        return f"{self.work.back.name} is stopped; noted {noted}"

    def recreate(self, operation: Operation) -> str:
        """Delete the topics and create them, unless that is done; let both flows begin there."""
        notes = self._noted(operation)
        if not notes:
            return "all records arrived: nothing is deleted"
        self._require_stopped(operation, {each.topic for each in notes})
        for each in notes:
            self._recreate(each, operation)
        NewTopics(self.work, notes, self.clients).begin(operation)
        names = ", ".join(sorted(each.topic for each in notes))
        return f"{names} on {self.work.flow.source} is empty; {self.work.back.name} fills it"

    def set_groups(self, operation: Operation) -> tuple[str, tuple[LeaveGroup | LeaveOffset, ...]]:
        """Set the offsets of groups that have none on the source any more.

        Returns what was done, and what is left.
        """
        offsets: dict[TopicPartition, dict[str, int]] = {}
        for note in self._noted(operation):
            for name, number, offset in note.groups:
                offsets.setdefault(TopicPartition(note.topic, number), {})[name] = offset
        did = "no other group read there"
        left: tuple[LeaveGroup | LeaveOffset, ...] = ()
        if offsets:
            with self.work.way_back() as back:
                did, left = set_other_groups(back, offsets)
        if self.work.flow.groups.sync:  # what is stored of groups is of the new topics from now on
            self.work.sync.sync(whole=False)  # what may not be read keeps no failback from its end
        return did, left

    # -- before the deletion -----------------------------------------------------------------

    def _stop_back(self, operation: Operation, topics: Collection[str]) -> None:
        """Stop the flow back. Raises ClusterRejected unless it ended cleanly in these topics."""
        with self.work.way_back() as back:
            did = back.stop_flow(operation)
            unclean = sorted(each for each in back.appenders().unclean if each.topic in topics)
        if unclean:
            write_intent(self.work.back, Desired.RUN, self.work.clusters)
            raise ClusterRejected(
                f"{did}, but its unit for {unclean[0]} did not end cleanly. {self.work.back.name} "
                "was resumed: run this again when isthmus status FILE shows it RUNNING"
            )

    def _require_stopped(self, operation: Operation, topics: Collection[str]) -> None:
        """Raise ClusterRejected if somebody has let the flow back run since we stopped it."""
        with self.work.way_back() as back:
            intent = back.operator.intent()
            unclean = any(each.topic in topics for each in back.appenders().unclean)
        if unclean or not intent.by.endswith(stopped_by(operation)):
            self._stop_back(operation, topics)

    def _notes(self, operation: Operation, topics: Collection[str]) -> Iterator[RecreatedTopic]:
        configs, found = self._source.topic_configs(topics), self._source.look_up(topics)
        positions = self.work.proven(operation.options[SINCE])
        groups = groups_on_target(self.work, topics, self.work.tails(operation), positions)
        for topic in sorted(topics):
            info = found[topic]
            if not isinstance(info, TopicInfo):
                raise ClusterRejected(f"{topic} is not on {self.work.flow.source}: {info}")
            held = tuple(
                (name, where.partition, at)
                for name, places in sorted(groups.items())
                for where, at in sorted(places.items())
                if where.topic == topic
            )
            yield RecreatedTopic(
                self.work.flow.name, operation.id, topic, info.topic_id, info.partitions,
                info.replicas, configs[topic], held,
            )  # fmt: skip

    # -- the deletion ------------------------------------------------------------------------

    def _recreate(self, note: RecreatedTopic, operation: Operation) -> None:
        """Delete a topic, if it is still the old one, and create it as it was."""
        if self._id_of(note.topic) == note.topic_id:
            self._require_exported(note.topic, operation)
            self.work.operator.require_turn()
            self._source.delete_topics([note.topic])
        deadline = time.monotonic() + _GONE_S
        while (now := self._id_of(note.topic)) in {"", note.topic_id}:
            if time.monotonic() > deadline:
                raise ClusterUnavailable(
                    f"{note.topic} was not deleted and created again on {self.work.flow.source} in "
                    f"{_GONE_S:g} s; run this again to continue"
                )
            if not now:
                self._source.create_topic(
                    note.topic, note.partitions, note.replicas or -1, note.configs
                )
            time.sleep(_POLL_S)
        self._adjust(note)

    def _adjust(self, note: RecreatedTopic) -> None:
        """Make a topic what it was that a client was faster to create."""
        info = self._source.look_up([note.topic])[note.topic]
        if isinstance(info, TopicInfo) and info.partitions < note.partitions:
            self._source.grow_topic(note.topic, note.partitions)
        configs = self._source.topic_configs([note.topic])[note.topic]
        if configs != note.configs:
            unset = dict.fromkeys(configs.keys() - note.configs.keys())
            self._source.alter_configs(note.topic, {**note.configs, **unset})

    def _id_of(self, topic: str) -> str:
        found = self._source.look_up([topic])[topic]
        return found.topic_id if isinstance(found, TopicInfo) else ""

    def _require_exported(self, topic: str, operation: Operation) -> None:
        """Export what came since the export. Raises ClusterRejected if that does not end."""
        work = self.work
        positions = [each for each in work.proven(operation.options[SINCE]) if each.topic == topic]
        for _ in range(_EXPORTS + 1):
            noted = {e.partition: e.end for e in work.tails(operation) if e.topic == topic}
            now = work.tails_now(tuple(positions), operation.id)
            if {each.partition: each.end for each in now} == noted:
                return
            work.operator.store.write(status_topic(work.flow.source), *now)
            folder = Path(work.options.export) / f"later-{now_ms()}"
            work.operator.say(f"{topic} has grown on {work.flow.source}: exporting it to {folder}")
            export_tail(work.config, work.flow, work.look_for_tails(tuple(positions)), str(folder))
        raise ClusterRejected(
            f"producers still write to {topic} on {work.flow.source}: stop them, then run this "
            "again; nothing is deleted of it yet"
        )

    def _noted(self, operation: Operation) -> list[RecreatedTopic]:
        return [each for each in self.work.recreated() if each.operation == operation.id]
