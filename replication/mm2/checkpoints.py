"""Translated offsets of the source's groups as checkpoints in MirrorMaker 2's format.

Its clients (``RemoteClusterUtils``) read these records to move consumers over. Offsets are exact
here, so what MirrorMaker 2 does about sparse pairs is not needed: a record says the offset of the
next record that the group wants, or the end.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.clock import now_ms
from replication.errors import ClusterRejected, ReplicationError
from replication.mm2.internal_topics_protocol import InternalTopicRecord
from replication.mm2.wire import Checkpoint, parse_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from replication.mm2.compacted_topic import CompactedTopic
    from replication.model import TopicPartition


class CheckpointPosition(NamedTuple):
    """A group's committed offset in a source partition, and its place on the target.

    ``downstream`` None: the group's next record is not copied yet, or ``problem`` says in a
    sentence why it has no place there.
    """

    group: str
    target: TopicPartition
    upstream: int
    downstream: int | None
    metadata: str = ""
    problem: str = ""


@dataclass(slots=True)
class CheckpointMemory:
    """What was written last of each group and partition."""

    _last: dict[tuple[str, str, int], Checkpoint] = field(default_factory=dict)

    def load(self, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """Read the topic's records; the last one of each key counts."""
        for each in parse_all(Checkpoint.parse, records):
            self._remember(each)

    def news(self, positions: Iterable[CheckpointPosition]) -> list[Checkpoint]:
        """Return what is to be written, and remember it.

        A checkpoint goes back only when the group itself went back at the source.
        """
        found = [
            checkpoint
            for each in positions
            if (checkpoint := _checkpoint(each)) and self._is_news(checkpoint)
        ]
        for each in found:
            self._remember(each)
        return found

    def _is_news(self, checkpoint: Checkpoint) -> bool:
        last = self._last.get((checkpoint.group, checkpoint.topic, checkpoint.partition))
        if last is None or checkpoint.upstream < last.upstream:
            return True
        return checkpoint.downstream > last.downstream

    def _remember(self, checkpoint: Checkpoint) -> None:
        self._last[checkpoint.group, checkpoint.topic, checkpoint.partition] = checkpoint


def _checkpoint(position: CheckpointPosition) -> Checkpoint | None:
    """Return the record; None where there is nothing to say: no offset here, or none there."""
    if position.upstream < 0 or position.downstream is None or position.downstream < 0:
        return None
    topic, partition = position.target
    return Checkpoint(
        position.group, topic, partition, position.upstream, position.downstream, position.metadata
    )


def _without(positions: Iterable[CheckpointPosition]) -> str:
    """Return in a clause which offsets have no checkpoint, and no waiting helps; or empty."""
    odd = [each for each in positions if each.problem]
    return f"; {len(odd)} left out, {odd[0].group} because {odd[0].problem}" if odd else ""


@dataclass(slots=True)
class Recorder:
    """Writes the checkpoints of one flow."""

    topic: CompactedTopic
    positions: Callable[[], Iterable[CheckpointPosition]]
    _memory: CheckpointMemory | None = field(default=None, init=False)

    def record(self) -> str:
        """Write what is new and wait for the acks. Raises ReplicationError."""
        memory = self._memory = self._memory or self._what_is_there()
        now = now_ms()
        positions = list(self.positions())
        fresh = memory.news(positions)
        try:
            self.topic.write([InternalTopicRecord(each.key(), each.value(), now) for each in fresh])
        except ReplicationError:
            self._memory = None  # what was not written is news the next time as well
            raise
        written = f"{len(fresh)} new" if fresh else "nothing new"
        return f"{written} in {self.topic.name}{_without(positions)}"

    def _what_is_there(self) -> CheckpointMemory:
        """Read the topic. Without READ start empty: offsets are exact, repeats do no harm."""
        memory = CheckpointMemory()
        with contextlib.suppress(ClusterRejected):
            memory.load(self.topic.read())
        return memory
