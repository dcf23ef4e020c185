"""The real MirrorMaker 2, in its dedicated mode, for tests."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from replication.adapters.local.broker_config import LOG4J2, as_properties
from replication.adapters.local.java import java
from replication.adapters.local.kafka_jars import DEFAULT_VERSION, class_path, kafka_jars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CLEAN_END_S = 60
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # they start sooner, and run slower
# For one broker on either side, and a worker whose death is noticed as soon as a broker allows;
# its tasks are not kept for it.
SETTINGS = """
offset-syncs.topic.replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
refresh.topics.interval.seconds = 1
B.offset.storage.replication.factor = 1
B.status.storage.replication.factor = 1
B.config.storage.replication.factor = 1
B.session.timeout.ms = 6000
B.heartbeat.interval.ms = 1000
B.scheduled.rebalance.max.delay.ms = 0
B->SOURCE.emit.heartbeats.enabled = false
"""


def start_mirrormaker(config: Path) -> subprocess.Popen[bytes]:
    """Start it with a file that Isthmus reads as well; its log lies beside."""
    logging = config.with_name("log4j2.properties")
    logging.write_text(LOG4J2)
    jars = class_path(DEFAULT_VERSION, ("connect-mirror", "connect-runtime"))
    command = [
        str(java()),
        *("-Xmx512m", *_QUICK),
        f"-Dlog4j2.configurationFile={logging}",
        *("-cp", jars, "org.apache.kafka.connect.mirror.MirrorMaker", str(config)),
    ]
    with config.with_name("mirrormaker.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


@contextmanager
def mirroring(topic: str, servers: Mapping[str, str], alias: str, folder: Path) -> Iterator[None]:
    """Copy one topic under its own name from the first connection to B while the block runs."""
    source, target = servers.values()
    file = folder / "mirrormaker.properties"
    file.write_text(
        f"clusters = {alias}, B\n"
        f"{alias}.bootstrap.servers = {source}\nB.bootstrap.servers = {target}\n"
        f"{alias}->B.enabled = true\n{alias}->B.topics = {topic}\n"
        f"{alias}->B.replication.policy.class = "
        "org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
        "replication.factor = 1\n" + SETTINGS.replace("SOURCE", alias)
    )
    process = start_mirrormaker(file)
    try:
        yield
    finally:
        stop_mirrormaker(process)


def stop_mirrormaker(process: subprocess.Popen[bytes]) -> None:
    """End it cleanly: it stores its positions.

    Its shutdown hook was once seen not to end within 120 s. What is not stored after
    ``_CLEAN_END_S`` is not going to be: it is killed, and tests look at the positions.
    """
    process.terminate()
    try:
        process.wait(_CLEAN_END_S)
    except subprocess.TimeoutExpired:
        kill_mirrormaker(process)


def kill_mirrormaker(process: subprocess.Popen[bytes]) -> None:
    """End it as a power cut would: it stores nothing."""
    process.kill()
    process.wait(60)


def ask_mirror_client(bootstrap: str, alias: str, group: str) -> dict[str, str]:
    """Return what Kafka's own ``MirrorClient`` and ``RemoteClusterUtils`` say of a target."""
    jars = kafka_jars(DEFAULT_VERSION, ("connect-mirror", "connect-runtime"))
    probe = Path(__file__).parents[2] / "java" / "MirrorProbe.java"
    command = [str(java()), *_QUICK, "-cp", f"{jars}/*", str(probe), bootstrap, alias, group]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(line.partition("=")[::2] for line in done.stdout.splitlines() if "=" in line)


def start_checkpoint_connector(
    folder: Path, servers: tuple[str, str], alias: str, more: dict[str, str]
) -> subprocess.Popen[bytes]:
    """Start MirrorMaker 2's checkpoint connector alone, in a Connect worker of its own."""
    source, target = servers
    worker = {
        "bootstrap.servers": target,
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "offset.storage.file.filename": str(folder / "connect.offsets"),
        "listeners": "http://127.0.0.1:0",
        "plugin.discovery": "service_load",
    }
    connector = {
        "name": "checkpoints",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
        "source.cluster.alias": alias,
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": source,
        "target.cluster.bootstrap.servers": target,
        "emit.checkpoints.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
        "checkpoints.topic.replication.factor": "1",
        **more,
    }
    files = [folder / "worker.properties", folder / "connector.properties"]
    for file, settings in zip(files, (worker, connector), strict=True):
        file.write_text(as_properties(settings))
    jars = class_path(DEFAULT_VERSION, ("connect-mirror", "connect-runtime"))
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    command = [str(java()), "-Xmx512m", *_QUICK, "-cp", jars, main, *map(str, files)]
    with (folder / "connect.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
