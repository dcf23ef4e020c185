"""A batch that cannot be read: fetched again, from another replica, and only then damaged."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.copier.partition_copies import a_partition, a_start
from support.fakes.segmented_log import LogNetwork, SegmentedLog
from support.records.record_batches import a_batch

from replication.client.error_codes import ErrorCode
from replication.client.fetch_values import FetchBuffer, FetchEntry
from replication.client.preferred_replicas import Replicas
from replication.copier.fetch import fetch_response
from replication.copier.fetch.buffer_pool import BufferPool
from replication.copier.fetch.fetch_response import FetcherContext, FetchResponse
from replication.copier.fetch.stalled_lso import StalledLso
from replication.copier.fetch.throttle import Throttle
from replication.copier.fetch.unclear_errors import Unclear, locate
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.broker_errors import Recovery
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.produce.sender import Sender
from replication.errors import ClusterUnavailable, NotCountable
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
        self.network, self.replicas, self.moved = LogNetwork(*logs), Replicas(""), []
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
            self.reasons.append(self.partition.status.reason)
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
    partition.status.reason = "the source partition's leader changed"
    fetching.fetch()
    assert partition.status.reason  # the target has yet to answer
    fetching.copy()
    partition.status.reason, partition.position = "the source partition's leader changed", 3
    fetching.fetch()
    assert partition.status.reason == ""


def a_response(stable: int, high_watermark: int) -> SimpleNamespace:
    return SimpleNamespace(stable=stable, high_watermark=high_watermark)


def test_a_transaction_that_blocks_the_source_for_long_is_named_with_what_waits():
    stalled, partition = StalledLso(), a_partition(a_start())
    partition.position = 10
    reported = []
    for now, stable in ((0.0, 10), (4.9, 10), (5.0, 10)):
        stalled.on_response(partition, a_response(stable, 17), now)
        reported.append(partition.status.stalled_lso)
    where = "blocked by an open transaction at offset 10 of the source"
    assert reported == ["", "", f"{where}; 7 later offsets wait until it ends"]
    partition.position = 12
    stalled.on_response(partition, a_response(12, 17), 6.0)
    assert partition.status.stalled_lso == "", "it ended, and another one is open since now"
    stalled.on_response(partition, a_response(12, 17), 10.9)
    assert partition.status.stalled_lso == ""
    stalled.on_response(partition, a_response(12, 17), 11.0)
    assert "at offset 12 of the source; 5 later" in partition.status.stalled_lso


@pytest.mark.parametrize(
    ("position", "stable"),
    [(9, 10), (17, 17)],
    ids=["there is more to read", "nothing is behind it"],
)
def test_a_source_that_is_read_on_is_not_blocked(position, stable):
    stalled, partition = StalledLso(), a_partition(a_start())
    partition.position, partition.status.stalled_lso = position, "blocked"
    for now in (0.0, 60.0):
        stalled.on_response(partition, a_response(stable, 17), now)
        assert partition.status.stalled_lso == ""


@pytest.mark.parametrize(("committed", "end"), [(True, 2), (False, 3)])
def test_the_end_of_the_source_is_what_the_isolation_lets_us_read(committed, end):
    fetching = Fetching(a_log(damaged=False))
    fetching.shared = replace(fetching.shared, committed=committed)
    entry = FetchEntry(fetching.partition.topic_id, 0, 0)
    found = fetching.network.answer(0, entry, 1)._replace(stable=2, high_watermark=3)
    FetchResponse(0, fetching.shared).take(fetching.partition, found, FetchBuffer())
    assert fetching.partition.source_log.end == end


def test_a_source_that_does_not_return_a_damaged_batch_is_asked_again():
    fetching = Fetching(a_log(damaged=True))

    async def silent(*_: object, **__: object) -> None:
        raise ClusterUnavailable("A: no leader")

    for name in ("fetch", "offset_at"):
        setattr(fetching.network, name, silent)
    error = fetching.located(SimpleNamespace(is_damaged=True))
    assert (error.recovery, error.reason) == (Recovery.RETRY, "A: no leader")


class OfReplica(Fetching):
    """The same in a rack, with two replicas that have all; ``take`` handles a changed response."""

    def __init__(self, rack: str = "eu-1a", preferred: int | None = None) -> None:
        super().__init__(a_log(damaged=False), a_log(damaged=False))
        self.replicas.rack, self.now = rack, time.monotonic()
        if preferred is not None:
            self.replicas.prefer(self.partition.source, preferred, self.now)

    def take(self, node: int, **changes: object) -> tuple[bool, int | None, int]:
        """Return whether it moves, the broker that is preferred then, and the position."""
        entry = FetchEntry(self.partition.topic_id, 0, self.partition.position)
        found = self.network.answer(node, entry, 1)._replace(**changes)
        FetchResponse(node, self.shared).take(self.partition, found, FetchBuffer())
        preferred = self.replicas.of(self.partition.source, time.monotonic())
        return self.moved == [self.partition], preferred, self.partition.position


def test_a_replica_in_our_rack_that_the_leader_names_is_fetched_from():
    assert OfReplica().take(0, preferred_replica=1) == (True, 1, 0)
    assert OfReplica(rack="").take(0, preferred_replica=1) == (False, None, 1)
    assert OfReplica().take(0, preferred_replica=0) == (False, None, 1), "itself"
    assert OfReplica().take(0, preferred_replica=-1) == (False, None, 1), "none"


@pytest.mark.parametrize(
    "changes",
    [
        {"error": ErrorCode.OFFSET_OUT_OF_RANGE},
        {"error": ErrorCode.KAFKA_STORAGE_ERROR},
        {"diverging": (3, 0)},
        {"preferred_replica": 0},
    ],
    ids=["it has not what is asked for", "it fails", "another log", "it names another broker"],
)
def test_a_replica_that_fails_is_given_up_and_the_leader_asked_for_everything(changes):
    fetching = OfReplica(preferred=1)
    assert fetching.take(1, **changes) == (True, None, 0)
    assert fetching.partition.error is None, "that the replica failed says nothing of the source"
    assert fetching.replicas.rack_at(time.monotonic()) == "", "the leader is to name none for now"


def test_a_replica_that_answers_well_is_fetched_from_further():
    fetching = OfReplica(preferred=1)
    assert fetching.take(1, preferred_replica=1) == (False, 1, 1)
    assert fetching.replicas.rack_at(time.monotonic()) == "eu-1a"


def test_an_error_of_the_leader_is_one_of_the_source():
    fetching = OfReplica()
    assert fetching.take(0, error=ErrorCode.KAFKA_STORAGE_ERROR)[:2] == (False, None)
    assert fetching.partition.retry_at is not None or fetching.partition.error is not None


def test_records_that_cannot_be_counted_ask_for_a_takeover(monkeypatch):
    def uncountable(*_: object) -> int:
        raise NotCountable("a batch without a producer")

    monkeypatch.setattr(fetch_response, "take", uncountable)
    fetching = OfReplica()
    fetching.take(0)
    error = fetching.partition.error
    assert (error.recovery, error.reason) == (Recovery.TAKE_OVER, "a batch without a producer")
    assert fetching.partition.uncountable == error.reason


def test_the_offset_of_a_damaged_batch_is_noted_and_those_before_it_are_not():
    fetching = Fetching(a_log(damaged=True))
    fetching.fetch()
    assert fetching.partition.source_log.unread is None
    fetching.copy()
    fetching.fetch()
    assert (fetching.partition.position, fetching.partition.source_log.unread) == (1, 1)


def test_the_time_at_which_all_was_copied_is_noted_in_milliseconds(monkeypatch):
    fetching = Fetching(a_log(damaged=False))
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.25)
    for _ in range(3):
        fetching.fetch()
        assert fetching.partition.counters.caught_up_ms == 0
        fetching.copy()
    fetching.fetch()
    assert fetching.partition.counters.caught_up_ms == 1_800_000_000_250
