"""What of one partition waits to be sent and what is on the wire, in order. No I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.copier.partition.producer_batch import Piece, first_part, merge_small
from replication.copier.partition.producer_state import Writer

if TYPE_CHECKING:
    from replication.model import TopicPartition
    from replication.provenance.origins import Via

MOST_ON_THE_WIRE = 5  # batches; the broker remembers as many sequences of a producer


@dataclass(slots=True, eq=False)
class ProduceQueue:
    """The batches of one partition until they are acked."""

    source: TopicPartition  # where they come from
    bits: int = 0  # attributes of a batch that only the partition's mode sets
    writer: Writer = field(default_factory=Writer)
    largest: int | None = None  # bytes of a batch that the target may take; None: it refused none
    waiting: deque[Piece] = field(default_factory=deque)  # fetched, or to be sent again
    on_wire: deque[Piece] = field(default_factory=deque)  # sent; oldest first
    answers_due: int = 0
    unsure: bool = False  # something was dropped that may have landed

    @property
    def next_via(self) -> Via:
        """The way that the first batch that waits came by; only where one waits."""
        return self.waiting[0].via

    @property
    def may_send(self) -> bool:
        """Whether the first batch that waits may go out now; only where one waits.

        The first one goes alone: where a broker knows nothing of a producer it takes any sequence,
        so the second of two could land although the first was refused. For the same reason what
        another producer of ours is to append waits until all before it is acked: else order would
        not hold, and what is counted after a crash would not be a beginning of the source (C).
        """
        if self.waiting[0].via != self.writer.via:
            return not self.on_wire
        return len(self.on_wire) < (MOST_ON_THE_WIRE if self.writer.proven else 1)

    @property
    def last(self) -> Piece | None:
        """What was queued last, sent or not."""
        newest = self.waiting or self.on_wire
        return newest[-1] if newest else None

    @property
    def settled(self) -> bool:
        """Whether it is known of every append how it ended."""
        return not self.unsure and self.all_known

    @property
    def all_known(self) -> bool:
        """Whether it is known of every batch here whether it is on the target."""
        pieces = (*self.on_wire, *self.waiting)
        return all(each.denied or not each.stamped for each in pieces)

    def next_piece(self) -> Piece:
        """Move the next piece onto the wire, stamped, and return it."""
        if self.largest is None:
            merge_small(self.waiting, self.source)
        piece = self.waiting.popleft()
        if piece.via != self.writer.via:
            self.writer.switch(piece.via)
        if not piece.stamped:
            if self.largest is not None:
                piece = first_part(piece, self.largest, self.waiting, self.source)
            self.writer.stamp(piece, self.bits)
        piece.denied = False
        self.on_wire.append(piece)
        self.answers_due += 1
        return piece

    def acked(self, piece: Piece, base: int) -> list[Piece]:
        """Note that ``piece`` stands at ``base`` of the target.

        Returns the batches up to which all are acked now, in order; they are not held here any
        more.
        """
        piece.base, self.writer.proven = base, True
        done = []
        while self.on_wire and self.on_wire[0].base is not None:
            done.append(self.on_wire.popleft())
        return done

    def back_off(self) -> Piece | None:
        """Keep what was sent, to send the same bytes again; let go of the rest.

        Returns the first batch that was let go of: it is fetched again. Only when no answer is
        due: until then the connection may still read the bytes.
        """
        first = None
        while self.waiting and not self.waiting[-1].stamped and not self.waiting[-1].split:
            first = self.waiting.pop()
            first.let_go()
        self.waiting.extendleft(reversed(self.on_wire))
        self.on_wire.clear()
        for piece in self.waiting:
            piece.keep_own_bytes()
        return first

    def take_back(self) -> None:
        """Move what is on the wire back to what waits. Only when it surely did not land."""
        if self.on_wire:
            self.writer.sequence = self.on_wire[0].sequence
        self.waiting.extendleft(reversed(self.on_wire))
        self.on_wire.clear()
        for piece in self.waiting:
            piece.stamped = piece.denied = False

    def clear(self) -> None:
        """Drop what waits and what is on the wire. Only when no answer is due."""
        self.unsure = not self.settled
        for piece in (*self.on_wire, *self.waiting):
            piece.let_go()
        self.on_wire.clear()
        self.waiting.clear()
