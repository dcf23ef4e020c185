"""A failback's flows, and the tail of each partition as it was found and as it is now."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from orchestration.recovery.flow_operation import FlowOperation
from orchestration.recovery.opened_operation import opened
from orchestration.switchover.switchover import Switchover
from replication.errors import ConfigError
from replication.model import TopicPartition
from replication.recovery.diverged_tail import TailOffsets, find_tail
from replication.recovery.failback import FailbackOptions
from replication.state import DivergedTail, RecreatedTopic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.settings.flow_settings import Flow
    from replication.state import Operation, ProvenPosition


@dataclass(slots=True)
class FailbackTails(FlowOperation):
    """What the steps of a failback have in common. Raises ReplicationError."""

    options: FailbackOptions = field(default_factory=FailbackOptions)

    @property
    def back(self) -> Flow:
        """The flow from the target to the source. Raises ConfigError if the file has none."""
        if (back := self.config.flow_back(self.flow)) is not None:
            return back
        name = f"{self.flow.target}->{self.flow.source}"
        raise ConfigError(
            f"{self.config.path} has no flow {name}, by which {self.flow.source} gets what clients "
            f"wrote on {self.flow.target}: add {name}.enabled = true and its topics, and run it"
        )

    def tails(self, operation: Operation) -> tuple[DivergedTail, ...]:
        """Return the tails that an operation found."""
        found = self._records(DivergedTail)
        return tuple(each for each in found if each.operation == operation.id)

    def look_for_tails(
        self, positions: tuple[ProvenPosition, ...]
    ) -> dict[TopicPartition, TailOffsets]:
        """Return the tail of each partition as it is now, in order."""
        anchors = self.reader.look().anchors
        found = {}
        self.reader.run(self.reader.source.refresh({each.topic for each in positions}))
        half_made = {each.topic for each in self.half_made()}
        for each in sorted(positions, key=lambda p: (p.topic, p.partition)):
            if each.topic in half_made:
                continue
            where = TopicPartition(each.topic, each.partition)
            begin = anchors[where].source or 0
            tail = find_tail(self.reader.source_log(where), begin, max(0, each.source - begin))
            found[where] = self.reader.run(tail)
        return found

    def tails_now(
        self, positions: tuple[ProvenPosition, ...], operation: str = ""
    ) -> tuple[DivergedTail, ...]:
        """Return the records of the tails as they are now."""
        found = self.look_for_tails(positions)
        there = [each for each in positions if TopicPartition(each.topic, each.partition) in found]
        pairs = [(each, found[TopicPartition(each.topic, each.partition)]) for each in there]
        return tuple(
            DivergedTail(
                self.flow.name, operation, each.topic, each.partition,
                tail.first, tail.end, tail.records, each.whole,
            )
            for each, tail in pairs
        )  # fmt: skip

    def recreated(self) -> tuple[RecreatedTopic, ...]:
        """Return the topics that failbacks of the flow noted before they deleted them."""
        return tuple(self._records(RecreatedTopic))

    def half_made(self) -> tuple[RecreatedTopic, ...]:
        """Return those that a failback, which was given up since, deleted but did not begin."""
        anchors, notes = self.reader.look().anchors.values(), self.recreated()
        known = {each.topic: each.source_topic_id for each in anchors}
        mine = {each.topic: each for each in notes if each.topic_id == known.get(each.topic)}
        self.reader.run(self.reader.source.refresh(mine))
        return tuple(
            each
            for topic, each in mine.items()
            if (self.reader.source.topic_id(topic) or b"").hex() != each.topic_id
        )

    @contextmanager
    def way_back(self) -> Iterator[Switchover]:
        """Give the operation on the flow back, whose target is the source of this one."""
        kind = partial(Switchover, options=self.options.moves, state_directory=self.state_directory)
        with opened(kind, self.back, self.config, self.clusters, self.operator.say) as work:
            yield work
