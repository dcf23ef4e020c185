"""Records and anchors in one transaction: commits, and aborts by another client."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.copier.append_leases import held
from support.copier.partition_copies import OURS, a_partition, a_start, fill
from support.copier.two_clusters import a_spec
from support.fakes.memory_network import MemoryCluster
from support.records.record_batches import a_marker

from replication.client.error_codes import ErrorCode
from replication.client.producer_identity import ProducerIdentity
from replication.client.state_topic.state_log import StateLog
from replication.copier.fetch.fetcher_manager import FetcherManager
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.broker_errors import Recovery
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.partition.transactional_copy import JoinRequests, TransactionalCopy
from replication.copier.partition_upkeep import PartitionUpkeep
from replication.copier.produce import transactions
from replication.copier.produce.producers import Producers
from replication.copier.produce.sender import Sender
from replication.copier.produce.transaction_outcome import TransactionOutcome
from replication.copier.produce.transactions import Transactions
from replication.copier.spec import UnitSpec
from replication.copier.takeover import takeover
from replication.copier.takeover.connections import Connections, new_connections
from replication.errors import ClusterUnavailable
from replication.model import PartitionState, TopicPartition
from replication.offsets.offset_map import has_lost_first
from replication.records.batch import ABORT, walk
from replication.records.control_batches import is_commit
from replication.state import anchors_topic, offsets_topic

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self.target.grant(ME.transactional_id, ME.producer)
        self.target.aborts = set(aborts)
        self.connections: Connections = new_connections(
            a_spec(), MemoryCluster("source"), self.target, {}
        )
        self.partitions = [a_partition(a_start(n), kind=TransactionalCopy) for n in range(2)]
        for partition in self.partitions:
            partition.exact = True
            fill(partition, 3)

    async def copy(
        self, until: Callable[[], bool] = lambda: False, *, recovers: bool = True
    ) -> None:
        """Let one transaction begin and end; or copy until ``until()``."""
        await self.connections.takeover.anchors.own((OURS, 1))
        spec = UnitSpec("A->B", "A", "B", 0, 1, 0, (), {}, {})
        recoveries, joins = RecoveryQueue(), JoinRequests()
        sender = Sender(self.target, recoveries, AppendGaps(), joins, held(), ME.transactional_id)
        producers = Producers(spec, self.connections, self.partitions, ME, sender)
        readers = FetcherManager(spec, self.connections, sender, producers, recoveries)
        upkeep = PartitionUpkeep(self.connections, producers, sender, readers, None, recoveries)
        ended: list[object] = []
        points, takeover = StateLog(self.target, offsets_topic("A")), self.connections.takeover
        copying = Transactions(takeover, producers, sender, joins, points, ended.append)
        running = [asyncio.create_task(each.run()) for each in (copying, upkeep)[: 1 + recovers]]
        for partition in self.partitions:
            sender.lead[partition] = 0
            sender.offer(partition)
        deadline = time.monotonic() + 10
        while not ended and not until():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        await copying.end()
        for each in running:
            each.cancel()

    def is_taken_over(self) -> bool:
        """Say whether the transaction was aborted, and its partitions were taken over since."""
        began_anew = any(each[0] == "init" for each in self.target.events)
        return began_anew and all(each.error is None for each in self.partitions)

    def commits(self) -> int:
        """Return how many COMMIT markers the target has."""
        batches = (each for log in self.target.logs.values() for each in log.batches)
        found = [next(walk(memoryview(each))) for each in batches]
        return sum(is_commit(each, "") for each in found if each.is_control)

    def committed(self) -> dict[int, int]:
        """Return the source offset in each partition's newest anchor."""
        read = asyncio.run(StateLog(self.target, ANCHORS.topic).read_on())
        return {each.partition: each.source for each in read}


def test_offset_points_are_stored_before_the_anchors_that_name_them_are_committed():
    """A unit may be killed before the writer of anchors had its first turn."""
    stage = Stage()
    asyncio.run(stage.copy())
    points, anchors = (
        asyncio.run(StateLog(stage.target, topic).read_on())
        for topic in (offsets_topic("A"), ANCHORS.topic)
    )
    for each in anchors:
        stored = [point for point in points if point.partition == each.partition]
        later = replace(each, run=(each.run[0], 1, each.source, each.target + 1, each.records))
        assert [point.number for point in stored] == [each.run[1]] == [0]
        assert not has_lost_first(stored, later)
    appended = [each[1] for each in stage.target.events if each[0] == "append"]
    assert appended.index(offsets_topic("A")) < appended.index(ANCHORS.topic)


def test_anchors_are_committed_with_the_records():
    stage = Stage()
    asyncio.run(stage.copy())
    assert stage.committed() == {0: 3, 1: 3}
    batches = [next(walk(memoryview(each))) for each in stage.target.logs[ANCHORS].batches]
    anchors = [each for each in batches if not each.is_control]
    assert all(each.is_transactional for each in anchors)
    assert len(stage.target.logs[ANCHORS].records()) == 2, "each once"


def test_a_partition_that_always_has_more_to_send_is_committed_meanwhile():
    stage = Stage()

    def feed(topic: str, _batch: bytes) -> int:
        if topic == "t":
            fill(stage.partitions[0], 1)
        return 0

    stage.target.refuse = feed
    asyncio.run(stage.copy())
    assert stage.committed()[0] >= 3
    assert not [each for each in stage.target.events if each[0] == "init"], "it was aborted"


def test_where_somebody_aborted_our_transaction_the_records_are_copied_again():
    stage = Stage(TopicPartition("t", 1))
    asyncio.run(stage.copy())
    assert stage.committed() == {0: 3, 1: 0}
    assert [each.position for each in stage.partitions] == [3, 0]
    assert [each.counters.records for each in stage.partitions] == [3, 0]
    assert [each.exact for each in stage.partitions] == [True, True]
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

    async def aborted(self, producer, intervals):
        doubts.append(all(each.in_doubt for each in stage.partitions))
        if len(doubts) == 1:
            raise ClusterUnavailable("B: no leader")
        return await real(self, producer, intervals)

    monkeypatch.setattr(TransactionOutcome, "aborted", aborted)
    asyncio.run(stage.copy())
    assert len(doubts) > 1, "it is asked again"
    assert all(doubts)
    assert not any(each.in_doubt for each in stage.partitions)


def test_an_abort_between_two_appends_of_one_transaction_commits_nothing(monkeypatch):
    """The coordinator would commit: it was not told that records before the marker are gone."""
    monkeypatch.setattr(takeover, "_REQUEST_TIMEOUT_S", 0.0)
    stage, appends = Stage(), []
    log = stage.target.logs[stage.partitions[0].target]

    def abort_before_the_third(topic: str, _batch: bytes) -> int:
        appends.append(topic)
        if appends.count("t") == 3 and topic == "t":  # either partition has one record by then
            log.append(a_marker(0, OURS, 1, ABORT))
        return 0

    stage.target.refuse = abort_before_the_third
    asyncio.run(stage.copy(stage.is_taken_over))
    assert stage.commits() == 0
    assert [each.position for each in stage.partitions] == [0, 0]
    assert [each.counters.records for each in stage.partitions] == [0, 0]


def test_an_abort_is_tried_again_until_the_coordinator_answers(monkeypatch):
    """Before there is a new epoch, nothing of the aborted transaction may be sent again."""
    monkeypatch.setattr(takeover, "_REQUEST_TIMEOUT_S", 0.0)
    monkeypatch.setattr(transactions, "_RENEW_PAUSE_S", 0.01)
    stage = Stage()
    log, init = stage.target.logs[stage.partitions[0].target], stage.target.init_producer_id
    silences, markers, ends = [1, 2], [a_marker(0, OURS, 1, ABORT)], []

    def abort_before_the_second(topic: str, _batch: bytes) -> int:
        if topic == "t" and log.batches and markers:
            log.append(markers.pop())
        return 0

    async def answer_at_the_third(transactional_id):
        ends.append({each: log.end for each, log in stage.target.logs.items()})
        if silences:
            raise ClusterUnavailable(f"no coordinator, {silences.pop()}")
        return await init(transactional_id)

    stage.target.refuse = abort_before_the_second
    stage.target.init_producer_id = answer_at_the_third
    asyncio.run(stage.copy(stage.is_taken_over))
    assert silences == []
    assert ends[0] == ends[2]
    assert stage.commits() == 0
    assert [each.position for each in stage.partitions] == [0, 0]


def test_an_end_does_not_wait_for_ever_for_a_target_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(transactions, "_END_S", 0.05)
    stage, joins = Stage(), []

    async def never(*request: object) -> None:
        joins.append(request)
        await asyncio.Event().wait()

    stage.target.add_to_transaction = never
    asyncio.run(stage.copy(lambda: bool(joins)))
    assert stage.commits() == 0
    assert [each.position for each in stage.partitions] == [3, 3]
    assert stage.committed() == {}


def test_an_abort_takes_a_new_epoch_before_another_partition_may_join(monkeypatch):
    """Else the next commit would be that of the aborted records too."""
    monkeypatch.setattr(takeover, "_REQUEST_TIMEOUT_S", 0.0)
    stage = Stage()
    stage.target.refuse = lambda topic, _: ErrorCode.INVALID_PRODUCER_EPOCH if topic == "t" else 0
    asyncio.run(
        stage.copy(lambda: any(each[0] == "init" for each in stage.target.events), recovers=False)
    )
    assert stage.commits() == 0
    for each in stage.partitions:
        assert each.error.recovery is Recovery.TAKE_OVER
        assert each.error.reason


def test_a_partition_that_is_halted_within_a_transaction_aborts_it(monkeypatch):
    """Its records would be committed without its anchor, and copied again."""
    monkeypatch.setattr(takeover, "_REQUEST_TIMEOUT_S", 0.0)
    stage = Stage()
    halted = stage.partitions[0]

    def halt_while_it_is_open() -> bool:
        if halted.committed is not None and halted.acked.source == 3:
            halted.halt(PartitionState.SOURCE_RECREATED, "the source topic is another one")
        return any(each[0] == "init" for each in stage.target.events)

    asyncio.run(stage.copy(halt_while_it_is_open, recovers=False))
    assert stage.commits() == 0
    assert halted.state_and_reason == (
        PartitionState.SOURCE_RECREATED, "the source topic is another one",
    )  # fmt: skip
    assert (halted.acked.source, halted.counters.records) == (0, 0)
    other = stage.partitions[1].error
    assert (other.recovery, other.reason) == (Recovery.TAKE_OVER, halted.status.reason)


def test_a_partition_that_may_not_join_yet_backs_off_and_the_other_is_committed():
    """AddPartitionsToTxn adds all or none: the target names the one, and the other asks again."""
    stage = Stage()
    refused, joined = (each.target for each in stage.partitions)
    add = stage.target.add_to_transaction

    async def refuse_one(transactional_id, producer, partitions):
        await asyncio.sleep(0)
        if refused not in partitions:
            return await add(transactional_id, producer, partitions)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        others = dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED)
        return {**others, refused: code}

    stage.target.add_to_transaction = refuse_one
    asyncio.run(stage.copy())
    assert stage.partitions[0].status.reason == "the target has no such topic or partition"
    assert stage.partitions[0].position == 0  # fetched again
    assert stage.target.logs[refused].values() == []
    assert len(stage.target.logs[joined].values()) == 3
    assert stage.committed() == {1: 3}
