"""How late a copy is: the age of the oldest record that is not copied yet."""

from __future__ import annotations

import pytest

from replication.copier.partition.copy_counters import CopyCounters


@pytest.mark.parametrize(
    ("caught_up_ms", "last_timestamp", "behind_ms"),
    [
        (700, 400, 300),  # all was copied at 700: the oldest one came later
        (400, 700, 300),  # the last record copied is from 700: those behind it came later
        (0, 0, 0),  # nothing is known
        (0, 9000, 0),  # a timestamp from the future says nothing of the delay
        (1200, 0, 0),  # a clock that was set back
    ],
)
def test_the_delay_counts_from_the_last_record_or_from_when_all_was_copied(
    caught_up_ms, last_timestamp, behind_ms
):
    counters = CopyCounters(caught_up_ms=caught_up_ms, last_timestamp=last_timestamp)
    assert counters.behind_ms(1000) == behind_ms
