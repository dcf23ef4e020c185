"""Takes the leases of all flows before Spark starts, and says in their status why it does not."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

from replication.errors import ClusterUnavailable, ReplicationError
from replication.model import FlowState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spark_jobs.driver.flow_lease import FlowLease
    from spark_jobs.process.appdir import Lock

_RETRY_S = 2.0

log = structlog.get_logger()


def take_leases(leases: Sequence[FlowLease], lock: Lock) -> None:
    """Take all leases, in the order of flow names, so that of two drivers one gets all.

    Waits for a target that does not answer. Raises FlowTaken.
    """
    for each in leases:
        retry_while_unavailable(each.prepare)
    for each in leases:
        retry_while_unavailable(each.take)
        each.probe_fencing()
    lock.write(generations={each.status.flow: each.status.generation for each in leases})


def retry_while_unavailable(action: Callable[[], None]) -> None:
    """Carry out ``action``, again until the target answers; each reason is logged once."""
    logged = ""
    while True:
        try:
            action()
        except ClusterUnavailable as error:
            if str(error) != logged:
                log.warning("target not reachable, retrying", reason=str(error))
            logged = str(error)
            time.sleep(_RETRY_S)
        else:
            return


@contextmanager
def reasons_in_status(leases: Sequence[FlowLease]) -> Iterator[None]:
    """Write into the status of each flow why Spark does not start; raise it again."""
    try:
        yield
    except ReplicationError as error:
        for each in leases:
            each.beat(state=str(FlowState.FAILED), reason=str(error))
            each.close()
        raise
