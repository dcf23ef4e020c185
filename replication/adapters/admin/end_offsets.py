"""Reads the ends of partitions, also where the client's knowledge of leaders is stale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import IsolationLevel
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import OffsetSpec

from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from confluent_kafka.admin import AdminClient

    from replication.adapters.admin.checked_client import CheckedClient


def end_offsets(
    asked: CheckedClient, partitions: Iterable[TopicPartition], *, undecided: bool = False
) -> dict[TopicPartition, int]:
    """Return the readable end (last stable offset) of each partition that has a leader.

    With ``undecided`` the high watermark: records of open transactions are before it.

    Raises ClusterUnavailable, ClusterRejected. The client is only asked about those that it knows a
    leader of, see PartitionLeaders; where an answer lacks one it learns of the leaders again. A
    partition whose broker does not know yet that it leads has no leader.
    """
    asked_for, level = [*partitions], IsolationLevel.READ_COMMITTED
    if undecided:
        level = IsolationLevel.READ_UNCOMMITTED
    if not asked_for:
        return {}
    with asked.doing("reading end offsets") as client:
        led = asked.led(client, asked_for)
        found = _list_offsets(asked, client, led, level)
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
