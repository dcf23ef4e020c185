"""Decides how many bytes a second a flow may copy while a disk of its target fills. Pure.

A broker whose disk is full takes the log directory offline, with all partitions in it. So a flow
slows down before: it leaves time to add space, and what others write its room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replication.client.cluster_facts import LogDir

_LASTS_S = 3600  # what is free lasts so long, if every byte of the flow comes to this disk
_LEAST = 64 << 10  # bytes a second
_MORE = 1.2  # times as much must be free again before the limit ends


class DiskLimit(NamedTuple):
    """``bytes_per_second`` is of the whole flow; 0: no limit, and no reason."""

    bytes_per_second: int = 0
    reason: str = ""


def disk_limit(
    found: Iterable[LogDir], target: str, least_percent: int, *, is_limited: bool
) -> DiskLimit:
    """Return the limit by the fullest log directory of ``target``.

    ``least_percent`` of it should be free, 0: it does not matter. ``is_limited``: there is a limit
    now. Brokers before 3.3 do not say how full their disks are.
    """
    known = [
        (each.usable_bytes / each.total_bytes, each.usable_bytes, each)
        for each in found
        if each.usable_bytes is not None and each.total_bytes
    ]
    if not known or not least_percent:
        return DiskLimit()
    share, free, fullest = min(known, key=lambda each: each[0])
    if share * 100 >= least_percent * (_MORE if is_limited else 1):
        return DiskLimit()
    rate = max(_LEAST, free // _LASTS_S)
    return DiskLimit(
        rate,
        f"the disk of {target}'s broker {fullest.broker} fills: {share:.1%} of {fullest.path} is "
        f"free, less than copy.target.free.percent = {least_percent}; the flow copies at most "
        f"{rate:,} bytes/s until there is space again",
    )
