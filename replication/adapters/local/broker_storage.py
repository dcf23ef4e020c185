"""The formatted storage of a new broker, without starting a JVM for each.

Kafka's format tool writes two small files. Which features a cluster begins with depends on the
version of Kafka alone, so the tool runs once a version; its answer is kept beside the jars.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from replication.adapters.local.broker_config import (
    Node,
    as_properties,
    jvm_options,
    new_cluster_id,
    new_id,
    server_properties,
)
from replication.adapters.local.files import write_whole
from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import cache, kafka_jars
from replication.errors import EnvironmentProblem

_LIMIT_S = 120.0
_FEATURES = "bootstrap.checkpoint"


def is_formatted(data: Path) -> bool:
    """Say whether a broker can start on the directory ``data``."""
    return (data / "meta.properties").exists()


def format_storage(data: Path, node: int, cluster_id: str, version: str) -> None:
    """Prepare ``data`` for broker ``node`` of a new cluster.

    Raises EnvironmentProblem when Kafka's format tool fails, OSError when ``data`` cannot be
    written.
    """
    features = _features(version)
    data.mkdir(parents=True, exist_ok=True)
    (data / _FEATURES).write_bytes(features)
    identity = {
        "version": "1",
        "cluster.id": cluster_id,
        "node.id": str(node),
        "directory.id": new_id(),
    }
    write_whole(data / "meta.properties", as_properties(identity))


def _features(version: str) -> bytes:
    """Return the records of the features that a new cluster of this version has."""
    kept = cache() / f"kafka-{version}.checkpoint"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".format-", dir=kept.parent) as directory:
            run_format_tool(Path(directory), version).replace(kept)
    return kept.read_bytes()


def run_format_tool(directory: Path, version: str) -> Path:
    """Let Kafka's own tool format ``directory``; return the file with the features."""
    node = Node(1, 9092, 9093)
    file, data = directory / "server.properties", directory / "data"
    file.write_text(as_properties(server_properties(node, (node,), data, {})))
    done = _format_tool(file, new_cluster_id(), version)
    if done.returncode != 0:
        raise EnvironmentProblem(
            f"formatting storage for Kafka {version} with Kafka's own tool: {_output(done)}"
        )
    return data / _FEATURES


def _format_tool(
    file: Path, cluster_id: str, version: str, *options: str
) -> subprocess.CompletedProcess[str]:
    command = [
        *(str(java()), *jvm_options("256m", quick=True), "-cp", f"{kafka_jars(version)}/*"),
        *("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(file), *options),
    ]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise EnvironmentProblem(
            f"formatting storage for Kafka {version}: Kafka's own tool did not end within "
            f"{_LIMIT_S:.0f} s"
        ) from error


def _output(done: subprocess.CompletedProcess[str]) -> str:
    """Return the tool's own words, without stack traces and what its logging says of itself."""
    lines = (done.stdout + done.stderr).splitlines()
    return "; ".join(each for each in lines if not each.startswith(("\tat ", "SLF4J:")))
