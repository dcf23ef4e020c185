"""Reads some of Isthmus' own topics to their ends and follows them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as ClientPartition

from replication.adapters.admin.first_login import require_login
from replication.adapters.admin.kafka_errors import ReportedErrors, our_errors, quiet
from replication.adapters.auth.client_settings import RenewedClient
from replication.adapters.auth.reached_clusters import reached_by
from replication.errors import ClusterUnavailable, LoginRejected
from replication.model import TopicPartition
from replication.state import Stored, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from replication.adapters.admin.kafka_admin import KafkaAdmin
    from replication.client.cluster_ids import Verify

    Read = Callable[[bytes | None, bytes | None], Stored | None]

_PATIENCE_S = 10.0
_POLL_S = 0.05
_AT_ONCE = 1000  # records a poll


class StateTail:
    """Follows state topics: all of each first, then what is new. ``read`` decodes key and value.

    ``admin``: a client of the same cluster, which others may use too. ``verify``: as for
    KafkaAdmin. While the address leads to another cluster nothing is read, as far as any client of
    this process knows by then; after that it goes on where it was.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        admin: KafkaAdmin,
        *topics: str,
        read: Read = parse,
        verify: Verify | None = None,
    ) -> None:
        more = f" and {len(topics) - 1} more" if len(topics) > 1 else ""
        self._where = f"{topics[0]}{more} at {client['bootstrap.servers']}"
        self._client = client
        self._complaints = ReportedErrors()
        self._admin = admin
        self._verify = verify
        self._next = dict.fromkeys(topics, 0)
        self._kept: list[Stored] = []  # what was passed, and not returned yet
        self._read = read
        self._consumers = RenewedClient(client, self._connected, Consumer.close)
        self._open = True

    def _connected(self, client: Mapping[str, Any]) -> Consumer:
        require_login(self._client)
        self._complaints.forget()
        consumer = Consumer(
            {
                **quiet(client, self._complaints),
                "group.id": "isthmus-tail",  # the client demands one; nothing is ever committed
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 500,  # what comes ends the wait; a marker at the end does not
                "fetch.error.backoff.ms": 200,
            }
        )
        consumer.assign([ClientPartition(each, 0, at) for each, at in self._next.items()])
        return consumer

    def catch_up(self) -> list[Stored]:
        """Return everything up to the present ends.

        Raises WrongCluster, and ClusterUnavailable after 10 s; what it has read until then is
        returned by the next call.
        """
        found_ends = self._admin.end_offsets([TopicPartition(each, 0) for each in self._next])
        ends = {partition.topic: end for partition, end in found_ends.items()}
        if missing := min(self._next.keys() - ends, default=""):
            raise ClusterUnavailable(f"reading {self._where}: {missing} has no leader")
        deadline = time.monotonic() + _PATIENCE_S
        while any(self._next[topic] < end for topic, end in ends.items()):
            if time.monotonic() > deadline:
                message = str(self._complaints) or "no response in time"
                raise ClusterUnavailable(f"reading {self._where}: {message}")
            self._read_on(_POLL_S)
        return self._handed_over()

    def poll(self, wait_s: float = 0.0) -> list[Stored]:
        """Return what has come since the last call, oldest first; cheap when there is nothing.

        Raises WrongCluster, ClusterUnavailable, ClusterRejected; what came with the error is
        returned by the next call.
        """
        self._read_on(wait_s)
        return self._handed_over()

    def _read_on(self, wait_s: float) -> None:
        """Keep what has come: no record is read twice, so an error must not lose any."""
        if not self._open:
            return
        reached = reached_by(self._client)
        reached.require(self._verify)
        turns = reached.turns
        with self._doing():
            messages = self._consumers.get().consume(_AT_ONCE, timeout=wait_s)
            if reached.turns != turns:  # they may be another cluster's; ours are read again
                return
            if not messages and self._complaints.kind is LoginRejected:
                self._consumers.refused(LoginRejected(str(self._complaints)))
            errors = [each for message in messages if (each := self._take(message)) is not None]
            if errors:
                raise KafkaException(errors[0])

    def _handed_over(self) -> list[Stored]:
        found, self._kept = self._kept, []
        return found

    def close(self) -> None:
        self._open = False
        self._consumers.close()

    def _take(self, message: Message) -> KafkaError | None:
        """Keep a message's record; return the error that a message is instead."""
        error, offset, topic = message.error(), message.offset() or 0, message.topic() or ""
        if error is None:
            self._next[topic] = offset + 1
            record = self._read(_bytes(message.key()), _bytes(message.value()))
            self._kept += [] if record is None else [record]
            return None
        if error.code() == KafkaError._PARTITION_EOF:
            # Markers and compaction leave no record.
            self._next[topic] = max(self._next[topic], offset)
            return None
        # The client asks for the group's coordinator; we need none.
        return None if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED else error

    def _doing(self) -> AbstractContextManager[None]:
        return our_errors(f"reading {self._where}", lambda: self._complaints)


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
