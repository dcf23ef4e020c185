"""A batch that the target rejects is split until only the rejected record is left."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.copier.partition_copies import LARGE, a_partition, a_start, fetch
from support.copier.produce_requests import Wire
from support.fakes.memory_network import Log
from support.records.record_batches import a_batch

from replication.client.fetch_values import FetchBuffer
from replication.copier.partition.broker_errors import Recovery
from replication.copier.partition.intake import take
from replication.copier.partition.refused_batches import drop_refused, go_back, jump
from replication.model import OffsetAndEpoch
from replication.records.batch import walk
from replication.records.codec import decode, key_and_value

TOO_LARGE, INVALID = 10, 87


class Picky(Log):
    """A target that refuses batches over a limit, and those with a record it does not like."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def append(self, batch: bytes) -> tuple[int, int]:
        if len(batch) > self.limit:
            return TOO_LARGE, -1
        (found,) = walk(memoryview(batch))
        if any(key_and_value(each)[1] == b"bad" for each in decode(found)):
            return INVALID, -1
        return super().append(batch)


def serve(wire: Wire, log: Log) -> None:
    (_, _, batch) = wire.open[0][1][0]
    error, base = log.append(batch)
    wire.answer(error, base=base)


def skip_or_stop(wire: Wire, partition, skipped: list[int]) -> None:
    error = partition.error
    assert error.recovery is Recovery.DECIDE
    skipped.append(error.lost[0])
    drop_refused(partition)
    partition.error = None
    wire.sender.offer(partition)
    wire.sender.pump()


values = st.sampled_from([b"bad", b"", b"a", b"x" * 150, b"y" * 500])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(values, min_size=1, max_size=6), min_size=1, max_size=8))
def test_whatever_is_refused_all_other_records_land_once_and_in_order(batches):
    offset, source, expected, bad = 0, b"", [], []
    for content in batches:
        source += a_batch(offset, content)
        expected += [each for each in content if each != b"bad" and len(each) < 500]
        bad += [offset + n for n, e in enumerate(content) if e == b"bad" or len(e) == 500]
        offset += len(content)
    partition, log, skipped = a_partition(a_start()), Picky(300), []
    take(partition, fetch(source, [], 0, 99), FetchBuffer())
    wire = Wire(partition, proven=False)
    for _ in range(400):
        if wire.open:
            serve(wire, log)
        elif partition.error is not None:
            skip_or_stop(wire, partition, skipped)
        else:
            break
    assert log.values() == expected
    assert skipped == bad
    assert partition.acked == (offset, len(expected))


def test_a_batch_that_was_too_large_teaches_to_split_before_sending():
    partition, log = a_partition(a_start()), Picky(9000)
    source = b"".join(a_batch(2 * n, [LARGE] * 2) for n in range(3))
    take(partition, fetch(source, [], 0, 9), FetchBuffer())
    wire, sent = Wire(partition, proven=False), 0
    while wire.open:
        serve(wire, log)
        sent += 1
    assert (sent, len(log.values())) == (1 + 6, 6)


def test_what_waits_is_still_sent_before_a_hole_and_the_hole_is_passed_with_it():
    partition, log = a_partition(a_start()), Picky(9999)
    take(partition, fetch(a_batch(0, [b"a", b"b"]), [], 0, 9), FetchBuffer())
    jump(partition, 10)
    assert (partition.position, partition.acked) == (10, (0, 0))
    wire = Wire(partition)
    serve(wire, log)
    assert (log.values(), partition.acked) == ([b"a", b"b"], (10, 2))


def test_a_source_that_ends_before_our_position_is_read_from_its_end():
    partition = a_partition(a_start())
    take(partition, fetch(a_batch(0, [b"a", b"b", b"c"]), [], 0, 9), FetchBuffer())
    go_back(partition, OffsetAndEpoch(1, 3))
    assert (partition.position, partition.acked, list(partition.queue.waiting)) == (0, (0, 0), [])
    partition.set_position(partition.acked._replace(source=7, target=9))
    partition.position = 7
    go_back(partition, OffsetAndEpoch(5, 3))
    assert (partition.position, partition.acked) == (5, (5, 9))


def test_records_on_the_target_that_lie_behind_a_hole_are_not_copied_again():
    partition, log = a_partition(a_start()), Picky(9999)
    partition.counted.skip, partition.counted.end = (
        8,
        8,
    )  # a crash: offsets 0 to 7 were appended, the anchor is at 0
    jump(partition, 5)  # and retention took 0 to 4
    assert (partition.counted.skip, partition.acked) == (3, (0, 0))
    take(partition, fetch(a_batch(5, [b"%d" % n for n in range(5, 10)]), [], 5, 9), FetchBuffer())
    wire = Wire(partition)
    serve(wire, log)
    assert log.values() == [b"8", b"9"]
    assert partition.acked.source == 10


def test_too_large_with_an_unanswered_batch_behind_it_asks_for_a_takeover():
    """The batch behind may have landed: its sequence must not be given to other records."""
    partition = a_partition(a_start())
    source = b"".join(a_batch(2 * n, [LARGE] * 2) for n in range(2))
    take(partition, fetch(source, [], 0, 9), FetchBuffer())
    wire = Wire(partition)
    wire.answer(TOO_LARGE)
    wire.fail()
    assert partition.error.recovery is Recovery.TAKE_OVER
    assert "larger than" in partition.error.reason
    assert [each.count for each in partition.queue.in_flight] == [2, 2]
    assert not wire.open
