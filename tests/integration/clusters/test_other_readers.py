"""Other programs read the records that we append: librdkafka and Kafka's own tools."""

from __future__ import annotations

import random
import re
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.flows.copier_flows import Flow
from support.records import kafka_records

from replication.adapters.local.broker_config import LOG4J2
from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import DEFAULT_VERSION, class_path
from replication.state import Anchor, anchors_topic

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")  # a partition each
LIMIT = 20_000  # bytes of a batch on the target: larger ones are split
BEGIN = 5  # source offset at which the copies begin: within the first batch
# Configs on the source, and on the target. Where batches are split, none are merged.
TOPICS = {
    "split": ({}, {"max.message.bytes": str(LIMIT)}),
    "merged": ({}, {}),
    "restamped": ({"message.timestamp.type": "LogAppendTime"}, {}),
}
BATCH = re.compile(
    r"^baseOffset: \d+ lastOffset: \d+ count: (?P<count>\d+) .* size: (?P<size>\d+) .*"
    r"compresscodec: (?P<codec>\w+) .*isvalid: (?P<valid>\w+)",
    re.MULTILINE,
)


def records(partition: int) -> list[tuple]:
    """Return records that can be told apart when they are printed; the last hundred are short."""
    chance = random.Random(partition)
    sizes = [chance.choice((4, 40, 400)) if number < 300 else 4 for number in range(400)]
    return [
        (
            partition,
            b"key-%d" % number if number % 7 else None,
            None if number % 11 == 3 else chance.randbytes(size).hex().encode(),
            [("n", b"%d" % number), ("n", b"again")] if number % 3 else None,
            1_700_000_000_000 + number,
        )
        for number, size in enumerate(sizes)
    ]


def fill(flow: Flow, topic: str) -> None:
    """Write large batches first, then many small ones, which will be merged."""
    for partition, codec in enumerate(CODECS):
        listed = records(partition)
        config = {"compression.type": codec}
        kafka_records.produce(flow.here, topic, listed[:300], config, whole=True)
        portions = [listed[start : start + 5] for start in range(300, 400, 5)]
        kafka_records.produce_in_turn(flow.here, topic, portions, config)


def begin_within_a_batch(flow: Flow, topic: str) -> None:
    anchors = [
        Anchor(flow.name, topic, partition, topic, source=BEGIN, target=0, clean=True)
        for partition in range(len(CODECS))
    ]
    flow.store.write(anchors_topic(flow.alias), *anchors)


@pytest.fixture(scope="module")
def flow(kafka_cluster, source_cluster) -> Flow:
    """A flow that has copied all shapes of batches: passed, cut, re-encoded, split, merged."""
    target = kafka_cluster("read-by-others")
    made = Flow(source_cluster, target, dict.fromkeys(TOPICS, len(CODECS)))
    for topic, (ours, theirs) in TOPICS.items():
        kafka_records.create_topic(made.here, topic, len(CODECS), ours)
        kafka_records.create_topic(made.to, topic, len(CODECS), theirs)
        fill(made, topic)
        begin_within_a_batch(made, topic)
    plans = made.spec().partitions
    report = made.copy_all(partitions=tuple(replace(each, created_later=True) for each in plans))
    assert (report.outcome, report.not_running) == ("clean", 0)
    return made


def required(flow: Flow, topic: str) -> list[kafka_records.Rec]:
    return [each for each in kafka_records.consume_all(flow.here, topic) if each.offset >= BEGIN]


def test_librdkafka_reads_every_batch(flow):
    for topic in flow.topics:
        found = kafka_records.consume_all(flow.to, topic)
        assert [each.content[:5] for each in found] == [
            each.content[:5] for each in required(flow, topic)
        ]


def test_kafkas_console_consumer_reads_every_batch(flow, tmp_path):
    for topic in flow.topics:
        expected = [line(each) for each in required(flow, topic)]
        shown = [f"print.{each}=true" for each in ("partition", "key", "headers", "timestamp")]
        printed = run(
            tmp_path,
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            *("--bootstrap-server", flow.to, "--topic", topic, "--from-beginning"),
            *("--max-messages", str(len(expected)), "--timeout-ms", "240000"),
            *(part for each in shown for part in ("--formatter-property", each)),
        ).splitlines()
        lines = [each for each in printed if each.startswith("CreateTime:")]
        assert by_partition(lines) == by_partition(expected)


def line(record: kafka_records.Rec) -> str:
    """Return what the console consumer prints of a record."""
    headers = ",".join(f"{name}:{(value or b'null').decode()}" for name, value in record.headers)
    parts = (record.key, record.value)
    key, value = ("null" if part is None else part.decode() for part in parts)
    stamp = f"CreateTime:{record.timestamp}"
    return f"{stamp}\tPartition:{record.partition}\t{headers or 'NO_HEADERS'}\t{key}\t{value}"


def by_partition(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines of each partition in order: partitions come as they please."""
    return {
        name: [each for each in lines if f"\t{name}\t" in each]
        for name in (f"Partition:{number}" for number in range(len(CODECS)))
    }


@pytest.mark.parametrize("topic", TOPICS)
def test_kafkas_own_check_finds_no_fault_in_the_segments(flow, tmp_path, topic):
    data = flow.target.home / "broker-1" / "data"
    files = [str(each) for each in data.glob(f"{topic}-*/*.log")]
    assert len(files) == len(CODECS)
    reported = run(
        tmp_path,
        "org.apache.kafka.tools.DumpLogSegments",
        *("--deep-iteration", "--files", ",".join(files)),
    )
    assert not re.search("corrupt|invalid|mismatch|error|exception|Found", reported, re.IGNORECASE)
    batches = [each.groupdict() for each in BATCH.finditer(reported)]
    assert {each["valid"] for each in batches} == {"true"}
    assert {each["codec"].lower() for each in batches} == set(CODECS)
    assert sum(int(each["count"]) for each in batches) == 5 * (400 - BEGIN)
    largest = max(int(each["size"]) for each in batches)
    unmerged = sum(each["count"] == "5" for each in batches)
    assert largest <= LIMIT if topic == "split" else unmerged < 5 * 10, "not the shapes it is for"


def run(place: Path, program: str, *arguments: str) -> str:
    """Run one of Kafka's tools; return what it printed, errors too."""
    logging = place / "log4j2.properties"
    logging.write_text(LOG4J2)
    done = subprocess.run(
        [
            str(java()),
            *("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            f"-Dlog4j2.configurationFile={logging}",
            *("-cp", class_path(DEFAULT_VERSION, ["kafka-tools"]), program, *arguments),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr
