"""Map error codes of Produce and Fetch responses to a recovery and a reason. Pure.

The rules for Produce follow from invariant A; the takeover relies on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from replication.client.error_codes import ErrorCode, named_error
from replication.model import NO_LEADER_EPOCH, OffsetRange, PartitionState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.state import Anchor


class Recovery(IntEnum):
    """How a partition recovers from an error, in order of severity."""

    RETRY = 1  # the same bytes with the same sequence, in order
    SPLIT = 2  # the target rejected a batch because of one record: send its halves
    TAKE_OVER = 3  # the outcome of appends is unknown: fence and count
    DECIDE = 4  # the policy says whether this partition continues; the others continue anyway


@dataclass(frozen=True, slots=True)
class PartitionError:
    """Why a partition cannot be copied further, and how it recovers."""

    recovery: Recovery
    reason: str
    state: PartitionState = PartitionState.WAITING
    lost: OffsetRange | None = None  # source offsets that the copy lacks if it continues
    resume: int | None = None  # source offset at which it can continue
    epoch: int = NO_LEADER_EPOCH  # source leader epoch of the batch before ``resume``


_STUCK = {
    PartitionState.LOST_RANGE,
    PartitionState.SOURCE_TRUNCATED,
    PartitionState.SOURCE_CORRUPT,
    PartitionState.TARGET_RESET,
    PartitionState.TARGET_FOREIGN,
    PartitionState.REFUSED,
    PartitionState.POSITION_LOST,
}
LOST_TAIL = "it was truncated, or deleted and recreated"
# A response with one of these codes names the new leader if the broker knows it (KIP-951).
LEADER_MOVED = {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH}
# A response with one of these codes may mean that the broker cannot read its log at this offset.
UNREADABLE: dict[int, str] = {
    each: f"the source broker cannot read its log there: {named_error(each)}"
    for each in (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
    )
}
_APPEND_LATER: dict[int, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "the target has no such topic or partition",
    ErrorCode.LEADER_NOT_AVAILABLE: "the target partition has no leader",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "the target partition's leader changed",
    ErrorCode.REQUEST_TIMED_OUT: "the request to the target broker timed out",
    ErrorCode.NETWORK_EXCEPTION: "the connection to the target broke",
    ErrorCode.NOT_ENOUGH_REPLICAS: "too few in-sync replicas on the target",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "too few in-sync replicas on the target",
    ErrorCode.KAFKA_STORAGE_ERROR: "the target broker cannot write to its disk",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: (
        "the target partition's preferred leader is not available"
    ),
}
# With these codes a broker answers before it appends. The others of ``_APPEND_LATER`` may also come
# after an append: when replicas do not confirm it in time, or the leader changes meanwhile.
NOT_APPENDED = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
}
_COUNT_AGAIN: dict[int, str] = {
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "the target rejected the sequence as out of order",
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: "the target already has the batch",
    ErrorCode.INVALID_PRODUCER_EPOCH: "a newer producer fenced ours",
    ErrorCode.INVALID_TXN_STATE: "the target has no such open transaction",
    ErrorCode.UNKNOWN_PRODUCER_ID: "the target no longer knows our producer id",
    ErrorCode.PRODUCER_FENCED: "a newer producer fenced ours",
    ErrorCode.TRANSACTION_ABORTABLE: "the target requires the transaction to be aborted",
}
_REFUSED: dict[int, str] = {
    ErrorCode.CORRUPT_MESSAGE: "the target cannot read the batch",
    ErrorCode.MESSAGE_TOO_LARGE: "it is larger than the target topic's max.message.bytes",
    ErrorCode.RECORD_LIST_TOO_LARGE: "it is larger than the target topic's segment.bytes",
    ErrorCode.INVALID_TIMESTAMP: (
        "its timestamp is outside the target topic's message.timestamp.before/after.max.ms"
    ),
    ErrorCode.POLICY_VIOLATION: "a policy of the target rejects the record",
    ErrorCode.INVALID_RECORD: (
        "the target rejects the record as invalid: a compacted topic needs records with a key"
    ),
}
_FORBIDDEN: dict[int, str] = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (
        "not authorized to write to the target topic: grant Isthmus' user WRITE on it"
    ),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (
        "not authorized to write to the target: grant Isthmus' user IDEMPOTENT_WRITE on the cluster"
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "not authorized for the transactional id on the target: grant Isthmus' user WRITE and "
        "DESCRIBE on it"
    ),
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: "the target does not support the compression codec",
}
_FETCH_LATER: dict[int, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "the source has no such topic or partition",
    ErrorCode.LEADER_NOT_AVAILABLE: "the source partition has no leader",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "the source partition's leader changed",
    ErrorCode.REQUEST_TIMED_OUT: "the request to the source broker timed out",
    ErrorCode.REPLICA_NOT_AVAILABLE: "the source's replica is not available",
    ErrorCode.KAFKA_STORAGE_ERROR: "the source broker cannot read its disk",
    ErrorCode.FENCED_LEADER_EPOCH: "the source partition's leader changed",
    ErrorCode.UNKNOWN_LEADER_EPOCH: "the source partition's leader changed",
    ErrorCode.OFFSET_NOT_AVAILABLE: "the source's replica has not caught up",
    ErrorCode.UNKNOWN_TOPIC_ID: "the source does not know the topic's id yet",
    ErrorCode.INCONSISTENT_TOPIC_ID: "the source's topic has another topic id",
}


def append_error(code: int, message: str = "") -> PartitionError:
    """Return the recovery for the error code of a Produce response."""
    if code in _APPEND_LATER:
        return PartitionError(Recovery.RETRY, _APPEND_LATER[code])
    if code in _COUNT_AGAIN:
        return PartitionError(Recovery.TAKE_OVER, _COUNT_AGAIN[code])
    detail = f" ({message})" if message else ""
    if code in _REFUSED:
        return PartitionError(Recovery.SPLIT, _REFUSED[code] + detail, PartitionState.REFUSED)
    reason = _FORBIDDEN.get(code, f"the target rejects a batch: {named_error(code)}")
    return PartitionError(Recovery.DECIDE, reason + detail, PartitionState.REFUSED)


def refused_record(why: PartitionError, offset: int, after: int) -> PartitionError:
    """Return the error for a single record that the target rejects."""
    return PartitionError(
        Recovery.DECIDE,
        f"the target rejects the record at offset {offset}: {why.reason}",
        PartitionState.REFUSED,
        lost=OffsetRange(offset, offset + 1),
        resume=after,
    )


def unreadable_batch(why: PartitionError, offsets: Sequence[int], after: int) -> PartitionError:
    """Return the error for a batch that the target rejects and that cannot be split.

    Its checksum is right, so it was damaged before the source's broker got it.
    """
    first, end = offsets[0], offsets[-1] + 1
    return PartitionError(
        Recovery.DECIDE,
        f"the target rejects the batch with offsets [{first}, {end}), whose records cannot be "
        f"read: {why.reason}",
        PartitionState.REFUSED,
        lost=OffsetRange(first, end),
        resume=after,
    )


def join_error(code: int) -> PartitionError | None:
    """Return the error for a partition that could not be added to a transaction.

    None: only another partition of the same request was rejected.
    """
    if code in {ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED}:
        return None
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return PartitionError(Recovery.RETRY, _APPEND_LATER[code])
    return append_error(code)


def fetch_error(code: int) -> PartitionError:
    """Return the recovery for the error code of a Fetch response.

    OFFSET_OUT_OF_RANGE is left out: `out_of_range` decides it from the log's offsets.
    """
    if code in _FETCH_LATER:
        return PartitionError(Recovery.RETRY, _FETCH_LATER[code])
    if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        reason = "not authorized to read the source topic: grant Isthmus' user READ on it"
        return PartitionError(Recovery.DECIDE, reason, PartitionState.REFUSED)
    reason = UNREADABLE.get(code, f"the source broker answers {named_error(code)}")
    return PartitionError(Recovery.RETRY, reason)


def target_reset(end: int, ours: int) -> PartitionError:
    """Return the error for a target log that ends before the last acknowledged offset."""
    reason = f"the target ends at offset {end}, before our last record, {ours - 1}: {LOST_TAIL}"
    return PartitionError(Recovery.DECIDE, reason, PartitionState.TARGET_RESET)


def out_of_range(position: int, log_start: int, end: int) -> PartitionError:
    """Return the error for a position outside the source's log."""
    if position < log_start:
        reason = f"the source no longer has offsets [{position}, {log_start})"
        lost = OffsetRange(position, log_start)
        return PartitionError(Recovery.DECIDE, reason, PartitionState.LOST_RANGE, lost, log_start)
    if position <= end:
        return PartitionError(Recovery.RETRY, f"offset {position} is in range again")
    reason = f"the source ends at {end}, before our position {position}"
    lost = OffsetRange(end, position)
    return PartitionError(Recovery.DECIDE, reason, PartitionState.SOURCE_TRUNCATED, lost, end)


def corrupt(position: int, end: int | None, why: str) -> PartitionError:
    """Return the error for a batch at ``position`` that no replica of the source can give whole.

    ``end``: the next offset that can be read; None: there is none yet, so nothing can be skipped.
    """
    if end is None:
        reason = f"{why}; no later batch can be read either, so `skip` has no effect yet"
        return PartitionError(Recovery.DECIDE, reason, PartitionState.SOURCE_CORRUPT)
    reason = f"the source's offsets [{position}, {end}) are damaged: {why}"
    lost = OffsetRange(position, end)
    return PartitionError(Recovery.DECIDE, reason, PartitionState.SOURCE_CORRUPT, lost, end)


def rewritten(position: int, epoch: int) -> PartitionError:
    """Return the error for a source log with no leader epoch as high as ``epoch``, our last one."""
    reason = (
        f"the source was restored from an older state: it has no leader epoch {epoch}, in which "
        f"offsets before our position {position} were written; it may have other records there now"
    )
    lost, state = OffsetRange(position, position), PartitionState.SOURCE_TRUNCATED
    return PartitionError(Recovery.DECIDE, reason, state, lost, position)


def diverged(position: int, end: int, epoch: int = NO_LEADER_EPOCH) -> PartitionError:
    """Return the error for a source log that diverged before our position.

    ``end`` is the largest offset up to which the source's log is the one that was copied, ``epoch``
    the leader epoch before it.
    """
    reason = (
        f"the source lost offsets [{end}, {position}) after they were copied: a replica without "
        "them became leader; the target has records that the source no longer has"
    )
    lost, state = OffsetRange(end, position), PartitionState.SOURCE_TRUNCATED
    return PartitionError(Recovery.DECIDE, reason, state, lost, end, epoch)


def stuck_as(anchor: Anchor) -> tuple[PartitionState, str] | None:
    """Return the state and reason of ``anchor`` if an operator has to act on it, else None."""
    return (PartitionState(anchor.state), anchor.reason) if anchor.state in _STUCK else None
