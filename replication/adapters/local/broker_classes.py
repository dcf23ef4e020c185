"""The archive of a local broker's classes: ``python -m replication.adapters.local.broker_classes``.

`make setup` writes it; a broker that does not find it starts all the same, in twice the time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from replication.adapters.local.kafka_jars import DEFAULT_VERSION
from replication.adapters.local.local_kafka import LocalCluster, broker_archive
from replication.errors import EnvironmentProblem

_GRACE_S = 120.0  # it writes the archive when it ends


def write_archive(version: str = DEFAULT_VERSION) -> None:
    """Write the archive unless it is there. Raises EnvironmentProblem."""
    archive = broker_archive(version)
    if archive is None or archive.exists():
        return
    with tempfile.TemporaryDirectory(prefix=".classes-", dir=archive.parent) as directory:
        part = Path(directory) / archive.name
        options = {"JAVA_TOOL_OPTIONS": f"-XX:ArchiveClassesAtExit={part}"}
        cluster = LocalCluster("classes", Path(directory), version=version, environment=options)
        try:
            cluster.start()
            cluster.stop(_GRACE_S)
        finally:
            cluster.destroy()
        if part.exists():
            part.replace(archive)


if __name__ == "__main__":
    try:
        write_archive()
    except EnvironmentProblem as error:
        sys.stderr.write(f"no class archive for local brokers, they start slower: {error}\n")
