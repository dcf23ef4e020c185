"""A batch that cannot be read: fetched again, from another replica, and only then damaged."""

from __future__ import annotations

import asyncio

import pytest
from support.partition_copies import a_partition, a_start
from support.record_batches import a_batch
from support.segmented_log import LogNetwork, SegmentedLog

from replication.client.fetch_values import FetchBuffer, FetchEntry
from replication.client.preferred_replicas import Replicas
from replication.copier.fetch.buffer_pool import BufferPool
from replication.copier.fetch.fetch_response import FetcherContext, FetchResponse, Unclear, locate
from replication.copier.fetch.throttle import Throttle
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.broker_errors import Recovery
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.produce.sender import Sender
from replication.model import PartitionState

BODY = 80


def a_log(*, damaged: bool) -> SegmentedLog:
    log = SegmentedLog([(n, a_batch(n, [b"%d" % n * 30])) for n in range(3)], 3, 10, 1)
    if damaged:
        log.damage(1, BODY, b"?")
    return log


class Fetching:
    """Handles the responses of a source whose brokers have these logs, the leader's first."""

    def __init__(self, *logs: SegmentedLog) -> None:
        self.network, self.replicas, self.moved = LogNetwork(*logs), Replicas(), []
        self.network.most, self.reasons = 1, []  # a batch a response
        self.partition = a_partition(a_start())
        self.sender = Sender(self.network, RecoveryQueue(), AppendGaps())
        self.shared = FetcherContext(
            self.network,
            True,  # noqa: FBT003 -- read_committed
            BufferPool(),
            Throttle(),
            self.replicas,
            self.sender,
            None,
            self.moved.append,
        )

    def fetch(self) -> tuple[object, int]:
        """Fetch once from the preferred broker; return what came of it, and the broker."""
        node = self.replicas.of(self.partition.source, 0.0) or 0
        entry = FetchEntry(self.partition.topic_id, 0, self.partition.position)
        found = self.network.answer(node, entry, 1)
        taken = FetchResponse(node, self.shared).take(self.partition, found, FetchBuffer())
        if self.partition.retry_at is not None:
            self.reasons.append(self.partition.reason)
        self.partition.error = self.partition.retry_at = None  # it is tried again
        return taken, node

    def copy(self) -> None:
        while self.partition.queue.waiting:
            self.partition.appended(self.partition.queue.next_batch(), self.partition.position)
        self.partition.queue.responses_due = 0

    def located(self, taken):
        assert taken.is_damaged
        unclear = Unclear(damaged=[self.partition])
        ((_, error),) = asyncio.run(locate(self.network, unclear, committed=True))
        return error


def test_bl_226_a_batch_counts_as_damaged_after_it_was_fetched_four_times():
    fetching = Fetching(a_log(damaged=True))
    fetching.fetch()
    fetching.copy()
    found = [fetching.fetch()[0] for _ in range(4)]
    assert [each.is_damaged for each in found] == [False, False, False, True]
    assert fetching.reasons == ["reading t-0 at offset 1: the checksum does not match"] * 3
    error = fetching.located(found[-1])
    assert (error.recovery, error.state) == (Recovery.DECIDE, PartitionState.SOURCE_CORRUPT)
    assert error.lost == (1, 2)


def test_bl_226_a_batch_that_is_whole_on_another_replica_is_copied_from_there():
    fetching = Fetching(a_log(damaged=True), a_log(damaged=False))
    nodes = []
    for _ in range(5):
        nodes.append(fetching.fetch()[1])
        fetching.copy()
    assert nodes == [0, 0, 0, 1, 1]
    assert fetching.partition.position == 3
    assert fetching.moved == [fetching.partition]


def test_bl_226_a_batch_that_is_damaged_on_all_replicas_is_damaged():
    fetching = Fetching(a_log(damaged=True), a_log(damaged=True), a_log(damaged=True))
    found = []
    for _ in range(5):
        found.append(fetching.fetch())
        fetching.copy()
    assert [node for _, node in found] == [0, 0, 0, 1, 2]
    assert fetching.located(found[-1][0]).lost == (1, 2)


def test_bl_226_damage_in_one_response_alone_passes_by_itself():
    log = a_log(damaged=False)
    fetching = Fetching(log)
    fetching.fetch()
    fetching.copy()
    (good,) = log.bytes_of(1, BODY, 1)
    log.damage(1, BODY, b"?")
    fetching.fetch()
    assert fetching.reasons
    log.damage(1, BODY, bytes([good]))
    fetching.fetch()
    fetching.copy()
    fetching.fetch()
    fetching.copy()
    fetching.fetch()
    assert fetching.partition.position == 3
    assert fetching.partition.state_and_reason == (PartitionState.RUNNING, "")


def test_batches_before_the_damaged_one_are_sent_before_it_is_looked_at():
    fetching = Fetching(a_log(damaged=True))
    fetching.network.most = 1 << 20
    for _ in range(9):
        assert not fetching.fetch()[0].is_damaged
    assert len(fetching.partition.queue.waiting) == 1
    fetching.copy()
    assert fetching.partition.position == 1


@pytest.mark.parametrize("unreadable", [-1, 2, 87])
def test_an_error_code_that_may_mean_damage_is_asked_for_again_too(unreadable):
    fetching = Fetching(a_log(damaged=False))
    answer = fetching.network.answer
    fetching.network.answer = lambda *more: answer(*more)._replace(
        error=unreadable, high_watermark=-1, records=memoryview(b"")
    )
    found = [fetching.fetch()[0].is_damaged for _ in range(4)]
    assert found == [False, False, False, True]
    assert f"error {unreadable} (" in fetching.reasons[-1]


def test_a_reason_is_forgotten_when_the_source_answers_well_and_nothing_is_on_its_way():
    fetching = Fetching(a_log(damaged=False))
    partition = fetching.partition
    partition.reason = "the source partition's leader changed"
    fetching.fetch()
    assert partition.reason  # the target has yet to answer
    fetching.copy()
    partition.reason, partition.position = "the source partition's leader changed", 3
    fetching.fetch()
    assert partition.reason == ""
