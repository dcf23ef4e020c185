"""Error codes of brokers: every code maps to a recovery."""

from __future__ import annotations

import kafka.errors
import pytest

from replication.client.error_codes import ErrorCode
from replication.copier.partition.broker_errors import (
    Recovery,
    append_error,
    diverged,
    fetch_error,
    out_of_range,
    refused_record,
    target_reset,
)
from replication.model import PartitionState

RETRY, SPLIT, TAKE_OVER, DECIDE = Recovery
CODES = {getattr(each, "errno", None) for each in vars(kafka.errors).values()} - {None, 0}
APPEND = {
    kafka.errors.UnknownTopicOrPartitionError: RETRY,
    kafka.errors.LeaderNotAvailableError: RETRY,
    kafka.errors.NotLeaderForPartitionError: RETRY,
    kafka.errors.RequestTimedOutError: RETRY,
    kafka.errors.NetworkExceptionError: RETRY,
    kafka.errors.NotEnoughReplicasError: RETRY,
    kafka.errors.NotEnoughReplicasAfterAppendError: RETRY,
    kafka.errors.KafkaStorageError: RETRY,
    kafka.errors.OutOfOrderSequenceNumberError: TAKE_OVER,
    kafka.errors.DuplicateSequenceNumberError: TAKE_OVER,
    kafka.errors.InvalidProducerEpochError: TAKE_OVER,
    kafka.errors.UnknownProducerIdError: TAKE_OVER,
    kafka.errors.ProducerFencedError: TAKE_OVER,
    kafka.errors.MessageSizeTooLargeError: SPLIT,
    kafka.errors.RecordListTooLargeError: SPLIT,
    kafka.errors.TopicAuthorizationFailedError: DECIDE,
    kafka.errors.ClusterAuthorizationFailedError: DECIDE,
    kafka.errors.InvalidTimestampError: SPLIT,
    kafka.errors.PolicyViolationError: SPLIT,
    kafka.errors.UnsupportedCompressionTypeError: DECIDE,
    kafka.errors.InvalidRecordError: SPLIT,
    kafka.errors.CorruptRecordError: SPLIT,
}
FETCH_JUDGED = {kafka.errors.TopicAuthorizationFailedError.errno}


@pytest.mark.parametrize(
    ("error", "recovery"), APPEND.items(), ids=lambda each: getattr(each, "__name__", str(each))
)
def test_an_appends_error_asks_for(error, recovery):
    assert append_error(error.errno).recovery is recovery


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_of_kafka_has_a_recovery_and_a_reason(code):
    append, fetch = append_error(code), fetch_error(code)
    assert append.reason
    assert (append.recovery in {SPLIT, DECIDE}) == (append.state is PartitionState.REFUSED)
    assert fetch.reason
    assert fetch.recovery is (DECIDE if code in FETCH_JUDGED else RETRY)


def test_what_the_broker_says_besides_is_passed_on():
    error = append_error(
        ErrorCode.INVALID_RECORD, "Compacted topic cannot accept message without key"
    )
    assert "Compacted topic cannot accept" in error.reason
    assert "error 4711 (so it is)" in append_error(4711, "so it is").reason


def test_the_graver_recovery_weighs_more():
    assert DECIDE > TAKE_OVER > SPLIT > RETRY


@pytest.mark.parametrize(
    ("position", "state", "reason", "lost_and_resume"),
    [
        (3, PartitionState.LOST_RANGE, "[3, 10)", ((3, 10), 10)),
        (9, PartitionState.LOST_RANGE, "[9, 10)", ((9, 10), 10)),
        (
            21,
            PartitionState.SOURCE_TRUNCATED,
            "ends at 20, before our position 21",
            ((20, 21), 20),
        ),
    ],
)
def test_a_position_out_of_range_is_lost_or_truncated_and_names_the_range(
    position, state, reason, lost_and_resume
):
    error = out_of_range(position, 10, 20)
    assert (error.recovery, error.state) == (DECIDE, state)
    assert reason in error.reason
    assert (error.lost, error.resume) == lost_and_resume


def test_a_target_that_ends_before_what_was_acked_there_was_reset():
    error = target_reset(4, 9)
    assert (error.recovery, error.state) == (DECIDE, PartitionState.TARGET_RESET)
    assert error.reason == (
        "the target ends at offset 4, before our last record, 8: it was truncated, or deleted "
        "and recreated"
    )


def test_a_single_refused_record_is_named_with_its_offset_and_could_be_skipped():
    error = refused_record(append_error(ErrorCode.MESSAGE_TOO_LARGE), 17, 20)
    assert (error.recovery, error.state) == (DECIDE, PartitionState.REFUSED)
    assert "record at offset 17: it is larger than" in error.reason
    assert (error.lost, error.resume) == ((17, 18), 20)


@pytest.mark.parametrize("position", [10, 20])
def test_a_position_at_the_start_or_the_end_of_the_log_is_retried(position):
    error = out_of_range(position, 10, 20)
    assert (error.recovery, error.state) == (RETRY, PartitionState.WAITING)
    assert (error.lost, error.resume) == (None, None)


def test_a_log_that_diverged_names_what_the_source_lost_and_is_decided():
    error = diverged(21, 15)
    assert (error.recovery, error.state) == (DECIDE, PartitionState.SOURCE_TRUNCATED)
    assert (error.lost, error.resume) == ((15, 21), 15)
