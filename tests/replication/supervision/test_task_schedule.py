from datetime import timedelta

import pytest

from replication.supervision.task_schedule import cron, is_for_driver


@pytest.mark.parametrize(
    ("seconds", "line"),
    [
        (1, "* * * * *"),
        (60, "* * * * *"),
        (119, "* * * * *"),
        (300, "*/5 * * * *"),
        (600, "*/10 * * * *"),
        (45 * 60, "*/30 * * * *"),
        (3600, "0 * * * *"),
        (5 * 3600, "0 */4 * * *"),
        (86400, "0 0 * * *"),
        (7 * 86400, "0 0 */7 * *"),
        (2**31, "0 0 */28 * *"),
    ],
)
def test_an_interval_becomes_the_nearest_even_cron_line_that_is_not_longer(seconds, line):
    assert cron(timedelta(seconds=seconds)) == line


def test_what_comes_more_often_than_once_a_minute_is_the_drivers():
    assert is_for_driver(timedelta(seconds=59))
    assert not is_for_driver(timedelta(seconds=60))
