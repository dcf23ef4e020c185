"""What a claim says of a lane, and how a lane begins by what was found. No I/O."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.copier.partition.broker_errors import Remedy, Trouble, stuck_as
from replication.copier.partition.position import Position
from replication.model import NO_RECORDS, Mode, PartitionState
from replication.offsets.offset_points import Course
from replication.state import Anchor, Claim

if TYPE_CHECKING:
    from replication.client.producer_identity import Claimant
    from replication.copier.partition.partition_copy import Lane

_COUNTING = Trouble(Remedy.TAKE_OVER, "counting the copies on the target")
_POSITION = (
    "source", "target", "records", "bytes", "mode", "isolation", "source_epoch", "lost", "run",
    "timed", "age_ms", "latency_ms",
)  # fmt: skip


def begin(lane: Lane, me: Claimant, *, exact: bool) -> None:
    """Set a lane to its anchor; ``exact`` when nothing has to be counted (G).

    Otherwise it is held back until that is done: fetching now would repeat what is there.
    """
    anchor = lane.claimed
    lane.forget()
    lane.acked = Position(anchor.source or 0, anchor.target or 0)
    lane.go_on_at(anchor.source or 0, anchor.source_epoch)
    lane.skip, lane.exact, lane.done = 0, exact, lane.fetched_to
    lane.queue.writer.begin(me.producer)
    lane.queue.unsure, lane.own = False, 1
    lane.counted, lane.found = 0, NO_RECORDS
    lane.counters.go_on_from(anchor)
    lane.state, lane.reason = PartitionState.RUNNING, ""
    lane.stuck = stuck_as(anchor)
    lane.course = Course.of(anchor)
    lane.trouble = None if exact else _COUNTING


def claim_of(lane: Lane) -> Anchor | Claim:
    """Return the record of a lane's claim.

    Where transactions are at work it must not hold a position: what it is based on may be older
    than what a former appender commits in this moment. A lagging anchor is right only where the
    rest is counted (D).
    """
    claimed = lane.claimed
    if Mode.TRANSACTIONAL not in (claimed.mode, lane.mode):
        return claimed
    return Claim(
        claimed.flow,
        claimed.topic,
        claimed.partition,
        claimed.appenders,
        claimed.generation,
        claimed.epoch,
    )


def is_mine(anchor: Anchor, me: Claimant) -> bool:
    last = anchor.appenders[-1:]
    return last == ((me.transactional_id, me.producer_id),) and (
        (anchor.generation, anchor.epoch) == me.rank
    )


def is_committed(lane: Lane, seen: Anchor | None) -> bool:
    """Say whether the last anchor was committed with the records before it (T).

    Not if it is of another topic, because one of the two was recreated.
    """
    if seen is None or seen.source is None or seen.mode != Mode.TRANSACTIONAL:
        return False
    return seen.source_topic_id in {"", lane.topic_id.hex()} and (
        seen.target_topic_id in {"", lane.claimed.target_topic_id}
    )


def begin_at(lane: Lane, committed: Anchor, me: Claimant) -> None:
    """Set a lane to an anchor that was committed, under the claim that the lane has."""
    lane.claimed = replace(lane.claimed, **{name: getattr(committed, name) for name in _POSITION})
    begin(lane, me, exact=True)
