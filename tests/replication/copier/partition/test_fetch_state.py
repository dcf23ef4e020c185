"""What is known of a partition's log at its source."""

from __future__ import annotations

import pytest

from replication.copier.partition.fetch_state import SourceLog


@pytest.mark.parametrize(
    ("unread", "known"), [(None, False), (4, False), (5, True), (8, True), (9, False)]
)
def test_a_batch_that_could_not_be_read_counts_between_the_position_and_what_came_next(
    unread, known
):
    assert SourceLog(unread=unread).has_unread(5, 9) is known


def test_a_source_is_silent_since_its_first_request_without_an_answer():
    log = SourceLog()
    assert log.silent_ms(5_000) == 0
    log.is_silent(1_000)
    log.is_silent(3_000)
    assert log.silent_ms(5_000) == 4_000
    log.answered(7)
    assert (log.end, log.silent_ms(5_000)) == (7, 0)
