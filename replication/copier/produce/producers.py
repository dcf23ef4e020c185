"""The producers of a unit: its own, and one for each replication path that it forwards.

Part of invariant P3.

Nothing of a Fetch response is queued before the registry was asked for each of its producer ids
(P1), and before there is a producer for each replication path that is forwarded.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.moment import Moment
from replication.clock import now_ms
from replication.copier.partition.broker_errors import PartitionError, Recovery
from replication.copier.takeover.producer_ids import entry_of, forwarder, producer_identity
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.provenance.origins import LOCAL_ORIGIN
from replication.records.batch import producer_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replication.client.producer_identity import ProducerIdentity
    from replication.copier.partition.intake import FetchedPartition
    from replication.copier.partition.partition_copy import PartitionCopy
    from replication.copier.produce.sender import Sender
    from replication.copier.spec import UnitSpec
    from replication.copier.takeover.connections import Connections
    from replication.provenance.origins import ReplicationPath


@dataclass(slots=True)
class Producers:
    """Obtains, registers and renews the producer ids of one unit."""

    spec: UnitSpec
    connections: Connections
    partitions: Sequence[PartitionCopy]  # all of the unit
    me: ProducerIdentity  # the producer of records that originate at the source
    sender: Sender
    _forwarders: dict[ReplicationPath, ProducerIdentity] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def identities(self) -> list[ProducerIdentity]:
        """The unit's producers that have a transactional id."""
        return [each for each in (self.me, *self._forwarders.values()) if each.fences]

    async def read_new_claims(self) -> None:
        """Read the anchors to their end. Raises FlowTaken when a claim outranks ours."""
        await self.connections.takeover.read_new_claims(self.partitions, self.me)

    async def renew(self) -> None:
        """Get a new epoch of our producer id, unless a claim outranks ours: raises FlowTaken.

        Partitions without our new marker continue under their present epoch.
        """
        asked = Moment.now()
        await self.read_new_claims()
        self.me = await producer_identity(self.spec, self.connections)
        self._forwarders.clear()  # a takeover fences their new epochs, too
        # The coordinator assigns another producer id if the transactional id expired (F).
        takeover = self.connections.takeover
        await takeover.anchors.own(self.me.producer)
        await takeover.entries.register(entry_of(self.spec, self.connections, self.me))
        self.sender.lease.renew(asked)

    async def producer(
        self, path: ReplicationPath, partitions: Iterable[PartitionCopy]
    ) -> ProducerIdentity:
        """Return the producer of ``path``, after ``partitions`` have claimed it.

        It is registered first (F). The caller holds the takeover's lock.
        """
        if path == LOCAL_ORIGIN:
            return self.me
        takeover = self.connections.takeover
        if path not in self._forwarders:
            found = await forwarder(self.spec, self.connections, path)
            await takeover.entries.register(entry_of(self.spec, self.connections, found, path))
            self._forwarders[path] = found
        producer = self._forwarders[path]
        new = [
            each for each in partitions if each.queue.writer.producer_for(path) != producer.producer
        ]
        for partition in new:
            partition.name_appender(producer.transactional_id, producer.producer_id)
        now = now_ms()
        await takeover.anchors.append([each.anchor(now) for each in new])
        for partition in new:
            partition.queue.writer.admit(path, producer.producer)
        return producer

    def ready(self, fetched: Sequence[FetchedPartition]) -> bool:
        """Say whether every fetched batch can be queued without a lookup."""
        ids = _producer_ids(fetched)
        return not ids or not (
            self._unknown(ids)
            or any(_missing_paths(partition, some) for partition, some in ids.items())
        )

    async def prepare(self, fetched: Sequence[FetchedPartition]) -> None:
        """Look up producer ids and admit producers; partitions may change position meanwhile.

        Where that fails, the error is recorded for the partitions.
        """
        ids = _producer_ids(fetched)
        try:
            async with self._lock:
                await self.connections.registry.look_up(
                    self._unknown(ids), needed=self.spec.source_has_copies
                )
                await self._admit_all(ids)
        except (ClusterUnavailable, ClusterRejected) as problem:
            for partition in ids:
                partition.record_error(PartitionError(Recovery.RETRY, str(problem)))
                self.sender.dispatch(partition)

    def _unknown(self, ids: Mapping[PartitionCopy, set[int]]) -> set[int]:
        return self.connections.registry.origins.unknown(
            {each for some in ids.values() for each in some}
        )

    async def _admit_all(self, ids: Mapping[PartitionCopy, set[int]]) -> None:
        missing: dict[ReplicationPath, list[PartitionCopy]] = defaultdict(list)
        for partition, some in ids.items():
            for path in _missing_paths(partition, some):
                missing[path].append(partition)
        for path, partitions in missing.items():
            async with self.connections.takeover.turn:
                await self.producer(path, [each for each in partitions if each.fetches])


def _producer_ids(fetched: Sequence[FetchedPartition]) -> dict[PartitionCopy, set[int]]:
    """Return the producer ids in the fetched batches of each partition with a loop rule."""
    return {
        partition: producer_ids(each.records)
        for partition, each in fetched
        if partition.rules.path_of is not None and each.records
    }


def _missing_paths(partition: PartitionCopy, ids: Iterable[int]) -> set[ReplicationPath]:
    """Return the replication paths to forward that have no producer in the partition yet."""
    path_of = partition.rules.path_of
    if path_of is None:
        return set()
    found = {path_of(each, partition.position) for each in ids}
    return {path for path in found if path and partition.queue.writer.producer_for(path) is None}
