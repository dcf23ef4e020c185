"""Records and anchors in one transaction: commits, and aborts by another client."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.memory_network import MemoryCluster
from support.partition_copies import OURS, a_partition, a_start, fill

from replication.client.producer_identity import ProducerIdentity
from replication.client.state_log import StateLog
from replication.copier.fetch.fetcher_manager import FetcherManager
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.partition.transactional_copy import JoinRequests, TransactionalCopy
from replication.copier.partition_upkeep import PartitionUpkeep
from replication.copier.produce.producers import Producers
from replication.copier.produce.sender import Sender
from replication.copier.produce.transaction_outcome import TransactionOutcome
from replication.copier.produce.transactions import Transactions
from replication.copier.spec import UnitSpec
from replication.copier.takeover.connections import Connections, new_connections
from replication.errors import ClusterUnavailable
from replication.model import TopicPartition
from replication.state import anchors_topic

ANCHORS = TopicPartition(anchors_topic("A"), 0)
ME = ProducerIdentity("isthmus.A->B.0.txn", OURS, 1, 1)


@pytest.fixture(autouse=True)
def unread(monkeypatch) -> None:
    """Let nothing be fetched: what is to be copied was."""

    async def arrange(*_: object) -> None:
        pass

    monkeypatch.setattr(PartitionUpkeep, "arrange", arrange)


class Stage:
    """Two partitions with three records each, and a target on which another client may abort."""

    def __init__(self, *aborts: TopicPartition) -> None:
        self.target = MemoryCluster()
        self.target.aborts = set(aborts)
        self.connections: Connections = new_connections(
            "A->B", MemoryCluster("source"), self.target, "A"
        )
        self.partitions = [a_partition(a_start(n), kind=TransactionalCopy) for n in range(2)]
        for partition in self.partitions:
            partition.exact = True
            fill(partition, 3)

    async def copy(self) -> None:
        """Let one transaction begin and end."""
        await self.connections.takeover.anchors.own((OURS, 1))
        spec = UnitSpec("A->B", "A", "B", 0, 1, 0, (), {}, {})
        recoveries, joins = RecoveryQueue(), JoinRequests()
        sender = Sender(self.target, recoveries, AppendGaps(), joins, ME.transactional_id)
        producers = Producers(spec, self.connections, self.partitions, ME, sender)
        readers = FetcherManager(spec, self.connections, sender, producers, recoveries)
        upkeep = PartitionUpkeep(self.connections, producers, sender, readers, None, recoveries)
        ended: list[object] = []
        takeover = self.connections.takeover
        transactions = Transactions(takeover, producers, sender, joins, ended.append)
        running = [asyncio.create_task(each.run()) for each in (transactions, upkeep)]
        for partition in self.partitions:
            sender.lead[partition] = 0
            sender.offer(partition)
        deadline = time.monotonic() + 10
        while not ended:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        await transactions.end()
        for each in running:
            each.cancel()

    def committed(self) -> dict[int, int]:
        """Return the source offset in each partition's newest anchor."""
        read = asyncio.run(StateLog(self.target, ANCHORS.topic).read_on())
        return {each.partition: each.source for each in read}


def test_anchors_are_committed_with_the_records():
    stage = Stage()
    asyncio.run(stage.copy())
    assert stage.committed() == {0: 3, 1: 3}


def test_where_somebody_aborted_our_transaction_the_records_are_copied_again():
    stage = Stage(TopicPartition("t", 1))
    asyncio.run(stage.copy())
    assert stage.committed() == {0: 3, 1: 0}
    assert [each.position for each in stage.partitions] == [3, 0]
    assert [each.counters.records for each in stage.partitions] == [3, 0]
    assert (
        "our transaction was aborted by another client" in stage.partitions[1].state_and_reason[1]
    )


def test_anchors_that_somebody_aborted_are_written_again():
    stage = Stage(ANCHORS)
    asyncio.run(stage.copy())
    assert stage.committed() == {0: 3, 1: 3}
    assert [each.position for each in stage.partitions] == [3, 3]


def test_invariant_a_what_is_refused_for_now_is_sent_again_within_its_transaction():
    stage = Stage()
    refusals = [6]  # another broker leads it
    stage.target.refuse = lambda topic, _: refusals.pop() if topic == "t" and refusals else 0
    asyncio.run(stage.copy())
    assert not refusals
    assert min(stage.committed().values()) > 0  # the rest is the next transaction's
    assert not [each for each in stage.target.events if each[0] == "init"], "it was aborted"


def test_how_a_transaction_ended_is_asked_until_it_is_known_and_no_anchor_is_ahead(monkeypatch):
    stage, doubts = Stage(), []
    real = TransactionOutcome.aborted

    async def aborted(self, producer, stretches):
        doubts.append(all(each.in_doubt for each in stage.partitions))
        if len(doubts) == 1:
            raise ClusterUnavailable("B: no leader")
        return await real(self, producer, stretches)

    monkeypatch.setattr(TransactionOutcome, "aborted", aborted)
    asyncio.run(stage.copy())
    assert doubts == [True, True]
    assert not any(each.in_doubt for each in stage.partitions)
