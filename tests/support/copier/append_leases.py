"""Leases of units for tests of what appends under one."""

from __future__ import annotations

from replication.client.moment import Moment
from replication.copier.produce.append_lease import LEASE_S, AppendLease


def held(since_s: float = 0.0) -> AppendLease:
    """Return a lease that was renewed ``since_s`` seconds ago."""
    lease, now = AppendLease(), Moment.now()
    lease.renew(Moment(now.running - since_s, now.wall - since_s))
    return lease


def lapsed() -> AppendLease:
    return held(LEASE_S)
