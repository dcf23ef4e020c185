"""Finds that no client wrote to a target behind what a flow copied: then it may be closed again."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.errors import ClusterRejected
from replication.model import NO_PRODUCER_ID, TopicPartition
from replication.offsets.counted_log import CountedLog
from replication.planning.explain import counted
from replication.state import PRODUCERS_TOPIC, ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from replication.adapters.offset_reader import OffsetReader
    from replication.adapters.topics.state_store import StateStore
    from replication.settings.flow_settings import Flow
    from replication.state import ProvenPosition


@dataclass(frozen=True, slots=True)
class UnwrittenTarget:
    """The target of a flow that is stopped; ``store`` has the target's state topics."""

    flow: Flow
    reader: OffsetReader
    store: StateStore

    def require(self, proven: Iterable[ProvenPosition], since: str) -> None:
        """Raise ClusterRejected if a client wrote behind proven positions, or has begun to.

        ``since``: the operation that proved them, in words.
        """
        own = self._isthmus_producers()
        for each in proven:
            self._require_unwritten(each, own, since)

    def _require_unwritten(self, proven: ProvenPosition, own: Collection[int], since: str) -> None:
        """Raise ClusterRejected as above for one partition.

        The records of an open transaction would be readable as soon as it is committed.
        """
        where, target = TopicPartition(proven.target_topic, proven.partition), self.reader.target
        self.reader.run(target.refresh([where.topic]))
        committed, written = (
            CountedLog(target, where, lambda batch: batch.producer_id not in own, committed=decided)
            for decided in (True, False)
        )
        there = f"{where} on {self.flow.target} since {since}"
        if count := self.reader.run(_count_records(committed, proven.target)):
            raise ClusterRejected(
                f"{self.flow.name}: clients wrote {counted(count, 'record')} to {there}: the "
                "flow would copy the next records after them; nothing was changed"
            )
        if self.reader.run(_count_records(written, committed.end)):
            raise ClusterRejected(
                f"{self.flow.name}: a client has an open transaction in {there}: the flow would "
                "copy the next records after its own; nothing was changed. Run this again when the "
                "transaction has ended"
            )

    def _isthmus_producers(self) -> set[int]:
        """Return the producer ids of all flows: others may be merged into the same topics.

        Records without a producer id count as those of clients.
        """
        registry = self.store.read(PRODUCERS_TOPIC).values()
        theirs = {each.producer_id for each in registry if isinstance(each, ProducerEntry)}
        return (self.reader.look_at_target().producers | theirs) - {NO_PRODUCER_ID}


async def _count_records(log: CountedLog, begin: int) -> int:
    """Return how many records of a log count, from ``begin`` to its end."""
    async with aclosing(log.spans(begin)) as spans:
        return sum([len(each) async for each in spans])
