"""A partition that is tried again for ever is not RUNNING."""

from __future__ import annotations

import pytest
from support.copier.partition_copies import a_partition, a_start

from replication.copier.partition.copy_status import PATIENCE_S, Retries
from replication.model import PartitionState


def test_retries_are_long_after_the_patience_and_not_sooner():
    retries = Retries()
    for now in (100.0, 110.0, 129.9):
        retries.note(now)
        assert not retries.are_long
    retries.note(100.0 + PATIENCE_S)
    assert retries.are_long
    retries.end()
    assert not retries.are_long
    retries.note(131.0)
    assert not retries.are_long


@pytest.mark.parametrize(("pause", "are_long"), [(60.0, True), (60.1, False)])
def test_failures_far_apart_are_no_series(pause, are_long):
    retries = Retries()
    retries.note(100.0)
    retries.note(100.0 + pause)
    assert retries.are_long is are_long


def test_a_partition_that_is_tried_again_for_long_waits_with_its_reason_until_it_recovers():
    partition = a_partition(a_start())
    partition.status.reason = "the source broker cannot read its disk"
    partition.status.retries.note(100.0)
    assert partition.state_and_reason[0] is PartitionState.RUNNING
    partition.status.retries.note(140.0)
    assert partition.state_and_reason == (PartitionState.WAITING, partition.status.reason)
    assert partition.anchor(0).state == PartitionState.WAITING
    assert partition.state is PartitionState.RUNNING  # it is tried again all the same
    partition.anchor_changes.clear()
    partition.recovered()
    assert partition.state_and_reason == (PartitionState.RUNNING, "")
    assert partition in partition.anchor_changes
