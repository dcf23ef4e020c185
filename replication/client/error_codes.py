"""Kafka's error codes, by name: those that Isthmus handles.

Names and numbers are those of ``org.apache.kafka.common.protocol.Errors``. The code in a response
stays a plain number, because a broker may know codes that we do not: compare it with a name, or
look it up in a set or a dictionary of names.
"""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """The error code in a response; only NONE (0) is false."""

    UNKNOWN_SERVER_ERROR = -1  # an exception in the broker, e.g. of a log that it cannot read
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1  # below the log's start, or beyond its end
    CORRUPT_MESSAGE = 2  # the broker cannot read the log there; of an append: a wrong checksum
    UNKNOWN_TOPIC_OR_PARTITION = 3  # also of one whose metadata has not reached the broker yet
    LEADER_NOT_AVAILABLE = 5  # an election is under way
    NOT_LEADER_OR_FOLLOWER = 6  # the leader moved; or the broker has no replica
    REQUEST_TIMED_OUT = 7
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10  # a batch larger than max.message.bytes
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    RECORD_LIST_TOO_LARGE = 18  # a batch larger than segment.bytes
    NOT_ENOUGH_REPLICAS = 19  # fewer in sync than min.insync.replicas: nothing was appended
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20  # it was appended, and may be lost
    ILLEGAL_GENERATION = 22  # a commit by a non-member to a group that has members
    UNKNOWN_MEMBER_ID = 25  # likewise
    REBALANCE_IN_PROGRESS = 27
    TOPIC_AUTHORIZATION_FAILED = 29  # also where we may not know whether the topic exists
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31  # of a producer id: IDEMPOTENT_WRITE is not granted
    INVALID_TIMESTAMP = 32  # outside message.timestamp.before.max.ms or .after.max.ms
    UNSUPPORTED_VERSION = 35
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45  # a batch before it is missing
    DUPLICATE_SEQUENCE_NUMBER = 46  # appended before, so long ago that its offset is forgotten
    INVALID_PRODUCER_EPOCH = 47  # a newer epoch of the producer id has been seen
    INVALID_TXN_STATE = 48  # no transaction is open, or one is and the append is not part of it
    CONCURRENT_TRANSACTIONS = 51  # the markers of the last transaction are still being written
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    OPERATION_NOT_ATTEMPTED = 55  # this partition could, another of the same request could not
    KAFKA_STORAGE_ERROR = 56  # the broker's disk has failed
    UNKNOWN_PRODUCER_ID = 59  # retention deleted all that it had appended, or it was idle too long
    GROUP_ID_NOT_FOUND = 69  # also of a group whose kind commits no offsets
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    FENCED_LEADER_EPOCH = 74  # the leader is newer than the one that we know
    UNKNOWN_LEADER_EPOCH = 75  # the leader that we know is newer than the broker's
    UNSUPPORTED_COMPRESSION_TYPE = 76
    OFFSET_NOT_AVAILABLE = 78  # a new leader does not know yet how far its log is readable
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    INVALID_RECORD = 87  # e.g. a record without a key for a compacted topic
    PRODUCER_FENCED = 90  # as INVALID_PRODUCER_EPOCH, by the coordinator
    UNKNOWN_TOPIC_ID = 100  # also of one whose metadata has not reached the broker yet
    INCONSISTENT_TOPIC_ID = 103  # the topic was deleted and recreated
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106  # likewise, of a topic in a fetch session
    STALE_MEMBER_EPOCH = 113  # of a KIP-848 group: as ILLEGAL_GENERATION
    TRANSACTION_ABORTABLE = 120  # the transaction must be aborted, the producer may go on (KIP-890)


def named_error(code: int) -> str:
    """Return an error code for a message: ``error 7 (REQUEST_TIMED_OUT)``.

    Without a name where it is none of those above.
    """
    try:
        return f"error {code} ({ErrorCode(code).name})"
    except ValueError:
        return f"error {code}"
