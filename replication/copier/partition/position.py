"""The copy position of a partition, and which of two claims to it wins. Pure.

The position follows from the anchor, the claims and the counted records.

This module implements these invariants of the append engine:

C  Position after a takeover = anchor + count: the target has *n* records of our producer ids
   between the anchor and our fence marker, so the first *n* deliverable records of the source from
   the anchor on are copied already. Other writers in the same partition do not matter. It holds
   where neither log has lost a record behind the anchor since: not after compaction, which leaves
   gaps between offsets (whatever the topic's policy is now), nor where the log start has passed
   the anchor, nor where the source's tail was replaced: then the last record that is skipped is
   not our last one on the target. Each of them is detected, and the position is searched by
   content (S), or the partition halts.
D  An anchor may lag, never lead. An anchor from a late writer is correct; counting takes longer.

An anchor also lists who may append. Before its first append to a partition an appender writes a
*claim*: the previous anchor with itself added to ``appenders``. All claims of a flow go to one
log, so of two appenders one sees the other's claim: the later one fences the earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from replication.model import NO_RECORDS, RecordsAndBytes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replication.client.producer_identity import ProducerIdentity
    from replication.records.batch import Batch
    from replication.state import Anchor


class Position(NamedTuple):
    """Next offset to read at the source, and the target offset at which counting begins."""

    source: int
    target: int


def claim(previous: Anchor, me: ProducerIdentity) -> Anchor:
    """Return the claim that follows ``previous``: the same position, with ``me`` as an appender.

    After a clean end (invariant G) it is the only one; otherwise the earlier appenders are kept.
    """
    earlier = () if previous.clean else previous.appenders
    mine = (me.transactional_id, me.producer_id)
    return replace(
        previous,
        appenders=(
            *(each for each in earlier if each != mine),
            mine,
        ),  # the last one is the claimant
        generation=me.generation,
        epoch=me.epoch,
        clean=False,
    )


def outranks(theirs: Anchor, me: ProducerIdentity) -> bool:
    """Say whether the writer of ``theirs`` takes precedence over ``me``.

    A newer driver always does. Under one driver only a later start of the same unit does: its
    producer id is the same with a higher epoch.
    """
    if theirs.generation != me.generation:
        return theirs.generation > me.generation
    same_unit = theirs.appenders[-1:] == ((me.transactional_id, me.producer_id),)
    return same_unit and theirs.epoch > me.epoch


def missing_appenders(
    theirs: Anchor, mine: Collection[tuple[str, int]]
) -> tuple[tuple[str, int], ...]:
    """Return the appenders that ``theirs`` lists besides ``mine``: they must be fenced too."""
    return tuple(each for each in theirs.appenders if each not in mine)


class OwnRecordCounter:
    """Counts the records we appended between the anchor and our fence markers.

    Records of transactions are not counted: their anchor is committed with them.

    ``markers`` maps each fenced producer id to the lowest epoch of its marker. Feed the
    target's batches in order, from the anchor's target offset on, until ``complete``.
    """

    def __init__(
        self, start: int, producer_ids: Collection[int], markers: Mapping[int, int]
    ) -> None:
        self.next_offset = start
        self.records = 0
        self.bytes = 0
        self.hole: int | None = None  # the first offset that compaction removed
        self.last: bytes | None = None  # our last batch, unless it may not be the last one
        self._own = frozenset(producer_ids)
        self._waiting = dict(markers)

    @property
    def complete(self) -> bool:
        """Whether every fence marker was read: none of our records can follow them."""
        return not self._waiting

    def add(self, batch: Batch) -> None:
        """Add the next batch; one that ends before the position is ignored."""
        if batch.last < self.next_offset:
            return
        if lacks_records(batch, self.next_offset):
            self._on_hole()
        self.next_offset = batch.last + 1
        if batch.is_control:
            epoch = self._waiting.get(batch.producer_id)
            if epoch is not None and batch.producer_epoch >= epoch:
                del self._waiting[batch.producer_id]
        elif batch.producer_id in self._own and not batch.is_transactional:
            self.records += batch.count
            self.bytes += len(batch.view)
            if batch.count == batch.last - batch.base + 1:
                self.last = bytes(batch.view)

    def _on_hole(self) -> None:
        """Note that records may be missing: a batch before this one need not be our last one."""
        if self.hole is None:
            self.hole = self.next_offset
        self.last = None


def lacks_records(batch: Batch, expected: int) -> bool:
    """Say whether compaction removed records between ``expected`` and the end of ``batch``.

    ``expected`` is the offset after the batch before it. In a log without compaction offsets have
    no gap: markers and aborted records have theirs, and brokers accept no batch with holes.
    """
    if batch.is_control:
        return batch.base > expected
    return batch.base > expected or batch.count <= batch.last - batch.base


@dataclass(slots=True)
class CountedCopies:
    """Our records that were counted on the target from the anchor on (C).

    As many are to be skipped at the source: how many are not skipped yet?
    """

    skip: int = 0  # next source records to skip: they are on the target already
    size: RecordsAndBytes = NO_RECORDS  # of all of them, until the position is exact
    last: bytes | None = None  # our last batch on the target, the last one to skip
    end: int = 0  # target offset up to which records were counted

    def begin(self) -> None:
        """Forget what was counted: the position is what is claimed."""
        self.skip_nothing()
        self.end = 0

    def skip_nothing(self) -> None:
        """Copy all records from the position on, and add none to the counters."""
        self.skip, self.size = 0, NO_RECORDS

    def note(self, own: OwnRecordCounter) -> None:
        """Skip at the source as many records as were counted."""
        self.skip, self.end, self.last = own.records, own.next_offset, own.last
        self.size = RecordsAndBytes(own.records, own.bytes)

    def take_size(self) -> RecordsAndBytes:
        """Return the size of what was counted, once: the position is exact from now on."""
        size, self.size = self.size, NO_RECORDS
        return size

    def skip_again(self) -> None:
        """Skip all of it again: the source is read from the anchor on once more."""
        self.skip = self.size.records
