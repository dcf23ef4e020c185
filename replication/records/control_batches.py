"""Transaction markers: the control batches that commit or abort a transaction. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.records.batch import COMMIT, Batch, walk
from replication.records.codec import decode, key_and_value

if TYPE_CHECKING:
    from replication.model import ProducerIdAndEpoch, TopicPartition
    from replication.records.batch import LegacyFormats


def is_commit(marker: Batch, where: object) -> bool:
    """Say whether a marker is a commit: its record's key is a version and a type, 2 bytes each."""
    keys = [key_and_value(each)[0] for each in decode(marker, where)]
    return any(key and len(key) >= 4 and int.from_bytes(key[2:4], "big") == COMMIT for key in keys)


def find_marker(
    records: memoryview,
    producer: ProducerIdAndEpoch,
    begin: int,
    where: TopicPartition,
    legacy: LegacyFormats,
) -> tuple[bool | None, int]:
    """Return how the first marker of ``producer`` from ``begin`` on ended its transaction.

    True: commit, False: abort, None: there is no marker; and the offset after the last batch read.
    Raises CorruptBatch.
    """
    for batch in walk(records, where, legacy):
        if batch.last < begin:
            continue
        begin = batch.last + 1
        is_ours = batch.is_control and batch.producer_id == producer.producer_id
        if is_ours and batch.producer_epoch >= producer.epoch:
            return is_commit(batch, where), begin
    return None, begin
