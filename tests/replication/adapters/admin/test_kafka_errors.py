"""Which of the client library's errors are retriable."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from replication.adapters.admin.kafka_errors import our_errors
from replication.errors import ClusterRejected, ClusterUnavailable

LATER = [
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._TIMED_OUT,
]
NEVER = [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.INVALID_CONFIG]


@pytest.mark.parametrize(
    ("code", "ours"),
    [*((each, ClusterUnavailable) for each in LATER), *((each, ClusterRejected) for each in NEVER)],
)
def test_an_error_is_retriable_if_the_same_call_may_work_later(code, ours):
    with pytest.raises(ours, match="reading end offsets"), our_errors("reading end offsets"):
        raise KafkaException(KafkaError(code))
