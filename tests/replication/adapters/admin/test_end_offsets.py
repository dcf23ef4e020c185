"""Which partitions have an end: answers of brokers that do not know yet, or any more, who leads."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from replication.adapters.admin.checked_client import CheckedClient


def answered(answer):
    future = Future()
    if isinstance(answer, int):
        future.set_result(answer)
    else:
        future.set_exception(KafkaException(KafkaError(answer.code)))
    return future


class Refused:
    def __init__(self, code):
        self.code = code


@pytest.fixture
def client():
    return CheckedClient({"bootstrap.servers": "127.0.0.1:1"}, 1.0, None, reads_any=True)


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    ],
)
def test_a_partition_whose_broker_does_not_know_that_it_leads_costs_the_others_no_answer(
    client, code
):
    answers = {"a": answered(Refused(code)), "b": answered(7)}
    assert dict(client.present(answers)) == {"b": 7}


def test_what_does_not_pass_is_an_error(client):
    answers = {"a": answered(Refused(KafkaError.TOPIC_AUTHORIZATION_FAILED)), "b": answered(7)}
    with pytest.raises(KafkaException):
        dict(client.present(answers))
