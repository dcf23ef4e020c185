"""Write skipped records that the target rejected to a dead-letter topic on the target.

A dead letter is the original record, key, value, headers and timestamp, with headers in front that
name its source and the reason. A crash between dead letter and anchor writes it twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.records.batch import walk
from replication.records.codec import BatchRecord, decode, encode, with_headers

if TYPE_CHECKING:
    from replication.client.state_topic.state_log import StateLog
    from replication.copier.partition.partition_copy import PartitionCopy


@dataclass(slots=True)
class DeadLetters:
    """The dead-letter topic of a flow's source; ``log`` None: the flow keeps no dead letters."""

    log: StateLog | None = None

    async def send(self, partition: PartitionCopy, reason: str) -> None:
        """Write the rejected record at the front. Raises as StateLog.append_batch."""
        if self.log is None:
            return
        producer_batch = partition.queue.in_flight[0]
        if producer_batch.count > 1:
            return  # nobody can read its records
        (record,) = decode(next(walk(producer_batch.batch, partition.source)), partition.source)
        await self.log.append_batch(encode([dead_letter(record, partition, reason)]))


def dead_letter(record: BatchRecord, partition: PartitionCopy, reason: str) -> BatchRecord:
    """Return the dead letter of ``record``, the partition's first record in flight."""
    headers = [
        ("isthmus.flow", partition.flow.encode()),
        ("isthmus.topic", partition.source.topic.encode()),
        ("isthmus.partition", b"%d" % partition.source.partition),
        ("isthmus.offset", b"%d" % partition.queue.in_flight[0].before),
        ("isthmus.reason", reason.encode()),
    ]
    return replace(record, rest=with_headers(record.rest, headers))
