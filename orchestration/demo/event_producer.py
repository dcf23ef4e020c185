"""Produces a web shop's events for the demo: ``python -m orchestration.demo.event_producer``."""

from __future__ import annotations

import random
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - Typer reads it
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer

from orchestration.demo.shop_events import KINDS, ShopEvent, ShopEvents
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.record_writer import RecordToProduce, RecordWriter
from replication.config.file.properties import decode, parse_properties
from replication.errors import ClusterRejected, ReplicationError
from replication.planning.apply import apply_actions
from replication.planning.topic_plan import CreateTopic, DesiredTopic, TargetTopics, plan_topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_TICK_S = 0.05
_FLUSH_S = 5.0
_LOAD_FLUSH_S = 120.0
_ORIGIN_HEADER = "born"
_SIZES = (0, 20, 200, 200, 500, 1_000, 2_000, 8_000)
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Load:
    """Records of mixed sizes, spread evenly over topics and partitions.

    No two of a load are equal, and equal seeds yield equal records. Each holds ``origin``, the
    cluster that it is written to; see ``origin_of``.
    """

    topics: Sequence[str]
    partitions: int
    records: int
    seed: int
    origin: str

    def events(self) -> Iterator[tuple[ShopEvent, int]]:
        """Yield the records in order, each with its partition."""
        chance = random.Random(self.seed)  # noqa: S311 - no secret, repeatable on purpose
        values = [_text(chance, chance.choice(_SIZES)) for _ in range(500)]
        origin = (_ORIGIN_HEADER, self.origin.encode())
        for number in range(self.records):
            text = b"%d" % number
            key = b"%s/%s" % (self.origin.encode(), text) if number % 10 else None
            headers = [("number", text)] if key is None or number % 3 == 0 else []
            headers += [origin] if key is None else []
            topic, rest = number % len(self.topics), number // len(self.topics)
            yield (
                ShopEvent(self.topics[topic], key, chance.choice(values), tuple(headers)),
                rest % self.partitions,
            )


def origin_of(key: bytes | None, headers: Iterable[tuple[str, bytes | None]]) -> str:
    """Return the cluster that a record of a load was first written to."""
    if key is not None:
        return key.partition(b"/")[0].decode(errors="replace")
    return (dict(headers).get(_ORIGIN_HEADER) or b"").decode(errors="replace")


def write(client: Mapping[str, Any], load: Load) -> None:
    """Write exactly the records of ``load``; return when all are acked. Its topics must exist."""
    writers = {
        topic: RecordWriter(client, compression)
        for compression, topic in zip(_compressions(), load.topics, strict=False)
    }
    for event, partition in load.events():
        _send(writers[event.topic], event, partition)
    for writer in writers.values():
        writer.flush(_LOAD_FLUSH_S)


class EventProducer:
    """Produces the shop's events to a cluster at a steady rate."""

    def __init__(self, client: Mapping[str, Any], rate: float, seed: int) -> None:
        self._events, self._rate = ShopEvents(seed), rate
        self._writers = {
            topic: RecordWriter(client, kind.compression) for topic, kind in KINDS.items()
        }
        self.sent = 0

    def run(self, ending: threading.Event) -> None:
        """Send until ``ending`` is set, then wait for the last acks."""
        began = time.monotonic()
        while not ending.wait(_TICK_S):
            due = int((time.monotonic() - began) * self._rate)
            # After a pause (no broker, a suspended laptop) the missed records are not produced.
            began += max(0.0, (due - self.sent) / self._rate - 1.0)
            for _ in range(min(due - self.sent, int(self._rate) + 1)):
                if not self._send_one():
                    break
            for writer in self._writers.values():
                writer.wait()
        for writer in self._writers.values():
            writer.flush(_FLUSH_S)

    def _send_one(self) -> bool:
        event = self._events.next_event(time.time_ns() // 1_000_000)
        record = RecordToProduce(event.key, event.value, event.headers)
        sent = self._writers[event.topic].send(event.topic, record)
        self.sent += sent
        return sent


def create_topics(client: Mapping[str, Any], topics: Iterable[str], partitions: int) -> None:
    """Create the topics that are missing, with as many replicas as there are brokers, up to 3."""
    admin = KafkaAdmin(client)
    brokers = admin.broker_count()
    desired = [DesiredTopic(topic, partitions, min(3, brokers)) for topic in topics]
    missing = [
        action
        for action in plan_topics(desired, TargetTopics(admin.topics(), brokers))
        if isinstance(action, CreateTopic)
    ]
    for outcome in apply_actions(missing, admin):
        if outcome.problem is not None:
            raise ClusterRejected(outcome.problem)


def main(
    bootstrap: Annotated[
        str,
        typer.Option(
            "--bootstrap",
            "--bootstrap-servers",
            help="Bootstrap servers of the cluster to write to.",
        ),
    ],
    rate: Annotated[float, typer.Option(min=1, help="Records per second.")] = 500,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of each new topic.")] = 4,
    seed: Annotated[
        int, typer.Option(help="Seed of the events; equal seeds yield equal events.")
    ] = 1,
    command_config: Annotated[
        Path | None, typer.Option(help="File with the Java properties of a client.")
    ] = None,
) -> None:
    """Write the orders, payments, customers and clicks of a web shop until stopped."""
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    try:
        login = {} if command_config is None else _java_properties(command_config)
        client = to_librdkafka({**login, "bootstrap.servers": bootstrap})
        create_topics(client, KINDS, partitions)
        traffic = EventProducer(client, rate, seed)
        _log.info("producer started", cluster=bootstrap, rate=rate, topics=list(KINDS))
        traffic.run(ending)
    except ReplicationError as error:
        _log.error("producer failed", problem=str(error))
        sys.exit(1)
    _log.info("producer stopped", records=traffic.sent)


def _java_properties(file: Path) -> dict[str, str]:
    return {each.key: each.value for each in parse_properties(decode(file.read_bytes()))}


def _send(writer: RecordWriter, event: ShopEvent, partition: int) -> None:
    record = RecordToProduce(event.key, event.value, event.headers, partition)
    while not writer.send(event.topic, record):
        writer.wait(0.1)


def _compressions() -> Iterable[str]:
    while True:
        yield from ("lz4", "zstd", "snappy", "gzip", "none")


def _text(chance: random.Random, size: int) -> bytes:
    """Return text that compresses about as well as JSON does."""
    words = [f"{chance.getrandbits(40):x}" for _ in range(50)]
    text = " ".join(chance.choices(words, k=size // 8 + 1))
    return text[:size].encode()


if __name__ == "__main__":
    typer.run(main)
