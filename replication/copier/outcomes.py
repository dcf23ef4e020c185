"""What a broker's error code asks of a partition. Pure.

Codes as in Kafka's Errors class; the append rules are invariant A and the fine print of a takeover.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from replication.model import PartitionState

if TYPE_CHECKING:
    from replication.state import Anchor


class Remedy(IntEnum):
    """What to do, in order of weight."""

    RETRY = 1  # the same bytes with the same sequence, in order
    SPLIT = 2  # a batch was refused for one of its records: send its halves
    TAKE_OVER = 3  # fence and count: what happened is not known
    JUDGE = 4  # the policy says whether it goes on; the other partitions do


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a partition cannot go on as it did."""

    remedy: Remedy
    reason: str
    state: PartitionState = PartitionState.WAITING
    lost: tuple[int, int] | None = None  # source offsets that are missing if it goes on
    resume: int | None = None  # source offset at which it could go on


_STUCK = {
    PartitionState.LOST_RANGE,
    PartitionState.SOURCE_TRUNCATED,
    PartitionState.TARGET_RESET,
    PartitionState.TARGET_FOREIGN,
    PartitionState.REFUSED,
    PartitionState.POSITION_LOST,
}
OUT_OF_ORDER = 45
OFFSET_OUT_OF_RANGE = 1
LEADER_MOVED = {6, 74}  # who answers so names the new one, if it knows it (KIP-951)
TOO_LARGE = 10
_APPEND_LATER = {
    3: "the target has no such topic or partition",
    5: "the target partition has no leader",
    6: "the target partition's leader changed",
    7: "the request to the target broker timed out",
    13: "the connection to the target broke",
    19: "too few in-sync replicas on the target",
    20: "too few in-sync replicas on the target",
    56: "the target broker cannot write to its disk",
    80: "the target broker's leader epoch is newer",
}
_COUNT_AGAIN = {
    OUT_OF_ORDER: "the target rejected the sequence number as out of order",
    46: "the target already has the batch",
    47: "a newer producer fenced ours",
    48: "the target has no such open transaction",
    59: "the target no longer knows our producer id",
    90: "a newer producer fenced ours",
    120: "the target requires the transaction to be aborted",
}
_REFUSED = {
    TOO_LARGE: "it is larger than the target topic's max.message.bytes",
    18: "it is larger than the target topic's segment.bytes",
    32: "its timestamp is outside the target topic's message.timestamp.before/after.max.ms",
    44: "a policy of the target rejects the record",
    87: "the target rejects the record as invalid: a compacted topic needs records with a key",
}
_FORBIDDEN = {
    29: "not authorized to write to the target topic: it needs WRITE",
    31: "not authorized to write to the target cluster: it needs IDEMPOTENT_WRITE",
    53: "not authorized for the transactional id on the target: it needs WRITE and DESCRIBE",
    76: "the target does not support the compression codec",
}
_FETCH_LATER = {
    3: "the source has no such topic or partition",
    5: "the source partition has no leader",
    6: "the source partition's leader changed",
    7: "the request to the source broker timed out",
    9: "the source's replica is not available",
    56: "the source broker cannot read its disk",
    74: "the source partition's leader changed",
    75: "the source partition's leader changed",
    78: "the source's replica lags behind",
    100: "the source does not know the topic's id yet",
    103: "the source's topic has another topic id",
}


def append_trouble(code: int, message: str = "") -> Trouble:
    """Return what an error of a Produce asks for."""
    if code in _APPEND_LATER:
        return Trouble(Remedy.RETRY, _APPEND_LATER[code])
    if code in _COUNT_AGAIN:
        return Trouble(Remedy.TAKE_OVER, _COUNT_AGAIN[code])
    detail = f" ({message})" if message else ""
    if code in _REFUSED:
        return Trouble(Remedy.SPLIT, _REFUSED[code] + detail, PartitionState.REFUSED)
    reason = _FORBIDDEN.get(code, f"the target rejects a batch with error {code}")
    return Trouble(Remedy.JUDGE, reason + detail, PartitionState.REFUSED)


def refused_record(why: Trouble, offset: int, after: int) -> Trouble:
    """Return what to make of a single record that the target refuses."""
    return Trouble(
        Remedy.JUDGE,
        f"the target rejects the record at offset {offset}: {why.reason}",
        PartitionState.REFUSED,
        lost=(offset, offset + 1),
        resume=after,
    )


def join_trouble(code: int) -> Trouble | None:
    """Return what to make of a partition that may not take part in a transaction.

    None: it may, but another one of the same request may not.
    """
    if code in {0, 55}:
        return None
    if code == 3:
        return Trouble(Remedy.RETRY, _APPEND_LATER[code])
    return append_trouble(code)


def fetch_trouble(code: int) -> Trouble:
    """Return what an error of a Fetch asks for; OFFSET_OUT_OF_RANGE needs the offsets besides."""
    if code in _FETCH_LATER:
        return Trouble(Remedy.RETRY, _FETCH_LATER[code])
    if code == 29:
        reason = "not authorized to read the source topic"
        return Trouble(Remedy.JUDGE, reason, PartitionState.REFUSED)
    return Trouble(Remedy.RETRY, f"the source answers with error {code}")


def target_reset(end: int, ours: int) -> Trouble:
    """Return what to make of a target that ends before what was acked there."""
    reason = (
        f"the target ends at {end}, our last record is at {ours - 1}: "
        "its records were deleted or it was recreated"
    )
    return Trouble(Remedy.JUDGE, reason, PartitionState.TARGET_RESET)


def out_of_range(position: int, log_start: int, end: int) -> Trouble:
    """Return what to make of a position that the source's log does not hold."""
    if position < log_start:
        reason = f"the source no longer has offsets [{position}, {log_start})"
        lost = (position, log_start)
        return Trouble(Remedy.JUDGE, reason, PartitionState.LOST_RANGE, lost, log_start)
    if position <= end:
        return Trouble(Remedy.RETRY, "the source's log is complete again")
    reason = f"the source ends at {end}, before our position {position}"
    lost = (end, position)
    return Trouble(Remedy.JUDGE, reason, PartitionState.SOURCE_TRUNCATED, lost, end)


def diverged(position: int, end: int) -> Trouble:
    """Return what to make of a source whose log went another way before our position.

    ``end`` is where the log ends that we and the source have in common, as far as it knows.
    """
    reason = (
        f"the source lost offsets [{end}, {position}) after they were copied: a replica without "
        "them became leader; the target has records that the source no longer has"
    )
    return Trouble(Remedy.JUDGE, reason, PartitionState.SOURCE_TRUNCATED, (end, position), end)


def stuck_as(anchor: Anchor) -> tuple[PartitionState, str] | None:
    """Return the state in which a person must act, if ``anchor`` is in one, and its reason."""
    return (PartitionState(anchor.state), anchor.reason) if anchor.state in _STUCK else None
