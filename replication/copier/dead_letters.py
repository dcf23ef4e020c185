"""Dead letters: refused records that are skipped, kept on the target for people to look at.

A letter is the record as it was, key, value, headers and timestamp, with headers in front that say
where it came from and why it was refused. A crash between letter and anchor writes it twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.records.batch import walk
from replication.records.codec import Record, decode, encode, with_headers

if TYPE_CHECKING:
    from replication.client.state_log import StateLog
    from replication.copier.partition.partition_copy import Lane


@dataclass(slots=True)
class DeadLetters:
    """The dead-letter topic of a flow's source; ``log`` None: the flow keeps no letters."""

    log: StateLog | None = None

    async def send(self, lane: Lane, reason: str) -> None:
        """Write the refused record in front of ``lane``. Raises as StateLog.append_batch."""
        if self.log is None:
            return
        piece = lane.queue.on_wire[0]
        (record,) = decode(next(walk(piece.batch, lane.source)), lane.source)
        await self.log.append_batch(encode([letter(record, lane, reason)]))


def letter(record: Record, lane: Lane, reason: str) -> Record:
    """Return the dead letter of ``record``, the first one on the lane's wire."""
    told = [
        ("isthmus.flow", lane.flow.encode()),
        ("isthmus.topic", lane.source.topic.encode()),
        ("isthmus.partition", b"%d" % lane.source.partition),
        ("isthmus.offset", b"%d" % lane.queue.on_wire[0].before),
        ("isthmus.reason", reason.encode()),
    ]
    return replace(record, rest=with_headers(record.rest, told))
