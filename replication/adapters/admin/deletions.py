"""Deletes topics and consumer groups; what is not there counts as deleted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from concurrent.futures import Future

    from confluent_kafka.admin import AdminClient

_GONE = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError.GROUP_ID_NOT_FOUND,
    }
)
_MOVING = frozenset(  # the client looks for the coordinator anew with each request
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
_PAUSE_S = 0.2


def delete_topics(client: AdminClient, names: Collection[str], limit_s: float) -> None:
    """Ask to delete topics; brokers do so within moments. Raises KafkaException."""
    if names:
        answers = client.delete_topics(sorted(names), request_timeout=limit_s)
        _wait(answers, limit_s)


def delete_groups(client: AdminClient, names: Collection[str], limit_s: float) -> None:
    """Delete groups without members. Raises KafkaException.

    Only those that are listed: a search for a coordinator would create ``__consumer_offsets``.
    """
    listed = client.list_consumer_groups(request_timeout=limit_s).result(limit_s + 1)
    there = sorted({each.group_id for each in listed.valid} & set(names))
    deadline = time.monotonic() + limit_s
    while there:
        answers = client.delete_consumer_groups(there, request_timeout=limit_s)
        try:
            _wait(answers, limit_s)
        except KafkaException as error:
            if error.args[0].code() not in _MOVING or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)
        else:
            return


def _wait(answers: Mapping[str, Future[Any]], limit_s: float) -> None:
    for each in answers.values():
        try:
            each.result(limit_s + 1)
        except KafkaException as error:
            if error.args[0].code() not in _GONE:
                raise
