"""Whom to ask again before a batch counts as damaged, and which partitions fell silent."""

from __future__ import annotations

from support.copier.partition_copies import a_partition, a_start
from support.copier.two_clusters import a_spec
from support.fakes.memory_network import MemoryCluster

from replication.copier.fetch.fetcher_manager import FetcherManager
from replication.copier.fetch.suspect_batches import LEAST_ANSWERS, SILENT_S, SuspectBatches
from replication.copier.takeover.connections import new_connections

AGAIN, DAMAGED = (None, False), (None, True)


def test_a_single_replica_is_asked_four_times():
    suspects, partition = SuspectBatches(), a_partition(a_start())
    steps = [suspects.note(partition, 1, [1]) for _ in range(LEAST_ANSWERS)]
    assert steps == [AGAIN] * 3 + [DAMAGED]


def test_the_same_broker_is_asked_again_and_then_each_replica_once():
    suspects, partition = SuspectBatches(), a_partition(a_start())
    asked, steps = [1], []
    while len(steps) < 6:
        steps.append(suspects.note(partition, asked[-1], [1, 2, 3]))
        asked.append(asked[-1] if steps[-1].replica is None else steps[-1].replica)
    assert asked[:4] == [1, 1, 2, 3]
    assert steps[3] == DAMAGED


def test_another_position_is_another_batch():
    suspects, partition = SuspectBatches(), a_partition(a_start())
    for _ in range(LEAST_ANSWERS):
        suspects.note(partition, 1, [1])
    partition.position = 5
    assert suspects.note(partition, 1, [1]) == AGAIN


def test_a_batch_that_was_read_is_not_suspect_any_more():
    suspects, partition = SuspectBatches(), a_partition(a_start())
    for _ in range(LEAST_ANSWERS - 1):
        suspects.note(partition, 1, [1])
    partition.position = 5
    suspects.on_response(partition, 0.0)
    partition.position = 0
    assert suspects.note(partition, 1, [1]) == AGAIN


def test_a_partition_of_which_the_source_has_more_and_returns_nothing_is_silent():
    suspects, partition, done = SuspectBatches(), a_partition(a_start(0)), a_partition(a_start(1))
    partition.source_log.end = 9
    partitions, now = [partition, done], 1000.0
    for each in partitions:
        suspects.on_response(each, now)
    assert list(suspects.silent(partitions, now + SILENT_S - 6)) == []
    assert list(suspects.silent(partitions, now + SILENT_S)) == [partition]
    assert list(suspects.silent(partitions, now + SILENT_S + 10)) == []  # it was looked at
    partition.position = 4
    suspects.on_response(partition, now + SILENT_S + 11)
    assert list(suspects.silent(partitions, now + 2 * SILENT_S + 10)) == []


def test_a_partition_that_does_not_fetch_is_not_silent():
    suspects, partition = SuspectBatches(), a_partition(a_start())
    partition.source_log.end = 9
    suspects.on_response(partition, 1000.0)
    partition.retry_at = 5000.0
    assert list(suspects.silent([partition], 1000.0 + SILENT_S)) == []


def test_partitions_of_each_broker_are_looked_at():
    """A broker with much to send answers first whenever a look is due."""
    suspects, busy, still = SuspectBatches(), a_partition(a_start(0)), a_partition(a_start(1))
    still.source_log.end = 9
    suspects.on_response(still, 1000.0)
    assert list(suspects.silent([busy], 1000.0 + SILENT_S)) == []
    assert list(suspects.silent([still], 1000.0 + SILENT_S)) == [still]


def test_nothing_is_kept_of_a_partition_that_is_not_fetched_any_more():
    """A halted partition is tried again with each plan, as another one."""
    connections = new_connections(a_spec(), MemoryCluster(), MemoryCluster(), {})
    manager, partition = (
        FetcherManager(a_spec(), connections, None, None, None),
        a_partition(a_start()),
    )
    suspects, partition.source_log.end = manager._shared.suspects, 9
    manager.assign(partition)
    suspects.note(partition, 0, [0])
    suspects.on_response(partition, 1000.0)
    manager.unassign(partition)
    assert not suspects._suspects
    assert not suspects._silent_since


def test_a_good_response_in_front_of_a_suspect_batch_acquits_it_not():
    suspects, partition = SuspectBatches(), a_partition(a_start())
    for _ in range(LEAST_ANSWERS - 1):
        suspects.note(partition, 1, [1])
    suspects.on_response(partition, 0.0)
    assert suspects.note(partition, 1, [1]) == DAMAGED


def test_a_partition_at_the_end_of_its_source_is_not_silent():
    suspects, partition = SuspectBatches(), a_partition(a_start())
    partition.position = partition.source_log.end = 9
    suspects.on_response(partition, 1000.0)
    assert list(suspects.silent([partition], 1000.0 + SILENT_S)) == []
