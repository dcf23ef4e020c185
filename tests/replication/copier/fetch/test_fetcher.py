"""Fetching into reused buffers: held buffers stay, read-ahead is bounded, all get their turn."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import cache, partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.copier.partition_copies import LARGE, a_partition, a_start
from support.fakes.memory_network import give
from support.records.record_batches import a_batch

from replication.client.fetch_session import FetchOptions, FetchSession
from replication.client.fetch_values import EpochEndOffset, Fetched, Leader
from replication.client.network import SessionLost
from replication.client.preferred_replicas import Replicas
from replication.copier.fetch.buffer_pool import BufferPool, buffers_for
from replication.copier.fetch.fetch_request import FetchRequest
from replication.copier.fetch.fetch_response import FetcherContext, FetchResponse
from replication.copier.fetch.fetcher import Fetcher
from replication.copier.fetch.throttle import Throttle
from replication.copier.fetch.unclear_errors import Unclear, locate
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.broker_errors import Recovery
from replication.copier.partition.position import Position
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.produce.sender import Sender
from replication.errors import ClusterUnavailable
from replication.model import PartitionState

MB = 1 << 20
EPOCH = 0  # leader epoch of all batches here


@cache
def a_large_batch(offset: int) -> bytes:
    return a_batch(offset, [b"%d" % offset + LARGE * 20])


class Source:
    """Answers each Fetch with one large record a partition, written into the buffer.

    With ``keeps`` it has sessions as a broker has: it remembers entries, and answers those that
    are not ``idle``.
    """

    def __init__(self, *partitions) -> None:
        self.partitions = partitions
        self.asked: list = []
        self.options: list = []  # with which it was asked
        self.keeps, self.session, self.idle = True, {}, set()
        self.opened = 0
        self.most = 1 << 30  # partitions an answer
        self.error, self.start, self.end_offsets = 0, 5, [9]
        self.outside: set = set()  # partitions that have not what is asked of them
        self.refreshed: list = []
        self.diverging = self.named = None
        self.knows = True  # the address of the leader that is named
        self.throttle, self.replicas, self.moved = Throttle(), Replicas(""), []
        self.problem: Exception | None = None
        self.paused_s = 0.0  # how long the broker throttles us
        self.damaged_from = 1 << 40
        self.settled: list = []
        self.answered = asyncio.Event()

    def pause_s(self, node: int, line: str = "produce") -> float:
        assert (node, line) == (0, FetchOptions().line)
        return self.paused_s

    async def offset_at(self, _partition, timestamp: int) -> int:
        if timestamp != -1:
            return self.start
        return self.end_offsets.pop(0) if len(self.end_offsets) > 1 else self.end_offsets[0]

    async def refresh(self, topics) -> None:
        self.refreshed += topics

    def learn(self, _partition, leader) -> bool:
        assert leader == self.named
        return self.knows

    def leader(self, partition) -> Leader:
        return Leader(0, 10 + partition.partition)

    def in_sync(self, _partition) -> tuple[int, ...]:
        return (0,)

    def begin_fetch(self, node, entries, options, into, answer) -> None:
        queues = [partition.queue for partition in self.partitions]
        stalled_lso = {id(p.buffer) for each in queues for p in (*each.waiting, *each.in_flight)}
        assert id(into) not in stalled_lso, "a buffer with batches in it is written over"
        assert into.holders == 1
        assert node == 0
        self.asked.append(list(entries))
        self.options.append(options)
        answering = self._answer(self._remember(entries, options.session), into)
        asyncio.ensure_future(answering).add_done_callback(partial(give, answer))

    def _remember(self, entries, session) -> list:
        """Return what the broker is to answer for, by the rules of KIP-227."""
        if session.fresh:
            self.session, self.opened = {}, self.opened + 1
        self.session |= {entry[:2]: entry for entry in entries}
        for key in session.forgotten:
            del self.session[key]
        session.answered(7 if self.keeps else 0)
        fetched = [each for key, each in self.session.items() if key[1] not in self.idle]
        return fetched[: self.most]

    async def _answer(self, entries, into) -> list[Fetched]:
        await asyncio.sleep(0)
        self.answered.set()
        if self.problem is not None:
            problem, self.problem = self.problem, None
            raise problem
        parts = [self._batch(each.offset) for each in entries]
        view, at, found = into.view(sum(map(len, parts))), 0, []
        for each, part in zip(entries, parts, strict=True):
            view[at : at + len(part)] = part
            records, at = view[at : at + len(part)], at + len(part)
            end = each.offset + 1
            error = 1 if each.partition in self.outside else self.error
            found.append(
                Fetched(
                    *(each.topic_id, each.partition, error, end, end, -1, [], -1, records),
                    self.diverging,
                    self.named,
                )
            )
        return found

    def _batch(self, offset: int) -> bytes:
        batch = a_large_batch(offset)
        return batch[:-1] + b"?" if offset >= self.damaged_from else batch


class Sender(Sender):
    """Sends nothing; notes which partitions were offered, and which had errors."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, RecoveryQueue(), AppendGaps())
        self.source = source
        self.queued: list = []

    def dispatch(self, partition) -> None:
        self.source.settled.append(partition)

    def offer_all(self, partitions) -> None:
        self.queued += partitions


class KnownProducers:
    """Knows the producer id of every batch."""

    def ready(self, _fetched) -> bool:
        return True


def fetching(source: Source, buffers: BufferPool, **other: object) -> Fetcher:
    fetch_request = FetchRequest(
        FetchSession(), lambda partition: source.leader(partition.source).epoch
    )
    for partition in source.partitions:
        fetch_request.join(partition)
    options = FetchOptions(session=fetch_request.session)
    shared = FetcherContext(
        source,
        False,  # noqa: FBT003 -- it has no transactions
        buffers,
        source.throttle,
        source.replicas,
        Sender(source),
        KnownProducers(),
        source.moved.append,
    )
    shared = replace(shared, **other)
    return Fetcher(0, False, fetch_request, shared, options)  # noqa: FBT003 -- not a priority topic


async def run_for(each: Fetcher, steps: int, between=lambda: None) -> None:
    """Let the fetcher run for ``steps`` turns of the event loop."""
    task = asyncio.ensure_future(each.run())
    for _ in range(steps):
        await asyncio.sleep(0)
        between()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled():
        task.result()


def run(
    partitions, steps: int = 60, count: int = 4, between=lambda _: None, prepare=lambda _: None
):
    """Fetch for ``partitions``; return the source, what was asked, and the buffers."""

    async def all_of_it():
        source, buffers = Source(*partitions), BufferPool(count)
        prepare(source)
        each = fetching(source, buffers)
        source.fetch_request = each.fetch_request
        await run_for(each, steps, lambda: between(source))
        return source

    return asyncio.run(all_of_it())


def test_read_ahead_ends_when_all_buffers_hold_batches_that_are_not_acked():
    partition = a_partition(a_start())
    source = run([partition], steps=200, count=4)
    assert len(source.asked) == len(partition.queue.waiting) == 4


def test_an_acked_batch_gives_its_buffer_back():
    partition = a_partition(a_start())

    def ack(source) -> None:
        if len(source.asked) == 4 and not partition.counters.records:
            partition.appended(partition.queue.next_batch(), 0)

    assert len(run([partition], steps=200, between=ack).asked) == 5


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_buffer_is_never_written_over_while_a_batch_in_it_is_not_acked(data):
    partitions = [a_partition(a_start(n)) for n in range(data.draw(st.integers(1, 3)))]
    copied: dict = {partition: [] for partition in partitions}

    def act(_source) -> None:
        partition = data.draw(st.sampled_from(partitions))
        what = data.draw(st.sampled_from(["send", "send", "ack", "nothing"]))
        if what == "send" and partition.sends:
            partition.queue.next_batch()
        if what == "ack" and partition.queue.in_flight:
            copied[partition].append(
                bytes(partition.queue.in_flight[0].batch[70:90])
            )  # as it lies there now
            partition.appended(partition.queue.in_flight[0], len(copied[partition]))

    run(
        partitions, steps=60, count=data.draw(st.integers(2, 5)), between=act
    )  # Source.fetch asserts
    for found in copied.values():
        for number, producer_batch in enumerate(found):
            assert b"%dxxx" % number in producer_batch


def test_each_partition_comes_first_in_its_turn_where_there_is_no_session():
    partitions = [a_partition(a_start(n)) for n in range(3)]

    def prepare(source) -> None:
        source.keeps, source.most = False, 1

    source = run(partitions, steps=400, count=9, prepare=prepare)
    assert len(source.asked) > 5
    firsts = [entries[0].partition for entries in source.asked[:6]]
    assert sorted(firsts[:3]) == [0, 1, 2] == sorted(firsts[3:])


def test_topics_stay_side_by_side_whichever_partition_is_first():
    partitions = [a_partition(a_start(n, topic)) for n in range(2) for topic in "ab"]
    for turn in range(4):
        fetch_request = FetchRequest(FetchSession(), lambda _: -1)
        for partition in partitions[turn:] + partitions[:turn]:
            fetch_request.join(partition)
        topics = [each.topic_id[:1] for each in fetch_request.next_entries()]
        assert topics in ([b"a", b"a", b"b", b"b"], [b"b", b"b", b"a", b"a"])
        assert topics[0] == partitions[turn].topic_id[:1]


def test_within_a_session_only_partitions_with_news_are_named():
    partitions = [a_partition(a_start(n)) for n in range(50)]
    source = run(partitions, steps=60, count=9, prepare=lambda s: s.idle.update(range(1, 50)))
    assert len(source.asked[0]) == 50
    assert {len(each) for each in source.asked[1:]} == {1}
    assert len(source.asked) > 5
    assert source.opened == 1


def test_a_partition_in_trouble_is_taken_out_of_the_session_and_comes_back():
    partitions = [a_partition(a_start(n)) for n in range(2)]

    def hold_back(source) -> None:
        partitions[1].retry_at = 1.0 if 3 <= len(source.asked) < 6 else None
        if len(source.asked) in {4, 5}:
            assert set(source.session) == {partitions[0].key}

    source = run(partitions, steps=300, count=20, between=hold_back)
    assert len(source.asked) > 8
    assert set(source.session) == {each.key for each in partitions}
    assert source.opened == 1
    assert all(partition.position > 3 for partition in partitions)


def test_a_lost_session_is_opened_anew_and_nobody_is_held_back():
    partitions = [a_partition(a_start(n)) for n in range(3)]

    def lose(source) -> None:
        if len(source.asked) == 2 and source.opened == 1:
            source.fetch_request.session.refused()
            source.problem = SessionLost("error 70")

    source = run(partitions, steps=60, count=9, between=lose)
    assert source.opened == 2
    assert source.settled == []
    assert all(partition.position > 2 for partition in partitions)


@given(
    st.lists(st.tuples(st.sampled_from(["on", "off", "move", "fetch", "fail"]), st.integers(0, 3)))
)
def test_the_broker_always_knows_exactly_what_is_wanted(acts):
    partitions, session = [a_partition(a_start(n)) for n in range(4)], {}
    fetch_request = FetchRequest(FetchSession(), lambda _: -1)
    for partition in partitions:
        fetch_request.join(partition)
    for act, number in [*acts, ("fetch", 0)]:
        partition = partitions[number]
        match act:
            case "on" | "off":
                partition.retry_at = None if act == "on" else 1.0
            case "move":
                partition.position += 1
            case "fail":
                fetch_request.session.restart()
            case "fetch" if (entries := fetch_request.next_entries()) is not None:
                session = {} if fetch_request.session.fresh else session
                session |= {entry[:2]: entry.offset for entry in entries}
                session = {
                    k: v for k, v in session.items() if k not in fetch_request.session.forgotten
                }
                fetch_request.session.answered(7)
                expected = {each.key: each.position for each in partitions if each.fetches}
                assert session == expected


def test_a_fetch_names_the_leader_epoch_that_is_known():
    source = run([a_partition(a_start(2))], steps=5)
    assert source.asked[0][0].leader_epoch == 12


@pytest.mark.parametrize(
    ("error", "recovery"), [(74, Recovery.RETRY), (75, Recovery.RETRY), (6, Recovery.RETRY)]
)
def test_a_stale_leader_asks_for_new_metadata(error, recovery):
    partition = a_partition(a_start())
    source = run([partition], steps=20, prepare=lambda source: setattr(source, "error", error))
    assert partition.error.recovery is recovery
    assert source.settled == [partition]
    assert not partition.queue.waiting
    assert len(source.asked) == 1


def test_a_position_that_retention_took_is_a_lost_range():
    partition = a_partition(a_start())
    run([partition], steps=20, prepare=lambda source: setattr(source, "error", 1))
    assert partition.error.state is PartitionState.LOST_RANGE
    assert "[0, 5)" in partition.error.reason


def test_a_position_that_is_there_again_is_tried_again():
    partition = a_partition(a_start())

    def prepare(source) -> None:
        source.error, source.start = 1, 0

    run([partition], steps=20, prepare=prepare)
    assert partition.error.recovery is Recovery.RETRY


@pytest.mark.parametrize(
    ("end_offsets", "recovery", "asked"),
    [
        pytest.param([0, 500, 1500], Recovery.RETRY, 2, id="two answers that were too low"),
        pytest.param([500, 500, 500], Recovery.DECIDE, 2, id="it stays so"),
        pytest.param([1500], Recovery.RETRY, 0, id="believed at once"),
    ],
)
def test_an_end_before_our_position_is_asked_for_again_before_it_is_believed(
    end_offsets, recovery, asked
):
    """BL-062."""
    partition = a_partition(a_start())
    partition.position = 1000

    async def all_of_it():
        source = Source(partition)
        source.start, source.end_offsets = 0, end_offsets
        ((_, found),) = await locate(source, Unclear([partition]), committed=False)
        assert found.recovery is recovery
        assert source.refreshed == ["t"] * asked

    asyncio.run(all_of_it())


def test_a_fetch_names_the_leader_epoch_of_the_batch_before_it():
    partition = a_partition(a_start())
    source = run([partition], steps=20)
    assert [entries[0].last_epoch for entries in source.asked[:3]] == [-1, EPOCH, EPOCH]
    partition.position = 100  # a jump: what is before it is not known
    assert partition.last_epoch == -1


def test_a_log_that_went_another_way_before_our_position_is_a_truncation():
    partition = a_partition(a_start())

    def turn(source) -> None:
        if partition.position == 3:
            source.diverging = EpochEndOffset(4, 1)

    source = run([partition], steps=100, between=turn)
    assert partition.error.state is PartitionState.SOURCE_TRUNCATED
    assert "[1, 3)" in partition.error.reason
    assert source.settled == [partition]


def test_a_log_that_went_another_way_after_our_position_is_none():
    partition = a_partition(a_start())

    def turn(source) -> None:
        at_three = partition.last_epoch == EPOCH and partition.position == 3
        source.diverging = EpochEndOffset(4, 3) if at_three else None

    source = run([partition], steps=100, count=9, between=turn)
    assert partition.error is None
    assert 4 in [entries[0].last_epoch for entries in source.asked if entries]
    assert partition.position > 4


@pytest.mark.parametrize("code", [6, 74])
@pytest.mark.parametrize("knows", [True, False])
def test_a_new_leader_that_the_former_one_names_is_followed_at_once(code, knows):
    partition = a_partition(a_start())

    def move(source) -> None:
        source.error, source.named, source.knows = code, Leader(1, 99), knows
        if source.moved:  # the other broker's fetcher has it
            partition.leaving = True

    source = run([partition], steps=60, between=move)
    assert (partition in source.moved) is knows
    assert (partition.error is None) is knows


def test_brokers_that_name_each_other_as_leader_are_asked_with_pauses():
    partition = a_partition(a_start())
    source = run(
        [partition], steps=200, between=lambda s: vars(s).update(error=6, named=Leader(1, 99))
    )
    assert source.moved == [partition]  # followed once; then metadata says who leads
    assert partition.error.recovery is Recovery.RETRY
    assert len(source.asked) < 20


def test_a_connection_that_broke_holds_all_its_partitions_back():
    partitions = [a_partition(a_start(n)) for n in range(2)]
    problem = ClusterUnavailable("cut")
    run(partitions, steps=20, prepare=lambda source: setattr(source, "problem", problem))
    assert [(each.error.recovery, each.error.reason) for each in partitions] == [
        (Recovery.RETRY, "cut")
    ] * 2


def test_bl_229_while_the_source_is_silent_an_anchor_claims_no_more_than_its_last_answer():
    """An anchor that is written meanwhile, as a clean end does, must not look caught up."""
    partition = a_partition(a_start())
    partition.acked = Position(7, 7)
    run([partition], steps=20, prepare=lambda s: setattr(s, "problem", ClusterUnavailable("cut")))
    now_ms = int(time.time() * 1000)
    since_ms = partition.source_log.silent_since_ms
    assert now_ms - 60_000 < since_ms <= now_ms
    anchor = partition.anchor(since_ms + 90_000, clean=True)
    assert (anchor.at_ms - anchor.behind_ms, anchor.source_end) == (since_ms, 0)
    FetchResponse(0, fetching(Source(partition), BufferPool(1)).shared).back_off_all(
        [partition], "still cut", 0.0
    )
    assert partition.source_log.silent_since_ms == since_ms
    partition.error = partition.retry_at = None
    run([partition], steps=20)
    assert partition.source_log.silent_since_ms == 0
    assert partition.anchor(now_ms).behind_ms < 60_000


def test_what_came_before_damage_is_sent_first_and_the_damage_is_then_told():
    partition = a_partition(a_start())

    def ack(_source) -> None:
        while partition.sends:
            partition.appended(partition.queue.next_batch(), partition.acked.target)

    source = run(
        [partition], steps=100, between=ack, prepare=lambda s: setattr(s, "damaged_from", 3)
    )
    assert partition.acked == (3, 3)
    assert "t-0 at offset 3" in partition.error.reason
    assert source.settled == [partition]


def test_an_answer_to_a_former_position_is_dropped():
    partition = a_partition(a_start())

    def move(source) -> None:
        if len(source.asked) == 1:
            partition.position = 7

    run([partition], steps=4, between=move)
    assert [producer_batch.before for producer_batch in partition.queue.waiting][:1] in ([], [7])


@given(st.integers(0, 1 << 30), st.integers(1, 20))
def test_buffers_fit_into_the_units_memory_and_each_broker_has_two(memory, brokers):
    count, size = buffers_for(memory, brokers)
    assert count >= 2 * brokers
    assert size >= MB
    assert count * size <= max(memory, count * MB)


def test_a_buffer_that_grew_for_a_large_record_is_given_back_to_the_system():
    async def all_of_it():
        buffers = BufferPool(1, MB)
        buffer = await buffers.take()
        buffer.view(10 * MB)
        assert len(buffer.memory) > 10 * MB
        buffer.release()
        assert len(buffer.memory) == 0
        buffer = await buffers.take()
        buffer.view(MB)
        buffer.release()
        assert len(buffer.memory) >= MB  # an ordinary one is used again

    asyncio.run(all_of_it())


def test_a_halted_partition_gives_its_buffers_back():
    partitions = [a_partition(a_start(n)) for n in range(2)]

    def halt(source) -> None:
        if len(source.asked) == 4:
            for partition in partitions:
                partition.halt(PartitionState.REFUSED, "for a person")

    async def all_of_it():
        source, buffers = Source(*partitions), BufferPool(4)
        await run_for(fetching(source, buffers), 200, lambda: halt(source))
        taken = [buffers.try_take() for _ in range(4)]
        assert None not in taken
        assert len(source.asked) == 4

    asyncio.run(all_of_it())


def test_a_partition_that_left_and_came_back_as_another_partition_is_fetched():
    for _ in range(20):  # sets order partitions by their addresses, which vary
        fetch_request = FetchRequest(FetchSession(), lambda _: -1)
        former, new, other = (
            a_partition(a_start(0)),
            a_partition(a_start(0)),
            a_partition(a_start(1)),
        )
        for partition in (former, other):
            fetch_request.join(partition)
        fetch_request.next_entries()
        fetch_request.session.answered(7)
        fetch_request.leave(former)
        fetch_request.join(new)
        fetch_request.next_entries()
        assert fetch_request._by_key[new.key] is new


def test_what_goes_wrong_within_an_answer_ends_the_fetcher_and_is_not_only_logged():
    partition = a_partition(a_start())

    class Broken(Sender):
        def offer_all(self, _partitions) -> None:
            raise ZeroDivisionError

    async def all_of_it():
        source = Source(partition)
        each = fetching(source, BufferPool(4), sender=Broken(source))
        await run_for(each, 60)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(all_of_it())


def test_an_answer_that_has_to_wait_for_something_is_taken_in_afterwards():
    partition, asked = a_partition(a_start()), []

    class Asked:
        def ready(self, _fetched) -> bool:
            return len(asked) % 2 == 1

        async def prepare(self, fetched) -> None:
            asked.append([found.records.nbytes for _, found in fetched])
            await asyncio.sleep(0)

    async def all_of_it():
        source = Source(partition)
        each = fetching(source, BufferPool(4), producers=Asked())
        await run_for(each, 200)
        return source

    source = asyncio.run(all_of_it())
    assert len(asked) == 1
    assert len(source.asked) == len(partition.queue.waiting) == 4
    assert [producer_batch.before for producer_batch in partition.queue.waiting] == [0, 1, 2, 3]


def test_what_was_not_asked_about_is_not_taken_in_with_the_rest():
    """Invariant P1: a partition that could fetch again while others were being looked up."""
    late, partition = a_partition(a_start(0)), a_partition(a_start(1))
    prepared: list = []

    class Prepared:
        def ready(self, _fetched) -> bool:
            return bool(prepared)

        async def prepare(self, fetched) -> None:
            late.retry_at = None
            prepared.append([each for each, _ in fetched])

    async def all_of_it():
        source = Source(late, partition)
        each = fetching(source, BufferPool(4), producers=Prepared())

        def hold_back() -> None:
            if not prepared and len(source.asked) == 1:
                late.retry_at = 1.0

        await run_for(each, 6, hold_back)
        assert prepared == [[partition]]
        assert late.position == 0
        await run_for(each, 60)

    asyncio.run(all_of_it())
    assert [producer_batch.before for producer_batch in late.queue.waiting][:2] == [0, 1], (
        "it came again"
    )


def test_bytes_that_nobody_takes_are_paid_for_too():
    partition = a_partition(a_start())

    async def all_of_it():
        source = Source(partition)
        source.throttle.rate = 1

        def hold_back() -> None:
            partition.retry_at = 1.0 if source.asked else None

        await run_for(fetching(source, BufferPool(4)), 20, hold_back)
        return source.throttle

    throttle = asyncio.run(all_of_it())
    assert throttle.pause_s(throttle._at, 0.0, first=True) > len(LARGE)
    assert not partition.queue.waiting


def test_a_partition_out_of_range_holds_the_records_of_the_others_back_no_longer_than_it_must():
    lost, partition = a_partition(a_start(0)), a_partition(a_start(1))

    async def all_of_it():
        source = Source(lost, partition)
        source.outside = {0}
        sender = Sender(source)
        each = fetching(source, BufferPool(4), sender=sender)

        async def slowly(_partition, _moment) -> int:
            assert partition in sender.queued
            return 5

        source.offset_at = slowly
        await run_for(each, 30)
        return sender.queued

    queued = asyncio.run(all_of_it())
    assert lost.error.state is PartitionState.LOST_RANGE
    assert len(queued) > 1


def test_a_buffer_that_came_free_for_one_who_left_is_the_next_ones():
    async def all_of_it():
        buffers = BufferPool(1)
        buffer = await buffers.take()
        first, second = (asyncio.ensure_future(buffers.take()) for _ in range(2))
        await asyncio.sleep(0)
        buffer.release()
        first.cancel()
        assert await asyncio.wait_for(second, 5) is buffer

    asyncio.run(all_of_it())


def test_a_broker_that_throttles_is_asked_for_nothing():
    async def asked(paused_s: float) -> list:
        source = Source(a_partition(a_start()))
        source.paused_s = paused_s
        await run_for(fetching(source, BufferPool(4)), 20)
        return source.asked

    assert asyncio.run(asked(0.0))
    assert not asyncio.run(asked(0.5))


@pytest.mark.parametrize("first", [False, True])
def test_while_a_priority_topic_is_behind_only_the_others_ask_for_little(first):
    async def asked() -> tuple[int, int]:
        source = Source(partition := a_partition(a_start()))
        source.throttle.behind.add(partition)
        each = fetching(source, BufferPool(4))
        each.first = first
        await run_for(each, 3)
        return source.options[0].max_bytes, each.options.max_bytes

    got, whole = asyncio.run(asked())
    assert (got == whole) is first


@pytest.mark.parametrize("rack", ["", "eu-1a"])
def test_a_fetch_names_our_rack(rack):
    def prepare(source: Source) -> None:
        source.replicas.rack = rack

    source = run([a_partition(a_start())], prepare=prepare)
    assert {each.rack for each in source.options} == {rack}


class Pauses:
    """Pauses after each small response, and notes whether it brought nothing."""

    def __init__(self) -> None:
        self.useless = []

    def pause_s(self, _now: float, *, useless: bool) -> float:
        self.useless.append(useless)
        return 0.001


class Small(Source):
    def _batch(self, offset: int) -> bytes:
        return a_batch(offset, [b"%d" % offset])


async def pausing(source: Source, until) -> None:
    """Run a fetcher that pauses after each response until ``until(pauses)``."""
    each = fetching(source, BufferPool(4))
    each._rate_limit = pauses = Pauses()
    task = asyncio.ensure_future(each.run())
    for _ in range(20_000):
        if task.done() or until(pauses.useless):
            break
        await asyncio.sleep(0.0005)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled():
        task.result()  # raises what it ended with


def test_a_response_is_useless_if_it_moved_no_partition_and_the_next_fetch_follows_the_pause():
    partitions = a_partition(a_start(0)), a_partition(a_start(1))
    source, seen = Small(*partitions), []

    def until(useless) -> bool:
        seen[:] = useless
        if len(useless) == 1:  # from now on the broker has nothing new
            source.idle = {0, 1}
        return len(useless) == 4

    asyncio.run(asyncio.wait_for(pausing(source, until), 30))
    assert (seen[0], seen[-1]) == (False, True)
    assert len(source.asked) >= 4


def test_what_goes_wrong_after_a_pause_ends_the_fetcher(monkeypatch):
    source = Small(a_partition(a_start()))

    def fails(_self) -> bool:
        raise ZeroDivisionError

    def until(useless) -> bool:
        if useless:
            monkeypatch.setattr(Fetcher, "_begin_next", fails)
        return False

    with pytest.raises(ZeroDivisionError):
        asyncio.run(asyncio.wait_for(pausing(source, until), 30))
