"""Reads the ends of partitions, also where the client's knowledge of leaders is stale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import IsolationLevel, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import OffsetSpec

from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from confluent_kafka.admin import AdminClient

    from replication.adapters.admin.checked_client import CheckedClient

# The client's metadata of leaders is stale, and it does not refresh it by itself for minutes.
_STALE = frozenset({KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH})


def end_offsets(
    asked: CheckedClient, partitions: Iterable[TopicPartition], *, undecided: bool = False
) -> dict[TopicPartition, int]:
    """Return the readable end (last stable offset) of each partition that has a leader.

    With ``undecided`` the high watermark: records of open transactions are before it.

    Raises ClusterUnavailable, ClusterRejected. The client is only asked about those that it knows a
    leader of, see PartitionLeaders; where an answer lacks one it learns of the leaders again.
    """
    asked_for, level = [*partitions], IsolationLevel.READ_COMMITTED
    if undecided:
        level = IsolationLevel.READ_UNCOMMITTED
    if not asked_for:
        return {}
    with asked.doing("reading end offsets") as client:
        led = asked.led(client, asked_for)
        try:
            found = _list_offsets(asked, client, led, level)
        except KafkaException as error:
            if error.args[0].code() not in _STALE:
                raise
            found = {}
        if len(found) < len(led):
            found = _list_offsets(asked, client, asked.led(client, asked_for, anew=True), level)
        return found


def _list_offsets(
    asked: CheckedClient,
    client: AdminClient,
    partitions: Collection[TopicPartition],
    level: IsolationLevel,
) -> dict[TopicPartition, int]:
    if not partitions:
        return {}
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call] # missing in the stubs
    specs = {ClientPartition(*each): latest for each in partitions}
    answers = client.list_offsets(
        specs,
        isolation_level=level,
        request_timeout=asked.timeout_s,
    )
    return {
        TopicPartition(each.topic, each.partition): answer.offset
        for each, answer in asked.present(answers)
    }
