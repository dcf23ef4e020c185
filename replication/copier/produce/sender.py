"""Send lanes' pieces to the target's brokers and deal with the answers.

Invariant A: appends are idempotent, and outside of transactions unless the unit is
transactional, by a producer id that was obtained with the unit's transactional id. A retry sends
the same bytes with the same sequence, in order.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode
from replication.copier.partition.broker_errors import (
    Remedy,
    Trouble,
    append_trouble,
    refused_record,
    target_reset,
)
from replication.copier.partition.refused_batches import split_refused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.client.network import Ack, Network
    from replication.copier.foreign_writers import AppendGaps
    from replication.copier.partition.partition_copy import Lane
    from replication.copier.partition.producer_batch import Piece
    from replication.copier.partition.transactional_copy import JoinRequests
    from replication.copier.recovery_queue import RecoveryQueue

_MOST_OPEN = 5  # requests a broker
_MOST_BYTES = 16 << 20  # of one request
_MUCH = 32 << 20  # bytes; a takeover reads what was appended after the anchors
_BACK_OFF_S = 0.1
_BACK_OFF_MOST_S = 2.0


@dataclass(slots=True)
class Appending:
    """All sending of a unit. ``lead`` says which broker leads each lane's target partition."""

    network: Network
    recoveries: RecoveryQueue
    gaps: AppendGaps
    joins: JoinRequests | None = None  # None: records are appended outside transactions
    transactional_id: str = ""  # everything is part of its transactions
    answered: asyncio.Event = field(default_factory=asyncio.Event)  # set with every answer
    acked: int = 0  # bytes since ``much`` was cleared
    much: asyncio.Event = field(default_factory=asyncio.Event)  # so much that anchors lag behind
    lead: dict[Lane, int] = field(default_factory=dict)
    stopped: bool = False  # what is on the wire is answered, nothing more is sent
    _ready: dict[int, dict[Lane, None]] = field(default_factory=lambda: defaultdict(dict))
    _open: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _failures: dict[Lane, int] = field(default_factory=lambda: defaultdict(int))

    def offer(self, lane: Lane) -> None:
        """Say that ``lane`` may have something to send; ``pump`` looks at it."""
        node = self.lead.get(lane)
        if node is not None and lane.sends:
            self._ready[node][lane] = None
        elif self.joins is not None and lane.queue.waiting:
            self.joins.ask(lane)

    def offer_all(self, lanes: Iterable[Lane]) -> None:
        """Send what ``lanes`` have, as far as it may be sent."""
        for lane in lanes:
            self.offer(lane)
        self.pump()

    def pump(self) -> None:
        """Send as much as may be open."""
        for node, lanes in list(self._ready.items()):
            while lanes and self._open[node] < _MOST_OPEN and not self.stopped:
                self._send(node, lanes)

    def _send(self, node: int, ready: dict[Lane, None]) -> None:
        """Send one request: one piece of each ready lane, lanes of a topic side by side."""
        chosen: list[tuple[Lane, Piece]] = []
        size = 0
        for lane in list(ready):
            del ready[lane]
            if not lane.sends or self.lead.get(lane) != node:
                continue
            piece = lane.queue.next_piece()
            chosen.append((lane, piece))
            size += len(piece.batch)
            if lane.sends:
                ready[lane] = None  # behind the others: each lane gets its turn
            if size >= _MOST_BYTES:
                break
        if not chosen:
            return
        chosen.sort(key=lambda each: each[0].target)
        batches = [(lane.target.topic, lane.target.partition, p.batch) for lane, p in chosen]
        self._open[node] += 1
        self.network.produce(
            node,
            batches,
            lambda acks, error: self._answered(node, chosen, acks, error),
            self.transactional_id,
        )

    def _answered(
        self,
        node: int,
        sent: list[tuple[Lane, Piece]],
        acks: list[Ack] | None,
        error: Exception | None,
    ) -> None:
        self._open[node] -= 1
        by_partition = {(each.topic, each.partition): each for each in acks or ()}
        for lane, piece in sent:
            lane.queue.answers_due -= 1
            ack = by_partition.get((lane.target.topic, lane.target.partition))
            if ack is None:
                lane.suffer(
                    Trouble(Remedy.RETRY, str(error or "the target's response lacks the partition"))
                )
            elif not ack.error:
                self._appended(lane, piece, ack.base)
            else:
                self._refused(lane, piece, ack)
            self.settle(lane)
        self.answered.set()
        self.pump()

    def _appended(self, lane: Lane, piece: Piece, base: int) -> None:
        if lane.acked is not None and base < lane.acked.target:
            lane.suffer(target_reset(base, lane.acked.target))
            return
        self._failures.pop(lane, None)
        expected = lane.acked.target if lane.acked and lane.exact else base
        if base > expected and lane.queue.on_wire[0] is piece:
            self.gaps.note(lane, expected)
        self.acked += len(piece.batch)
        lane.counters.delays.note(piece, int(time.time() * 1000))
        if self.acked >= _MUCH:
            self.much.set()
        lane.appended(piece, base)
        lane.reason = ""

    def _refused(self, lane: Lane, piece: Piece, ack: Ack) -> None:
        trouble = append_trouble(ack.error, ack.message)
        held_up = lane.trouble is not None and lane.queue.on_wire[0] is not piece
        says_no = trouble.remedy in {Remedy.SPLIT, Remedy.JUDGE}
        piece.denied = says_no or (held_up and ack.error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        if held_up and piece.denied:
            return  # the batch before it is dealt with first; this one is sent again after it
        if ack.error == ErrorCode.MESSAGE_TOO_LARGE:
            lane.queue.largest = len(piece.batch) - 1
        if trouble.remedy is Remedy.SPLIT and piece.count == 1:
            trouble = refused_record(trouble, piece.before, piece.after)
        lane.suffer(trouble)

    def settle(self, lane: Lane) -> None:
        """Offer a lane that is well; deal with its trouble as soon as no answer is due."""
        if lane.trouble is None:
            self.offer(lane)
        elif lane.queue.answers_due == 0:
            if lane.trouble.remedy is Remedy.SPLIT and split_refused(lane):
                self.offer(lane)
                return
            if lane.trouble.remedy is Remedy.RETRY:
                lane.reason = lane.trouble.reason
                self._failures[lane] += 1
                pause = min(_BACK_OFF_S * 2 ** (self._failures[lane] - 1), _BACK_OFF_MOST_S)
                lane.back_off(time.monotonic() + pause)
            self.recoveries.add(lane)
