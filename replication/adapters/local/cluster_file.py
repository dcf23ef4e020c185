"""Keeps the ids of a flow's clusters in a file of the driver's state directory.

The target's own record of them is not on a cluster that the target's address leads to by mistake.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from replication.adapters.local.files import write_whole
from replication.state import ClusterIds

if TYPE_CHECKING:
    from pathlib import Path


def cluster_file(application: Path, flow: str) -> Path:
    """Return the file of a flow in the directory of its application."""
    return application / "flows" / quote(flow, safe="") / "clusters.json"


def read_ids(file: Path, flow: str) -> ClusterIds:
    """Return what is kept; empty ids where the file is missing or damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(file.read_text())
        return ClusterIds(
            flow, str(found["source"]), str(found["target"]), at_ms=int(found["at_ms"])
        )
    return ClusterIds(flow)


def write_ids(file: Path, ids: ClusterIds) -> None:
    """Replace what is kept. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = {"source": ids.source, "target": ids.target, "at_ms": ids.at_ms}
    write_whole(file, json.dumps(kept))
