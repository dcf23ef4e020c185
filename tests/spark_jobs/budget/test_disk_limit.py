"""How a flow slows down while a disk of its target fills."""

from __future__ import annotations

import pytest

from replication.client.cluster_facts import LogDir
from spark_jobs.budget.disk_limit import DiskLimit, disk_limit

GB = 10**9
NONE = DiskLimit()


def a_dir(broker: int, free: int | None, total: int | None = 1000 * GB) -> LogDir:
    return LogDir(broker, f"/data-{broker}", total, free)


def limit(*found: LogDir, least: int = 5, is_limited: bool = False) -> DiskLimit:
    return disk_limit(found, "B", least, is_limited=is_limited)


def test_the_fullest_disk_limits_a_flow_so_that_it_lasts_an_hour():
    rate, reason = limit(a_dir(1, 400 * GB), a_dir(2, 36 * GB))
    assert rate == 10_000_000
    assert reason == (
        "the disk of B's broker 2 fills: 3.6% of /data-2 is free, less than "
        "copy.target.free.percent = 5; the flow copies at most 10,000,000 bytes/s until there is "
        "space again"
    )


def test_it_is_the_share_that_counts_and_not_the_bytes():
    assert limit(a_dir(1, 60 * GB), a_dir(2, 6 * GB, 100 * GB)) == NONE
    assert "broker 2" in limit(a_dir(1, 50 * GB), a_dir(2, 4 * GB, 100 * GB)).reason


def test_a_full_disk_still_lets_the_flow_find_out_when_it_is_not():
    assert limit(a_dir(1, 0)).bytes_per_second == 64 << 10


def test_a_limit_ends_when_there_is_clearly_space_again():
    assert limit(a_dir(1, 51 * GB)) == NONE
    assert limit(a_dir(1, 51 * GB), is_limited=True).bytes_per_second
    assert limit(a_dir(1, 60 * GB), is_limited=True) == NONE


@pytest.mark.parametrize("found", [[], [a_dir(1, None, None)], [a_dir(1, 0, 0)]])
def test_a_broker_that_does_not_tell_limits_nothing(found):
    assert limit(*found) == NONE


def test_who_does_not_want_it_is_not_limited():
    assert limit(a_dir(1, 0), least=0) == NONE
