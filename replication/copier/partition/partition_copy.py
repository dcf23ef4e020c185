"""One partition on its way: what was fetched, what is on the wire, what is acked. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from replication.copier.partition.copy_counters import CopyCounters
from replication.copier.partition.fetch_state import FetchState, leader_epoch_at
from replication.copier.partition.position import Position
from replication.copier.partition.produce_queue import ProduceQueue
from replication.model import (
    NO_RECORDS,
    Mode,
    OffsetAndEpoch,
    PartitionState,
    RecordsAndBytes,
    TopicPartition,
)
from replication.offsets.offset_points import OffsetPoints
from replication.state import Anchor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from replication.client.fetch_values import FetchKey
    from replication.copier.partition.broker_errors import PartitionError
    from replication.copier.partition.producer_batch import ProducerBatch
    from replication.model import PartitionPlan
    from replication.provenance.origins import ReplicationPath
    from replication.provenance.record_headers import OriginHeaders


@dataclass(slots=True, eq=False)
class PartitionCopy(FetchState):
    """The copy of one partition. ``acked`` is what an anchor may say (invariant D)."""

    mode: ClassVar[str] = Mode.APPEND
    bits: ClassVar[int] = 0  # attributes of a batch that only this mode sets

    flow: str
    plan: PartitionPlan
    topic_id: bytes  # of the source topic
    claimed: Anchor  # the last claim; its appenders stand until the position is exact
    own: int = 1  # of these appenders, the last ones, are our own
    skip: int = 0  # records from there on that are on the target already
    found: RecordsAndBytes = NO_RECORDS  # of these, until the position is exact
    counted: int = 0  # target offset up to which they were counted
    acked: Position | None = None
    exact: bool = False  # acked is the real position, not one that counting must add to
    path_of: Callable[[int], ReplicationPath | None] | None = (
        None  # by producer id; None: all is copied
    )
    look_up: Callable[[set[int]], Awaitable[None]] | None = None  # what ``path_of`` has to know
    recast: OriginHeaders | None = None  # what becomes of single records; None: nothing
    reason: str = ""
    stalled_lso: str = ""  # an open transaction at the source holds the readable end
    remark: str = ""  # for people, while it is RUNNING and nothing holds it back
    stuck: tuple[PartitionState, str] | None = None  # as last told, until it is known to be over
    source_end: int = 0  # of what the source lets us read, as last heard
    done: OffsetAndEpoch = field(default=OffsetAndEpoch(0))  # as ``fetched_to``, for what is acked
    queue: ProduceQueue = field(init=False)
    counters: CopyCounters = field(default_factory=CopyCounters)
    offset_points: OffsetPoints = field(init=False)  # of anchors, from which offsets are translated

    def __post_init__(self) -> None:
        self.queue = ProduceQueue(self.source, self.bits)
        self.offset_points = OffsetPoints.of(self.claimed)

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
        """Whether a piece may go out now."""
        queue = self.queue
        return bool(queue.waiting) and self.fetches and queue.may_send

    @property
    def state_and_reason(self) -> tuple[PartitionState, str]:
        """State and reason for people: trying again once an epoch is not yet RUNNING."""
        if self.stuck is not None and self.state is PartitionState.RUNNING:
            return self.stuck
        return self.state, self.reason or self.stalled_lso or self.remark

    def name_appender(self, transactional_id: str, producer_id: int) -> None:
        """Name another producer of ours in anchors from now on: whoever comes must bar it too."""
        listed = (transactional_id, producer_id)
        if listed not in self.claimed.appenders[-self.own :]:
            *others, mine = self.claimed.appenders
            self.claimed = replace(self.claimed, appenders=(*others, listed, mine))
            self.own += 1

    def appended(self, producer_batch: ProducerBatch, base: int) -> None:
        """Note that ``producer_batch`` stands at ``base`` of the target; acked moves in order only."""
        done = self.queue.acked(producer_batch, base)
        for each in done:
            self.counters.add(each)
            each.release_buffer()
        if done:
            last = done[-1]
            self.done = OffsetAndEpoch(last.after, last.epoch_after)
            self.set_position(Position(last.after, (last.base or 0) + last.count))

    def set_position(self, to: Position) -> None:
        """Take an exact position. What was counted is behind it, and whatever was stuck as well.

        Not sooner: an anchor that still asks for counting would count the same records again.
        """
        self.acked, self.exact, self.stuck = to, True, None
        self.anchor_changes.add(self)
        self.counters.records += self.found.records
        self.counters.bytes += self.found.bytes
        self.found = NO_RECORDS

    def record_error(self, error: PartitionError) -> None:
        """Note trouble; the worst one is dealt with when no answer is due any more."""
        if self.error is None or error.recovery > self.error.recovery:
            self.error = error

    def back_off(self, until: float) -> None:
        """Keep what was sent, to send the same bytes again from ``until`` on; let go of the rest.

        Only when no answer is due: until then the connection may still read the bytes.
        """
        self.error, self.retry_at = None, until
        if (first := self.queue.back_off()) is not None:
            self.resume_at(first.before, first.epoch_before)

    def forget(self) -> None:
        """Drop what is queued and on the wire. Only when no answer is due."""
        self.queue.clear()
        self.error = self.retry_at = None

    def halt(self, state: PartitionState, reason: str) -> None:
        """Stop copying this partition; the others go on."""
        self.forget()
        self.state, self.reason = state, reason

    @property
    def is_behind(self) -> bool:
        return self.acked is not None and self.acked.source < self.source_end

    def behind_ms(self, now_ms: int) -> int:
        """Return the age of the oldest record not yet copied, 0 when there is none."""
        return self.counters.behind_ms(now_ms) if self.is_behind else 0

    def anchor(self, now_ms: int, *, clean: bool = False) -> Anchor:
        """Return the anchor to write now; a lane that was not taken over keeps its position."""
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
            appenders=base.appenders[-self.own :] if self.exact else base.appenders,
            generation=base.generation,
            epoch=base.epoch,
            clean=clean and self.exact and self.queue.settled,
            records=counters.records,
            bytes=counters.bytes,
            state=state,
            reason=reason,
            source_topic_id=self.topic_id.hex(),
            target_topic_id=base.target_topic_id,
            source_end=self.source_end,
            mode=self.mode if self.exact else base.mode,
            isolation=base.isolation,
            origins=base.origins,
            source_epoch=leader_epoch_at(self.done, self.acked.source),
            behind_ms=self.behind_ms(now_ms),
            at_ms=now_ms,
            lost=counters.lost,
            run=self.offset_points.newest,
            since=base.since,
            timed=counters.delays.records,
            age_ms=counters.delays.age.for_anchor(now_ms),
            latency_ms=counters.delays.latency.for_anchor(now_ms),
        )
