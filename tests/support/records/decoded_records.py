"""Records as a transform's task has them, from their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replication.records.batch import walk
from replication.records.codec import encode, plain_record
from spark_jobs.transform.columns.decoded_batches import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.records.batch import Batch
    from spark_jobs.transform.columns.decoded_records import DecodedRecords


def batches_of(*lists: Sequence[tuple[Any, ...]], codec: int = 0, base: int = 0) -> list[Batch]:
    """Return a batch of each list of time, key, value and headers, in the order of a log."""
    found = []
    for each in lists:
        (batch,) = walk(memoryview(encode([plain_record(*e) for e in each], codec)))
        found.append(batch._replace(base=base, last=base + len(each) - 1))
        base += len(each)
    return found


def records_of(listed: Sequence[tuple[Any, ...]], base: int = 0) -> DecodedRecords:
    """Return records with offsets from ``base`` on."""
    return decode(batches_of(listed, base=base) if listed else [], (0, 1 << 40), "t")
