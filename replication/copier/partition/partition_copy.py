"""State of one partition's copy: fetched, in flight and acknowledged offsets, and its anchor."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from replication.copier.partition.broker_errors import PartitionError, Recovery, stuck_as
from replication.copier.partition.copy_counters import CopyCounters
from replication.copier.partition.copy_status import CopyStatus
from replication.copier.partition.fetch_state import FetchState, SourceLog, leader_epoch_at
from replication.copier.partition.position import CountedCopies, Position, claim
from replication.copier.partition.produce_queue import ProduceQueue
from replication.copier.partition.producer_state import ProducerState
from replication.model import (
    NO_LEADER_EPOCH,
    NO_RECORDS,
    Mode,
    OffsetAndEpoch,
    PartitionState,
    TopicPartition,
)
from replication.offsets.offset_points import OffsetPoints
from replication.state import Anchor

LAST_OFFSET = (1 << 63) - 1
_COUNTING = PartitionError(Recovery.TAKE_OVER, "counting the copies on the target")

if TYPE_CHECKING:
    from replication.client.fetch_values import FetchKey
    from replication.client.producer_identity import ProducerIdentity
    from replication.copier.partition.producer_batch import ProducerBatch
    from replication.model import PartitionPlan
    from replication.provenance.record_rules import RecordRules


@dataclass(slots=True, eq=False)
class PartitionCopy(FetchState):
    """The copy of one partition. Its anchor never leads ``acked`` (invariant D). No I/O."""

    mode: ClassVar[str] = Mode.APPEND
    bits: ClassVar[int] = 0  # batch attribute bits that only this mode sets

    flow: str
    plan: PartitionPlan
    topic_id: bytes  # of the source topic
    claimed: Anchor  # the last claim; its appenders count until the position is exact
    rules: RecordRules  # which records are copied; not decided until the claim says it
    own: int = 1  # how many of these appenders, from the end, are our own
    contested: bool = False  # another unit has claimed it, which is not fenced yet
    acked: Position | None = None
    exact: bool = False  # acked is the real position; False: counted records must be added
    done: OffsetAndEpoch = field(default=OffsetAndEpoch(0))  # ``fetched_to`` of what is acked
    counted: CountedCopies = field(default_factory=CountedCopies)
    uncountable: str = ""  # why the source's records cannot be counted from the anchor on
    sought: str = ""  # why the position is searched by content: it has no anchor; empty: it is not
    source_log: SourceLog = field(default_factory=SourceLog)
    status: CopyStatus = field(default_factory=CopyStatus)
    counters: CopyCounters = field(default_factory=CopyCounters)
    queue: ProduceQueue = field(init=False)
    offset_points: OffsetPoints = field(init=False)  # for offset translation
    writer: InitVar[ProducerState | None] = None  # of the queue; None: of a copy

    def __post_init__(self, writer: ProducerState | None) -> None:
        self.queue = ProduceQueue(self.source, self.bits, writer or ProducerState())
        self.offset_points = OffsetPoints.of(self.claimed)

    def claim_for(self, me: ProducerIdentity) -> None:
        """Add ``me`` to those that may append; until it has begun, all of them count as ours."""
        self.claimed = claim(self.claimed, me)
        self.own = len(self.claimed.appenders)

    def contest(self, appenders: tuple[tuple[str, int], ...]) -> None:
        """Note that another unit has claimed it too: all ``appenders`` may append."""
        self.claimed = replace(self.claimed, appenders=appenders, clean=False)
        self.own, self.contested = len(appenders), True

    def begin(self, me: ProducerIdentity, *, exact: bool) -> None:
        """Go back to what is claimed; ``exact`` when nothing has to be counted (G).

        Otherwise it is not fetched until its records are counted: it would copy them twice.
        """
        anchor = self.claimed
        self.forget()
        self.acked = Position(anchor.source or 0, anchor.target or 0)
        self.resume_at(anchor.source or 0, anchor.source_epoch)
        self.exact, self.done = exact, self.fetched_to
        self.counted.begin()
        self.queue.writer.begin(me.producer)
        self.queue.has_unknown_appends, self.own, self.contested = False, 1, False
        self.counters.resume_from(anchor)
        self.state = PartitionState.RUNNING
        self.status.reason, self.status.stuck = "", stuck_as(anchor)
        is_damaged = anchor.state == PartitionState.SOURCE_CORRUPT
        self.source_log.unread = self.acked.source if is_damaged else None
        self.offset_points = OffsetPoints.of(anchor)
        self.error = None if exact else _COUNTING

    @property
    def source(self) -> TopicPartition:
        return self.plan.source

    @property
    def target(self) -> TopicPartition:
        return self.plan.target

    @property
    def end(self) -> int:
        """Source offset at which copying ends; higher than any offset if it does not."""
        return LAST_OFFSET if self.plan.until is None else self.plan.until

    @property
    def wants_more(self) -> bool:
        """Whether it is to be fetched."""
        return self.fetches and self.position < self.end

    @property
    def key(self) -> FetchKey:
        """Topic id and partition, as a Fetch request names it."""
        return self.topic_id, self.source.partition

    @property
    def in_doubt(self) -> bool:
        """Whether the last committed position is unknown, so that no anchor may be written."""
        return False

    @property
    def sends(self) -> bool:
        """Whether the next batch may be sent now."""
        queue = self.queue
        return bool(queue.waiting) and self.fetches and queue.may_send

    def must_count(self, now_ms: int) -> bool:
        """Whether it has to be counted what the target appended before anything is sent again."""
        return self.queue.may_be_repeated(now_ms)

    @property
    def state_and_reason(self) -> tuple[PartitionState, str]:
        """State and reason as reported, see CopyStatus."""
        return self.status.of(self.state)

    @property
    def appenders(self) -> tuple[tuple[str, int], ...]:
        """Who may have appended behind ``acked``: all that were claimed, until it is exact."""
        return self.claimed.appenders[-self.own :] if self.exact else self.claimed.appenders

    def name_appender(self, transactional_id: str, producer_id: int) -> None:
        """Add another producer of ours to the anchors: the next owner must fence it too."""
        listed = (transactional_id, producer_id)
        if listed not in self.claimed.appenders[-self.own :]:
            *others, mine = self.claimed.appenders
            self.claimed = replace(self.claimed, appenders=(*others, listed, mine))
            self.own += 1

    def appended(self, producer_batch: ProducerBatch, base: int) -> None:
        """Record that the target appended the batch at ``base``; ``acked`` advances in order."""
        done = self.queue.acked(producer_batch, base)
        for each in done:
            self.counters.add(each)
            each.release_buffer()
        if done:
            last = done[-1]
            self.done = OffsetAndEpoch(last.after, last.epoch_after)
            self.set_position(Position(last.after, (last.base or 0) + last.count))

    def set_position(self, position: Position) -> None:
        """Set an exact position, behind the counted records and behind what halted the copy.

        Call it only then: from an anchor that is not exact the same records are counted again.
        """
        self.acked, self.exact, self.status.stuck = position, True, None
        self.anchor_changes.add(self)
        if self.counted.size is not NO_RECORDS:
            self.counters.add_counted(self.counted.take_size())

    def behind_counted(self, source: int) -> Position:
        """Return the position at ``source`` if all that was counted is before it."""
        target = self.acked.target if self.acked else 0
        return Position(source, max(target, self.counted.end))

    def go_on_at(self, source: int, epoch: int = NO_LEADER_EPOCH) -> None:
        """Copy from ``source`` on: all that was counted is before it, nothing is to be skipped.

        ``epoch``: the source's leader epoch of the batch before it.
        """
        self.resume_at(source, epoch)
        self.counted.skip, self.done = 0, self.fetched_to
        self.set_position(self.behind_counted(source))

    def record_error(self, error: PartitionError) -> None:
        """Record an error; the most severe one is handled once no response is outstanding."""
        if self.error is None or error.recovery > self.error.recovery:
            self.error = error

    def recovered(self) -> None:
        """Forget the reason of earlier retries: the source or target has answered well."""
        if self.status.recovered():
            self.anchor_changes.add(self)

    def back_off(self, until: float) -> None:
        """Keep sent batches, to resend the same bytes from ``until`` on; release the others.

        Only when no response is outstanding: until then the connection may read the bytes.
        """
        self.error, self.retry_at = None, until
        if (first := self.queue.back_off()) is not None:
            self.resume_at(first.before, first.epoch_before)

    def forget(self) -> None:
        """Drop queued and in-flight batches. Only when no response is outstanding."""
        self.queue.clear()
        self.error = self.retry_at = None

    def halt(self, state: PartitionState, reason: str) -> None:
        """Stop copying this partition; the others continue."""
        self.forget()
        self.state, self.status.reason = state, reason

    def lose_position(self, reason: str) -> None:
        """Halt a partition whose position is not known; what was claimed for a search is none."""
        self.acked, self.exact, self.sought, self.topic_id = None, False, "", b""
        self.claimed = replace(self.claimed, source=None, target=None)
        self.offset_points = OffsetPoints.of(self.claimed)
        self.halt(PartitionState.POSITION_LOST, reason)

    @property
    def is_behind(self) -> bool:
        return self.acked is not None and self.acked.source < self.source_log.end

    def behind_ms(self, now_ms: int) -> int:
        """Return how old the oldest record not yet copied may be, 0 when there is none.

        While the source does not answer that is the time since its last answer.
        """
        if self.is_behind:
            return self.counters.behind_ms(now_ms)
        return self.source_log.silent_ms(now_ms)

    def anchor(self, now_ms: int, *, clean: bool = False) -> Anchor:
        """Return the anchor to write now; without a takeover it keeps the claimed position."""
        base, counters = self.claimed, self.counters
        state, reason = self.state_and_reason
        if self.acked is None:
            return replace(base, state=state, reason=reason, at_ms=now_ms)
        return Anchor(
            flow=self.flow,
            topic=self.source.topic,
            partition=self.source.partition,
            target_topic=self.target.topic,
            source=self.acked.source,
            target=self.acked.target,
            appenders=self.appenders,
            generation=base.generation,
            epoch=base.epoch,
            clean=clean and self.exact and self.queue.settled and not self.contested,
            records=counters.records,
            bytes=counters.bytes,
            state=state,
            reason=reason,
            source_topic_id=self.topic_id.hex(),
            target_topic_id=base.target_topic_id,
            source_end=self.source_log.end,
            mode=self.mode if self.exact else base.mode,
            isolation=base.isolation,
            origins=base.origins,
            source_epoch=leader_epoch_at(self.done, self.acked.source),
            behind_ms=self.behind_ms(now_ms),
            at_ms=now_ms,
            lost=counters.lost,
            run=self.offset_points.newest,
            since=base.since,
            former=base.former,
            own_from=base.own_from,
            timed=counters.delays.records,
            age_ms=counters.delays.age.for_anchor(now_ms),
            latency_ms=counters.delays.latency.for_anchor(now_ms),
        )
