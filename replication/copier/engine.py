"""What copies the partitions of a unit that it has taken over: its parts, and how they end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from replication.client.state_log import StateLog
from replication.copier.anchor_writer import Keeping
from replication.copier.dead_letters import DeadLetters
from replication.copier.error_policy import Judge
from replication.copier.fetch.fetcher_manager import Readers
from replication.copier.foreign_writers import AppendGaps, Strangers
from replication.copier.partition.transactional_copy import JoinRequests
from replication.copier.partition_upkeep import Tending
from replication.copier.produce.producers import Producers
from replication.copier.produce.sender import Appending
from replication.copier.produce.transactions import Transactions
from replication.copier.recovery_queue import RecoveryQueue
from replication.copier.replan import Changing
from replication.provenance.producer_registry import SourceRegistry
from replication.state import letters_topic, offsets_topic

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from replication.client.producer_identity import Claimant
    from replication.copier.partition.partition_copy import Lane
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Clusters


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts of one unit that is at work; each is complete when it is made."""

    lanes: list[Lane]
    sender: Appending
    tending: Tending
    keeping: Keeping
    strangers: Strangers
    transactions: Transactions | None  # None: records are appended outside transactions
    changing: Changing

    @classmethod
    def of(cls, spec: UnitSpec, ends: Clusters, lanes: list[Lane], me: Claimant) -> Self:
        """Return the parts for ``lanes``, which were taken over for ``me``; nothing runs yet."""
        target, takeover = ends.target, ends.takeover
        recoveries, gaps = RecoveryQueue(), AppendGaps(expected=spec.origins_matter)
        joins = JoinRequests() if spec.is_transactional else None
        sender = Appending(target, recoveries, gaps, joins)
        producers = Producers(spec, ends, lanes, me, sender)
        readers = Readers(spec, ends, sender, producers, recoveries)
        judge = Judge(spec, takeover.anchors, _dead_letters(spec, ends))
        tending = Tending(ends, producers, sender, readers, judge, recoveries)
        points = StateLog(target, offsets_topic(spec.source_alias))
        keeping = Keeping(spec.anchor_every_s, points, takeover, producers, sender)
        keeping.keep(lanes)
        registry = SourceRegistry(target, there=True)
        transactions = None
        if joins is not None:
            transactions = Transactions(takeover, producers, sender, joins, keeping.wrote)
        return cls(
            lanes,
            sender,
            tending,
            keeping,
            Strangers(spec, target, registry, gaps, sender.settle),
            transactions,
            Changing(ends, producers, tending, keeping),
        )

    def work(self) -> list[Coroutine[object, object, None]]:
        """Return what has to run side by side until the unit ends."""
        work: list[Coroutine[object, object, None]]
        work = [self.tending.run(), self.keeping.run(), self.strangers.run()]
        if self.transactions is not None:
            work.append(self.transactions.run())
        return work

    async def stop(self, tasks: list[asyncio.Task[object]]) -> None:
        """Commit what is open, send nothing more and end ``tasks``; anchors stay as they are."""
        if self.transactions is not None:
            await self.transactions.end()
        self.sender.stopped = True
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.tending.stop()

    async def end_cleanly(self) -> None:
        """Say in the anchors that nobody appends any more (G), as Keeping.end_cleanly does."""
        await self.keeping.end_cleanly(self.lanes)


def _dead_letters(spec: UnitSpec, ends: Clusters) -> DeadLetters:
    if not spec.policies.dead_letters:
        return DeadLetters()
    return DeadLetters(StateLog(ends.target, letters_topic(spec.source_alias)))
