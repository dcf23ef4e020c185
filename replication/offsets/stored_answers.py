"""Stores answers for source offsets that stay true, so that a group at rest costs no reading.

They are of one copy of one pair of topics: another start of the copy, a recreated topic, or a
source that has lost records begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.model import TopicPartition
    from replication.offsets.offset_map import Answer
    from replication.state import Anchor

_MOST = 300_000  # answers


@dataclass(slots=True)
class StoredAnswers:
    """The stored answers of one flow, by source partition."""

    _by_partition: dict[TopicPartition, tuple[object, dict[int, Answer]]] = field(
        default_factory=dict
    )

    def of(self, partition: TopicPartition, anchor: Anchor, lost: int) -> dict[int, Answer]:
        """Return a partition's answers, to be read and added to; ``lost``: truncations so far."""
        key = ((anchor.run or (0,))[0], anchor.source_topic_id, anchor.target_topic_id, lost)
        known, answers = self._by_partition.get(partition, (None, {}))
        if known != key:
            answers = {}
            self._by_partition[partition] = key, answers
        return answers

    def trim(self) -> None:
        """Forget all answers if there are too many."""
        if sum(len(answers) for _, answers in self._by_partition.values()) > _MOST:
            self._by_partition.clear()
