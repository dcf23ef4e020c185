"""Every setting that Kafka 4.3.1's own classes declare, from a list that is checked in.

``PYTHONPATH=tests python -m support.settings.kafka_settings`` at the root of the repository renews
the list from the jars.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import DEFAULT_VERSION, kafka_jars

LIST = Path(__file__).parents[2] / "inputs" / "kafka-settings.txt"
CLIENTS = ("ConsumerConfig", "ProducerConfig", "AdminClientConfig")
_CLASSES = (
    *(f"org.apache.kafka.clients.{name}" for name in (
        "consumer.ConsumerConfig", "producer.ProducerConfig", "admin.AdminClientConfig")),
    *(f"org.apache.kafka.connect.mirror.Mirror{name}Config" for name in (
        "Client", "Maker", "Connector", "Source", "SourceTask", "Checkpoint", "CheckpointTask",
        "Heartbeat")),
    "org.apache.kafka.connect.runtime.distributed.DistributedConfig",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Declared:
    """A setting: its key, Kafka's type of it, and the simple names of the classes that have it.

    ``MirrorClientConfig.inherited``: what a cluster's clients inherit.
    """

    name: str
    kind: str
    owners: tuple[str, ...]


def declared() -> list[Declared]:
    """Return the settings of the list, in its order."""
    lines = LIST.read_text("utf-8").splitlines()
    found = [line.split() for line in lines if not line.startswith("#")]
    return [Declared(name, kind, tuple(owners)) for name, kind, *owners in found]


def names(*owners: str) -> set[str]:
    """Return the names that these classes declare."""
    return {each.name for each in declared() if set(owners) & set(each.owners)}


def list_from_jars() -> str:
    """Return the list as Kafka's jars have it."""
    jars = kafka_jars(DEFAULT_VERSION, ("connect-mirror", "connect-runtime"))
    source = Path(__file__).parents[2] / "java" / "KafkaSettings.java"
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    command = [str(java()), *quick, "-cp", f"{jars}/*", str(source), *_CLASSES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    owners: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        owner, setting = line.split(" ", 1)
        owners.setdefault(setting, []).append(owner)
    here = "tests/support/settings/kafka_settings.py"
    head = f"# Kafka {DEFAULT_VERSION}: key, type, classes; see {here}"
    lines = (f"{setting} {' '.join(owners[setting])}" for setting in sorted(owners))
    return "\n".join([head, *lines, ""])


if __name__ == "__main__":
    LIST.write_text(list_from_jars(), "utf-8")
