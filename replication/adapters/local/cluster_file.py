"""Keeps the ids of a flow's clusters in a file of the driver's state directory.

The target's own record of them is not on a cluster that the target's address leads to by mistake.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from replication.adapters.local.files import make_private, write_whole
from replication.state import ClusterIds

if TYPE_CHECKING:
    from pathlib import Path

    from replication.settings.flow_settings import Flow


def cluster_file(application: Path, flow: str) -> Path:
    """Return the file of a flow in the directory of its application."""
    return application / "flows" / quote(flow, safe="") / "clusters.json"


def read_ids(file: Path, flow: Flow) -> ClusterIds:
    """Return what is kept of the clusters of ``flow``.

    Empty ids where the file is missing or damaged, or where the operator has given the target other
    bootstrap.servers since: then another cluster is meant.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(file.read_text())
        if found["servers"] == _servers(flow):
            source, target = str(found["source"]), str(found["target"])
            return ClusterIds(flow.name, source, target, at_ms=int(found["at_ms"]))
    return ClusterIds(flow.name)


def write_ids(file: Path, flow: Flow, ids: ClusterIds) -> None:
    """Replace what is kept. Raises OSError."""
    make_private(file.parent)
    kept = {"source": ids.source, "target": ids.target, "at_ms": ids.at_ms}
    write_whole(file, json.dumps({"servers": _servers(flow), **kept}))


def _servers(flow: Flow) -> list[str]:
    listed = flow.clients.target_admin.get("bootstrap.servers", "")
    return sorted(each.strip() for each in listed.split(","))
