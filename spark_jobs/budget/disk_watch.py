"""Looks at the disks of a flow's target every minute, beside the driver's loop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import structlog

from replication.errors import ClusterRejected, ReplicationError
from spark_jobs.budget.disk_limit import DiskLimit, disk_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor, Future

    from replication.client.cluster_facts import LogDir
    from replication.settings.flow_settings import Flow

    Read = Callable[[Flow], Sequence[LogDir]]

_LOOK_S = 60.0

log = structlog.get_logger()


class DiskWatch:
    """The limit by the target's disks. ``read`` returns its log directories, in another thread.

    Without the right to see them (DESCRIBE on the cluster) there is no limit; while the target does
    not answer the last one stays.
    """

    def __init__(self, read: Read, pool: Executor) -> None:
        self.limit = DiskLimit()
        self._read, self._pool = read, pool
        self._looking: Future[Sequence[LogDir]] | None = None
        self._look_at = 0.0
        self._least = 0  # percent; of the last look

    def look(self, flow: Flow) -> None:
        """Take a finished reading, start the next one when due. Never waits."""
        before, self._least = self._least, flow.copying.target_free_percent
        if not self._least:
            self.limit = DiskLimit()
            return
        if self._least != before:
            self._look_at = 0.0
        if self._looking is None:
            if time.monotonic() >= self._look_at:
                self._looking = self._pool.submit(self._read, flow)
        elif self._looking.done():
            looking, self._looking = self._looking, None
            self._look_at = time.monotonic() + _LOOK_S
            self._take(flow, looking)

    def _take(self, flow: Flow, looking: Future[Sequence[LogDir]]) -> None:
        before = self.limit
        try:
            found = looking.result()
        except ClusterRejected:
            found = ()
        except ReplicationError:
            return
        is_limited = bool(before.bytes_per_second)
        self.limit = disk_limit(found, flow.target, self._least, is_limited=is_limited)
        if bool(self.limit.reason) is not bool(before.reason):
            reason = self.limit.reason or f"the disks of {flow.target} have space again"
            event = "byte rate limited" if self.limit.reason else "byte rate no longer limited"
            log.warning(event, flow=flow.name, reason=reason)
