"""Which of the client library's errors are retriable."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from replication.adapters.admin.kafka_errors import ReportedErrors, our_errors
from replication.errors import ClusterRejected, ClusterUnavailable, LoginRejected

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


BROKER = "sasl_plaintext://127.0.0.1:9092/1: "


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        pytest.param(
            "SASL authentication error: Authentication failed: Invalid password (after 2ms in "
            "state AUTH_REQ)",
            LoginRejected,
            id="the password",
        ),
        pytest.param(
            "SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL mechanism: "
            "broker's supported mechanisms: PLAIN",
            LoginRejected,
            id="the mechanism",
        ),
        pytest.param(
            "SASL PLAIN mechanism handshake failed: Local: Broker transport failure: broker's "
            "supported mechanisms: (n/a)",
            ClusterUnavailable,
            id="a broker that restarts in the handshake",
        ),
        pytest.param(
            "SaslAuthenticateRequest failed: Local: Timed out",
            ClusterUnavailable,
            id="a broker that is silent in the handshake",
        ),
    ],
)
def test_a_login_is_refused_by_a_broker_and_not_by_a_connection_that_is_lost(text, ours):
    complaints = ReportedErrors()
    complaints(KafkaError(KafkaError._AUTHENTICATION, BROKER + text))
    assert complaints.kind is ours
