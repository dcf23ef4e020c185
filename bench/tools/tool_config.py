"""Configuration and start command of each tool; both read a properties file."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.adapters.local.broker_config import LOG4J2, as_properties
from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import DEFAULT_VERSION, class_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SOURCE, TARGET = "a", "b"
MM2_MODULES = ("connect-mirror", "connect-runtime")
_FLOW = f"{SOURCE}->{TARGET}"
# What MM2's guides and its users' reports advise for throughput, as far as it helped. Tried, CPU µs
# a record of 1 KB, one run each on a busy machine, once the code was compiled: 4 tasks and batches
# of 512 KB 8.2; the parallel collector 8.2 to 10; reading uncommitted records 8.8; polls of 2,000
# with fetch.min.bytes of 100 KB 8.2; 2 tasks, batches of 1 MB and a linger of 20 ms 7.4. Dropped
# before they were warm: 1 task 12.2; polls of 500 with default batches and fetches 16.7. Taken are
# the 2 tasks and their batches, without the linger, which would cost latency where records are
# few; under a backlog batches fill up without it.
_MM2_TUNING = {
    "tasks.max": "2",
    f"{SOURCE}.consumer.fetch.max.bytes": str(50 << 20),
    f"{SOURCE}.consumer.max.partition.fetch.bytes": str(4 << 20),
    f"{SOURCE}.consumer.max.poll.records": "5000",
    f"{SOURCE}.consumer.receive.buffer.bytes": str(1 << 20),
    f"{TARGET}.producer.batch.size": str(1 << 20),
    f"{TARGET}.producer.max.request.size": str(4 << 20),
    f"{TARGET}.producer.compression.type": "lz4",
    f"{TARGET}.producer.buffer.memory": str(64 << 20),
    f"{TARGET}.producer.send.buffer.bytes": str(1 << 20),
}
_MM2_HEAP = ("-Xms256m", "-Xmx2g")  # what its own start script gives it
_MM2_ONE_BROKER = {
    "replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    f"{TARGET}.offset.storage.replication.factor": "1",
    f"{TARGET}.status.storage.replication.factor": "1",
    f"{TARGET}.config.storage.replication.factor": "1",
}
# The gate needs read_committed; MM2 would else run a second herder for heartbeats of b->a.
_MM2_BASE = {
    f"{SOURCE}.consumer.isolation.level": "read_committed",
    f"{TARGET}->{SOURCE}.emit.heartbeats.enabled": "false",
    **_MM2_ONE_BROKER,
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A copier: its name in topics, its name in print, what its file says besides, its setup."""

    name: str
    title: str
    settings: Mapping[str, str]
    about: str

    def untuned(self) -> Tool:
        """Return the same tool with its default settings."""
        return replace(self, settings=_MM2_BASE) if self.name == "mm2" else self

    def pattern(self) -> str:
        """Return the regex of the topics that are this tool's."""
        return f"bench-{self.name}-.*"


MM2 = Tool(
    "mm2",
    f"MirrorMaker {DEFAULT_VERSION}",
    {**_MM2_BASE, **_MM2_TUNING},
    "dedicated mode, at least once, heap 2 GB, 2 tasks, max.poll.records 5000, "
    "max.partition.fetch.bytes 4 MB, batch.size 1 MB, lz4; all else default",
)
ISTHMUS = Tool(
    "isthmus",
    "Isthmus",
    {"replication.factor": "1"},
    "through Spark, local[*], exactly once, read_committed; all else default",
)


def properties(tool: Tool, source: str, target: str) -> dict[str, str]:
    """Return the tool's whole configuration file."""
    return {
        "clusters": f"{SOURCE}, {TARGET}",
        f"{SOURCE}.bootstrap.servers": source,
        f"{TARGET}.bootstrap.servers": target,
        f"{_FLOW}.enabled": "true",
        f"{_FLOW}.topics": tool.pattern(),
        **tool.settings,
    }


def command(tool: Tool, place: Path, source: str, target: str) -> list[str]:
    """Write the tool's files into ``place`` and return the command that starts it."""
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"{tool.name}.properties"
    file.write_text(as_properties(properties(tool, source, target)))
    return _mm2(file) if tool.name == MM2.name else _isthmus(file)


def _mm2(file: Path) -> list[str]:
    logging = file.with_name("log4j2.properties")
    logging.write_text(LOG4J2)
    jars = class_path(DEFAULT_VERSION, MM2_MODULES)
    return [
        str(java()),
        *(*_MM2_HEAP, f"-Dlog4j2.configurationFile={logging}"),
        *("-cp", jars, "org.apache.kafka.connect.mirror.MirrorMaker", str(file)),
    ]


def _isthmus(file: Path) -> list[str]:
    state = file.with_name("state")
    return [
        *(sys.executable, "-m", "spark_jobs.replicate"),
        *("--config", str(file), "--target", TARGET, "--state-dir", str(state)),
    ]
