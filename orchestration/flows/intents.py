"""Writes a flow's desired state (run, pause, stop), which supervisor and driver follow."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from orchestration.flows.names import require_name
from replication.adapters.local.user import user_name
from replication.clock import now_ms
from replication.errors import ClusterRejected
from replication.model import Desired
from replication.recovery.procedure import newest, open_since, stopped_by
from replication.state import Intent, Operation, status_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestration.flows.observation.clients import ClusterClients, ObservedStore
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow


def write_intent(flow: Flow, desired: Desired, clusters: ClusterClients, by: str = "") -> None:
    """Write the desired state to the flow's target; ``by``: who wants it, if not our user.

    Raises ClusterUnavailable, and ClusterRejected if clients write to the target since a failover,
    unless the operation that is carried out wants it: the flow's records would be behind theirs.
    """
    intent = Intent(flow.name, desired, by or signature(), now_ms())
    store = clusters.store(flow)
    store.ensure_topics(flow.source)
    if desired is not Desired.STOP:
        _require_closed(flow, store, intent.by)
    store.write(status_topic(flow.source), intent)


def _require_closed(flow: Flow, store: ObservedStore, by: str) -> None:
    records = store.read(status_topic(flow.source)).values()
    last = newest((each for each in records if isinstance(each, Operation)), flow.name)
    if last is None or by.endswith(stopped_by(last)):
        return
    if since := open_since(last, flow.target):
        raise ClusterRejected(
            f"{flow.name}: {since}; if none wrote to it: isthmus {last.verb} FILE --flow "
            f"'{flow.name}' --undo"
        )


def signature() -> str:
    """Return the operator and host, to be stored with an intent or a decision."""
    return f"{user_name()}@{socket.gethostname()}"


def named_flows(config: Config, names: Sequence[str] | None) -> Iterator[Flow]:
    """Yield the flows called ``names``, or all of them. Raises ConfigError for an unknown one."""
    for name in names or [each.name for each in config.flows]:
        yield find_flow(config, name)


def find_flow(config: Config, name: str) -> Flow:
    """Return the flow called ``A->B``. Raises ConfigError naming those that exist."""
    require_name("flow", name, [each.name for each in config.flows], str(config.path))
    return config.flow(name)
