"""What a claim holds, and what of an anchor goes on in the next one."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace

import pytest
from support.copier.partition_copies import a_partition, a_start

from replication.client.producer_identity import ProducerIdentity
from replication.copier.partition.partition_copy import PartitionCopy
from replication.copier.partition.position import claim
from replication.copier.partition.transactional_copy import TransactionalCopy
from replication.copier.takeover.claims import claim_of
from replication.model import Mode, PartitionState, ProducerIdAndEpoch
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


FORMER = Anchor(
    "f", "t", 3, "t", 20, 30, (("x", 5), ("y", 6)), generation=4, epoch=7, clean=True,
    records=11, bytes=1100, state=PartitionState.RUNNING, reason="so", source_topic_id="",
    target_topic_id="bb", source_end=21, behind_ms=9, at_ms=1000, mode=Mode.AT_LEAST_ONCE,
    isolation="read_committed", source_epoch=8, lost=2, run=(1, 3, 19, 29, 10),
    origins="producer-id -C", since=(4, 5), former="old", own_from=6, timed=6, age_ms=(7, 8, 70),
    latency_ms=(9, 10, 90),
)  # fmt: skip


@pytest.mark.parametrize("kind", [PartitionCopy, TransactionalCopy])
def test_whatever_an_anchor_says_goes_on_in_the_next_one(kind):
    """A field that an owner forgets is lost for ever: counters, losses, the topic before."""
    me = ProducerIdentity("y", 6, 2, 5)
    partition = a_partition(FORMER, kind=kind)
    names = {"source_topic_id": partition.topic_id.hex(), "transform": "transform.orders"}
    former = replace(FORMER, **names)
    assert all(getattr(former, each.name) != each.default for each in fields(Anchor))
    assert not [each for each in fields(Anchor) if each.default_factory is not MISSING]
    partition.claimed = claim(replace(former, mode=kind.mode), me)
    partition.begin(me, exact=True)
    ours = {
        "mode": kind.mode, "appenders": (("y", 6),), "generation": 5, "epoch": 2, "clean": False,
        "reason": "", "at_ms": 1050, "source_end": 0, "behind_ms": 0,  # nothing was fetched yet
        "transform": "",  # units copy records as they are
        "age_ms": (7, 0, 70), "latency_ms": (9, 0, 90),  # the maximum is of the last minutes
    }  # fmt: skip
    assert partition.anchor(1050) == replace(former, **ours)
    if isinstance(partition, TransactionalCopy):
        partition.join((), ProducerIdAndEpoch(6, 2))
        assert partition.anchor(1050) == replace(former, **ours)
        partition.forget()
        assert partition.anchor(1050) == replace(former, **ours)
