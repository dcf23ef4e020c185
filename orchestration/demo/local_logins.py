"""How Isthmus logs in at clusters on this machine, and what it may do there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.flows.kafka_clients import read_config
from replication.adapters.local_secured.secret_file import PROVIDERS
from replication.adapters.local_secured.secured_cluster import USER, SecuredCluster
from replication.recovery.drill_acls import needed_with_drills

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from replication.adapters.local.local_kafka import LocalCluster


def connection_lines(clusters: Sequence[LocalCluster]) -> list[str]:
    """Return the lines of a configuration with which Isthmus connects."""
    lines = [
        f"{each.name}.{key} = {value}\n" for each in clusters for key, value in each.login().items()
    ]
    is_secured = any(isinstance(each, SecuredCluster) for each in clusters)
    return [f"{key} = {value}\n" for key, value in PROVIDERS.items() if is_secured] + lines


def grant_needed(clusters: Iterable[LocalCluster], file: Path, user: str = USER) -> None:
    """Let Isthmus' user do what the flows of ``file`` and drills of them need, and no more.

    Raises EnvironmentProblem, ClusterUnavailable.
    """
    needs = needed_with_drills(read_config(file), drills=True)
    for each in clusters:
        if isinstance(each, SecuredCluster):
            own = [need for need in needs if need.cluster == each.name]
            each.allow_only(
                ((need.resource, what) for need in own for what in need.operations), user
            )
