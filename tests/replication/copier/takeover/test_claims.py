"""The record that claims a partition holds a position only where a lagging one is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.partition_copies import a_partition, a_start

from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.transactional_copy import TransactionalCopy
from replication.copier.takeover.claims import claim_of
from replication.model import Mode
from replication.state import Anchor, Claim


@pytest.mark.parametrize(
    ("kind", "former_mode", "claims_as"),
    [
        (PartitionCopy, Mode.APPEND, Anchor),
        (PartitionCopy, Mode.TRANSACTIONAL, Claim),  # its former owner may commit a newer anchor
        (TransactionalCopy, Mode.APPEND, Claim),
        (TransactionalCopy, Mode.TRANSACTIONAL, Claim),
    ],
)
def test_a_claim_holds_no_position_where_either_owner_copies_in_transactions(
    kind, former_mode, claims_as
):
    partition = a_partition(replace(a_start(), mode=former_mode, generation=3), kind=kind)
    claimed = claim_of(partition)
    assert type(claimed) is claims_as
    assert (claimed.appenders, claimed.generation) == (partition.claimed.appenders, 3)
