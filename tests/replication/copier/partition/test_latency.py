"""Record age and replication latency: the last one, the recent maximum and the total."""

from __future__ import annotations

import pytest
from support.copier.append_leases import held
from support.copier.partition_copies import a_partition, a_start, fetch
from support.records.record_batches import a_batch

from replication.client.fetch_values import FetchBuffer
from replication.client.network import Ack
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.intake import take
from replication.copier.partition.latency import CopyLatency, LatencyGauge
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.produce.sender import Sender
from replication.state import parse

BEGIN = 1_000_000


def reported(*notes: tuple[int, int, int], at: int) -> tuple[int, int, int]:
    delay = LatencyGauge()
    for delay_ms, records, now_ms in notes:
        delay.note(delay_ms, records, BEGIN + now_ms)
    return delay.for_anchor(BEGIN + at)


@pytest.mark.parametrize(
    ("notes", "at", "expected"),
    [
        pytest.param([(5, 1, 0), (9, 2, 1), (7, 3, 2)], 2, (7, 9, 44), id="weighed by records"),
        pytest.param([(9, 1, 0), (2, 1, 40_000)], 40_000, (2, 9, 11), id="the window before too"),
        pytest.param([(9, 1, 0), (2, 1, 40_000)], 75_000, (2, 2, 11), id="then no more"),
        pytest.param([(9, 1, 0)], 90_000, (9, 0, 9), id="nothing of late"),
        pytest.param([(-3, 2, 0)], 0, (0, 0, 0), id="a producer's clock that is ahead"),
    ],
)
def test_delays_are_reported(notes, at, expected):
    assert reported(*notes, at=at) == expected


class AtOnce:
    """A target that takes what it gets."""

    def pause_s(self, node) -> float:
        return 0.0

    def produce(self, node, batches, answer, transactional_id="") -> None:
        answer([Ack(topic, partition, 0, 0, "") for topic, partition, _ in batches], None)


def copied(made_ms: int):
    """Return a partition with a record that was fetched 10 ms after its creation, and appended."""
    partition = a_partition(a_start())
    log = a_batch(0, [b"v"], timestamp=made_ms)
    take(partition, fetch(log, [], 0, 1), FetchBuffer(), made_ms + 10)
    sender = Sender(AtOnce(), RecoveryQueue(), AppendGaps(), lease=held(), lead={partition: 0})
    sender.offer(partition)
    sender.pump()
    return partition


def test_an_acked_batch_is_measured_and_the_anchor_tells_it(monkeypatch):
    monkeypatch.setattr("time.time", lambda: (BEGIN + 25) / 1000)
    anchor = copied(BEGIN).anchor(BEGIN + 25)
    assert (anchor.timed, anchor.age_ms, anchor.latency_ms) == (1, (10, 10, 10), (25, 25, 25))
    assert parse(anchor.key(), anchor.value()) == anchor
    again = CopyLatency.of(anchor.timed, anchor.age_ms, anchor.latency_ms)
    assert (again.records, again.age.total, again.latency.total) == (1, 10, 25), "it continues"


def test_a_record_without_a_timestamp_is_not_measured():
    assert copied(-1).counters.delays.records == 0
