"""Wire the parts that copy a unit's partitions after the takeover, and stop them in order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from replication.client.state_topic.state_log import StateLog
from replication.copier.anchor_writer import AnchorWriter
from replication.copier.dead_letters import DeadLetters
from replication.copier.error_policy import ErrorPolicy
from replication.copier.fetch.fetcher_manager import FetcherManager
from replication.copier.fetch.rate_backoff import RateBackoff
from replication.copier.fetch.rate_control import RateControl
from replication.copier.foreign_writers import AppendGaps, ForeignWriters
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.partition.transactional_copy import JoinRequests
from replication.copier.partition_upkeep import PartitionUpkeep
from replication.copier.produce.lease_renewal import LeaseRenewal
from replication.copier.produce.producers import Producers
from replication.copier.produce.sender import Sender
from replication.copier.produce.transactions import Transactions
from replication.copier.replan import Replan
from replication.provenance.producer_registry import SourceRegistry
from replication.state import dead_letters_topic, offsets_topic

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from replication.client.producer_identity import ProducerIdentity
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts of one running unit, each complete at construction."""

    partitions: list[PartitionCopy]
    sender: Sender
    upkeep: PartitionUpkeep
    anchor_writer: AnchorWriter
    foreign_writers: ForeignWriters
    transactions: Transactions | None  # None: records are appended outside transactions
    replan: Replan
    renewal: LeaseRenewal
    rate_control: RateControl

    @classmethod
    def of(
        cls,
        spec: UnitSpec,
        connections: Connections,
        partitions: list[PartitionCopy],
        me: ProducerIdentity,
    ) -> Self:
        """Return the parts that copy ``partitions``, taken over for ``me``; nothing runs yet."""
        target, takeover = connections.target, connections.takeover
        recoveries, gaps = RecoveryQueue(), AppendGaps(expected=spec.target_is_replicated)
        joins = JoinRequests() if spec.is_transactional else None
        sender = Sender(target, recoveries, gaps, joins)
        producers = Producers(spec, connections, partitions, me, sender)
        fetchers = FetcherManager(spec, connections, sender, producers, recoveries)
        error_policy = ErrorPolicy(spec, takeover.anchors, _dead_letters(spec, connections))
        upkeep = PartitionUpkeep(connections, producers, sender, fetchers, error_policy, recoveries)
        points = StateLog(target, offsets_topic(spec.source_alias))
        anchor_writer = AnchorWriter(spec.anchor_every_s, points, takeover, producers, sender)
        anchor_writer.add(partitions)
        registry = SourceRegistry(target, exists=True)
        renewal = LeaseRenewal(producers, sender)
        transactions = None
        if joins is not None:
            transactions = Transactions(
                takeover, producers, sender, joins, points, anchor_writer.wrote
            )
        return cls(
            partitions,
            sender,
            upkeep,
            anchor_writer,
            ForeignWriters(spec, target, registry, gaps, sender.dispatch),
            transactions,
            Replan(connections, producers, upkeep, anchor_writer),
            renewal,
            RateControl(target, sender, fetchers, RateBackoff(spec.copying.bytes_per_second)),
        )

    def work(self) -> list[Coroutine[object, object, None]]:
        """Return the coroutines that run concurrently until the unit ends."""
        work: list[Coroutine[object, object, None]]
        work = [
            self.renewal.run(),
            self.upkeep.run(),
            self.anchor_writer.run(),
            self.foreign_writers.run(),
            self.rate_control.run(),
        ]
        if self.transactions is not None:
            work.append(self.transactions.run())
        return work

    async def stop(self, tasks: list[asyncio.Task[object]]) -> None:
        """Commit the open transaction, send nothing more and cancel ``tasks``; write no anchors."""
        if self.transactions is not None:
            await self.transactions.end()
        self.sender.stopped = True
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.upkeep.stop()

    async def end_cleanly(self) -> None:
        """Write clean anchors (G), as AnchorWriter.end_cleanly does."""
        await self.anchor_writer.end_cleanly(self.partitions)


def _dead_letters(spec: UnitSpec, connections: Connections) -> DeadLetters:
    if not spec.policies.dead_letters:
        return DeadLetters()
    return DeadLetters(StateLog(connections.target, dead_letters_topic(spec.source_alias)))
