"""Offset syncs in MirrorMaker 2's format, for its checkpoint connector.

What reads a pair (up, down) takes ``down + 1`` for everything behind ``up``. So

Y  A pair is (record before the anchor, its copy), and only after we have copied something since
   the anchor before: then what stands right before the anchor's target offset is that copy, not a
   marker and not what somebody else wrote. The run in an anchor (see ``offset_points``) says the
   same where it began before the anchor; it is all there is of the first anchor that is seen, and
   of the first one of a producer that took over.

They come denser than MirrorMaker 2's own: every few seconds for each partition in which something
was copied. Pairs of a partition rise, unless the source or target itself was recreated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.errors import ReplicationError
from replication.mm2.internal_topics_protocol import InternalTopicRecord
from replication.mm2.wire import OffsetSync
from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from replication.mm2.compacted_topic import CompactedTopic
    from replication.state import Anchor


def pair_of(before: Anchor | None, now: Anchor) -> OffsetSync | None:
    """Return the pair that ``now`` proves after ``before`` (Y), or None."""
    if not now.source or not now.target or now.transform:
        return None  # of a transformed topic no record and its copy are known
    proves = _is_on_its_run(now)
    if before is not None and now.records > before.records:
        # What was counted in a takeover ends before a marker of ours, not a record.
        proves |= (before.generation, before.epoch) == (now.generation, now.epoch)
    return OffsetSync(now.topic, now.partition, now.source - 1, now.target - 1) if proves else None


def _is_on_its_run(now: Anchor) -> bool:
    """Say whether all since the run's beginning, and there is some, was copied one to one."""
    if now.run is None or now.source is None or now.target is None:
        return False
    _, _, source, target, records = now.run
    steps = {now.source - source, now.target - target, now.records - records}
    return len(steps) == 1 and min(steps) > 0


@dataclass(slots=True)
class Emitter:
    """Writes the offset syncs of one flow.

    ``news`` returns the flow's anchors, at least those that are new since the last call.
    """

    topic: CompactedTopic
    news: Callable[[], Iterable[Anchor]]
    _seen: dict[TopicPartition, Anchor] = field(default_factory=dict, init=False)

    def emit(self) -> str:
        """Write the newest pair of each partition in which something was copied."""
        seen, self._seen = self._seen, dict(self._seen)
        try:
            self.topic.write(
                [InternalTopicRecord(each.key(), each.value()) for each in self._pairs()]
            )
        except ReplicationError:
            self._seen = seen  # so that these pairs come again
            raise
        return f"written to {self.topic.name}"

    def _pairs(self) -> list[OffsetSync]:
        newest: dict[TopicPartition, OffsetSync] = {}
        for each in self.news():
            where = TopicPartition(each.topic, each.partition)
            if (pair := pair_of(self._seen.get(where), each)) is not None:
                newest[where] = pair
            seen = self._seen.get(where)
            if seen is None or seen.records != each.records:  # a claim alone hides no takeover
                self._seen[where] = each
        return list(newest.values())
