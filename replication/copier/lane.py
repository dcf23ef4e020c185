"""One partition on its way: what was fetched, what is on the wire, what is acked. No I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from replication.copier.delays import Delays
from replication.copier.pieces import Piece, first_part, merge_small
from replication.copier.watched import Watched
from replication.copier.writer import Writer
from replication.course import Course
from replication.model import Mode, PartitionState, TopicPartition
from replication.progress import Position
from replication.state import Anchor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from replication.copier.fetch_values import FetchKey
    from replication.copier.outcomes import Trouble
    from replication.model import PartitionPlan
    from replication.provenance import Via
    from replication.stamps import Recast

MOST_ON_THE_WIRE = 5  # batches; the broker remembers as many sequences of a producer


@dataclass(slots=True, eq=False)
class Lane(Watched):
    """The copy of one partition. ``acked`` is what an anchor may say (invariant D)."""

    mode: ClassVar[str] = Mode.APPEND
    bits: ClassVar[int] = 0  # attributes of a batch that only this mode sets

    flow: str
    plan: PartitionPlan
    topic_id: bytes  # of the source topic
    claimed: Anchor  # the last claim; its appenders stand until the position is exact
    own: int = 1  # of these appenders, the last ones, are our own
    skip: int = 0  # records from there on that are on the target already
    found: tuple[int, int] = (0, 0)  # records and bytes of these, until the position is exact
    counted: int = 0  # target offset up to which they were counted
    acked: Position | None = None
    exact: bool = False  # acked is the real position, not one that counting must add to
    writer: Writer = field(default_factory=Writer)
    unsure: bool = False  # something was dropped that may have landed
    passage: Callable[[int], Via | None] | None = None  # by producer id; None: all is copied
    look_up: Callable[[set[int]], Awaitable[None]] | None = None  # what ``passage`` has to know
    recast: Recast | None = None  # what becomes of single records; None: nothing
    largest: int | None = None  # bytes of a batch that the target may take; None: it refused none
    waiting: deque[Piece] = field(default_factory=deque)  # fetched, or to be sent again
    on_wire: deque[Piece] = field(default_factory=deque)  # sent; oldest first
    answers_due: int = 0
    reason: str = ""
    held: str = ""  # an open transaction at the source holds the readable end
    remark: str = ""  # for people, while it is RUNNING and nothing holds it back
    stuck: tuple[PartitionState, str] | None = None  # as last told, until it is known to be over
    records: int = 0
    bytes: int = 0
    lost: int = 0  # source offsets that were passed over by policy
    source_end: int = 0
    last_timestamp: int = 0
    caught_up_ms: int = 0
    delays: Delays = field(default_factory=Delays)
    done: tuple[int, int] = (0, -1)  # as ``taken``, for what is acked
    course: Course = field(init=False)  # of anchors, from which offsets are translated

    def __post_init__(self) -> None:
        self.course = Course.of(self.claimed)

    @property
    def source(self) -> TopicPartition:
        return self.plan.source

    @property
    def target(self) -> TopicPartition:
        return self.plan.target

    @property
    def key(self) -> FetchKey:
        """How a Fetch calls it."""
        return self.topic_id, self.source.partition

    @property
    def in_doubt(self) -> bool:
        """Whether it is not known what was committed last, so that no anchor may be written."""
        return False

    @property
    def sends(self) -> bool:
        """Whether a piece may go out now.

        The first one goes alone: where a broker knows nothing of a producer it takes any sequence,
        so the second of two could land although the first was refused. For the same reason what
        another producer of ours is to append waits until all before it is acked: else order would
        not hold, and what is counted after a crash would not be a beginning of the source (C).
        """
        if not self.waiting or not self.fetches:
            return False
        if self.waiting[0].via != self.writer.via:
            return not self.on_wire
        return len(self.on_wire) < (MOST_ON_THE_WIRE if self.writer.proven else 1)

    @property
    def shown(self) -> tuple[PartitionState, str]:
        """State and reason for people: trying again once an epoch is not yet RUNNING."""
        if self.stuck is not None and self.state is PartitionState.RUNNING:
            return self.stuck
        return self.state, self.reason or self.held or self.remark

    @property
    def settled(self) -> bool:
        """Whether it is known of every append how it ended."""
        pieces = (*self.on_wire, *self.waiting)
        return not self.unsure and all(each.denied or not each.stamped for each in pieces)

    def name_appender(self, transactional_id: str, producer_id: int) -> None:
        """Name another producer of ours in anchors from now on: whoever comes must bar it too."""
        listed = (transactional_id, producer_id)
        if listed not in self.claimed.appenders[-self.own :]:
            *others, mine = self.claimed.appenders
            self.claimed = replace(self.claimed, appenders=(*others, listed, mine))
            self.own += 1

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

    def appended(self, piece: Piece, base: int) -> None:
        """Note that ``piece`` stands at ``base`` of the target; acked moves in order only."""
        piece.base, self.writer.proven = base, True
        while self.on_wire and self.on_wire[0].base is not None:
            done = self.on_wire.popleft()
            self.done = done.after, done.epochs[1]
            self.moved_to(Position(done.after, (done.base or 0) + done.count))
            self.records += done.count
            self.bytes += len(done.batch)
            self.last_timestamp = done.timestamp
            done.let_go()

    def moved_to(self, to: Position) -> None:
        """Take an exact position. What was counted is behind it, and whatever was stuck as well.

        Not sooner: an anchor that still asks for counting would count the same records again.
        """
        self.acked, self.exact, self.stuck = to, True, None
        self.news.add(self)
        self.records += self.found[0]
        self.bytes += self.found[1]
        self.found = (0, 0)

    def suffer(self, trouble: Trouble) -> None:
        """Note trouble; the worst one is dealt with when no answer is due any more."""
        if self.trouble is None or trouble.remedy > self.trouble.remedy:
            self.trouble = trouble

    def back_off(self, until: float) -> None:
        """Keep what was sent, to send the same bytes again from ``until`` on; let go of the rest.

        Only when no answer is due: until then the connection may still read the bytes.
        """
        self.trouble, self.retry_at = None, until
        while self.waiting and not self.waiting[-1].stamped and not self.waiting[-1].split:
            piece = self.waiting.pop()
            self.position = piece.before
            self.taken = piece.before, piece.epochs[0]
            piece.let_go()
        self.waiting.extendleft(reversed(self.on_wire))
        self.on_wire.clear()
        for piece in self.waiting:
            piece.keep_own_bytes()

    def forget(self) -> None:
        """Drop what is queued and on the wire. Only when no answer is due."""
        self.unsure = not self.settled
        for piece in (*self.on_wire, *self.waiting):
            piece.let_go()
        self.on_wire.clear()
        self.waiting.clear()
        self.trouble = self.retry_at = None

    def park(self, state: PartitionState, reason: str) -> None:
        """Stop copying this partition; the others go on."""
        self.forget()
        self.state, self.reason = state, reason

    @property
    def is_behind(self) -> bool:
        return self.acked is not None and self.acked.source < self.source_end

    def behind_ms(self, now_ms: int) -> int:
        """Return the age of the oldest record not yet copied, 0 when there is none."""
        if not self.is_behind:
            return 0
        since = max(self.caught_up_ms, min(self.last_timestamp, now_ms))
        return max(0, now_ms - since) if since else 0

    def anchor(self, now_ms: int, *, clean: bool = False) -> Anchor:
        """Return the anchor to write now; a lane that was not taken over keeps its position."""
        base = self.claimed
        state, reason = self.shown
        if self.acked is None:
            return replace(base, state=state, reason=reason, at_ms=now_ms)
        return Anchor(
            flow=self.flow,
            topic=self.source.topic,
            partition=self.source.partition,
            target_topic=self.target.topic,
            source=self.acked.source,
            target=self.acked.target,
            appenders=base.appenders[-self.own :] if self.exact else base.appenders,
            generation=base.generation,
            epoch=base.epoch,
            clean=clean and self.exact and self.settled,
            records=self.records,
            bytes=self.bytes,
            state=state,
            reason=reason,
            source_topic_id=self.topic_id.hex(),
            target_topic_id=base.target_topic_id,
            source_end=self.source_end,
            mode=self.mode if self.exact else base.mode,
            isolation=base.isolation,
            origins=base.origins,
            source_epoch=self.done[1] if self.done[0] == self.acked.source else -1,
            behind_ms=self.behind_ms(now_ms),
            at_ms=now_ms,
            lost=self.lost,
            run=self.course.newest,
            since=base.since,
            timed=self.delays.records,
            age_ms=self.delays.age.told(now_ms),
            latency_ms=self.delays.latency.told(now_ms),
        )
