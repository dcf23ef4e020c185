"""Which drivers still run with older settings than the file has now, to tell who reads it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from replication.durations import format_moment
from replication.errors import ReplicationError
from replication.state import FlowStatus, status_topic
from replication.supervision.health import BEAT_STALE_MS
from replication.supervision.settings_check import is_older

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.client.admin import Clients
    from replication.settings.flow_settings import Flow


def older_settings(flows: Iterable[Flow], fingerprint: str, clients: Clients) -> tuple[str, ...]:
    """Return a line for each flow whose driver lives and follows other settings.

    ``fingerprint``: of the file as it is now. A cluster that does not answer has no line.
    """
    return tuple(filter(None, (_line(each, fingerprint, clients) for each in flows)))


def _line(flow: Flow, fingerprint: str, clients: Clients) -> str:
    try:
        records = clients.store(flow).read(status_topic(flow.source))
    except ReplicationError:
        return ""
    status = records.get(FlowStatus(flow.name).key())
    if not isinstance(status, FlowStatus) or time.time() * 1000 - status.beat_ms > BEAT_STALE_MS:
        return ""
    if not is_older(fingerprint, status):
        return ""
    why = f": {status.config_problem}" if status.config_problem else "; it follows within seconds"
    at = format_moment(status.config_read_ms)
    return f"{flow.name}: its driver uses the file as read at {at} UTC, not the present one{why}"
