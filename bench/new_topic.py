"""Measures how soon a new source topic is on the target, with its configs and a record.

``python -m bench.new_topic`` makes topics with a config and a record while a driver runs, at
moments that are not in step with its looks. MirrorMaker 2 looks every ten minutes by default.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from confluent_kafka import Producer

from bench.figures import percentile
from bench.tools.brokers import running
from bench.tools.running import await_copying, copy_of, started
from bench.tools.tool_config import ISTHMUS
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.model import TopicPartition

if TYPE_CHECKING:
    from bench.tools.brokers import Brokers

_CONFIGS = {"retention.ms": "-1"}
_PAUSE_S = 4.0  # between topics, at most
_LIMIT_S = 60.0
_TICK_S = 0.02


class NewTopicTimes(NamedTuple):
    """Seconds from the moment when the source had it to that when the target has it."""

    configs: float
    record: float


def main(topics: Annotated[int, typer.Option(min=1, help="how many")] = 10) -> None:
    """Measure and print, fastest and slowest beside the median."""
    with TemporaryDirectory() as directory, running(Path(directory)) as pair:
        first = "bench-isthmus-first"
        pair.create([first], 1)
        with started(ISTHMUS, pair, Path(directory), [first]) as here:
            await_copying(here, first)
            found = [_one(pair, f"bench-isthmus-new-{each}") for each in range(topics)]
    for what, seconds in zip(NewTopicTimes._fields, zip(*found, strict=True), strict=True):
        half, span = percentile(seconds, 50), f"{min(seconds):.1f} to {max(seconds):.1f}"
        typer.echo(f"{what}: {half:.1f} s ({span}, {topics} topics)")


def _one(pair: Brokers, topic: str) -> NewTopicTimes:
    time.sleep(random.uniform(0, _PAUSE_S))
    source, target = (KafkaAdmin({"bootstrap.servers": e}) for e in (pair.source, pair.target))
    source.create_topic(topic, 1, 1, _CONFIGS)
    begin = time.monotonic()
    producer = Producer({"bootstrap.servers": pair.source, "log_level": 2})
    producer.produce(topic, b"first", partition=0)
    producer.flush(10)
    copy, made = copy_of(topic), 0.0
    while time.monotonic() < begin + _LIMIT_S:
        if not made and target.topic_configs([copy]).get(copy) == _CONFIGS:
            made = time.monotonic()
        if made and target.end_offsets([TopicPartition(copy, 0)]).get(TopicPartition(copy, 0)):
            return NewTopicTimes(made - begin, time.monotonic() - begin)
        time.sleep(_TICK_S)
    raise typer.Exit(code=1)


if __name__ == "__main__":
    typer.run(main)
