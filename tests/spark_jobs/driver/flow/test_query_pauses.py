"""How long a flow waits after a query that failed."""

from __future__ import annotations

import pytest

from spark_jobs.driver.flow import query_pauses
from spark_jobs.driver.flow.query_pauses import QueryPauses


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    moment = [1000.0]
    monkeypatch.setattr(query_pauses.time, "monotonic", lambda: moment[0])
    return moment


def waited(pauses: QueryPauses, clock: list[float]) -> float:
    """Return after how many seconds the next query may start."""
    began = clock[0]
    while not pauses.over:
        clock[0] += 0.5
    return clock[0] - began


def fails(pauses: QueryPauses, clock: list[float], lived_s: float = 0.0) -> float:
    pauses.begin(lived_s)
    return waited(pauses, clock)


def test_a_query_that_fails_again_and_again_is_started_ever_more_rarely(clock):
    pauses = QueryPauses()
    assert pauses.over
    assert [fails(pauses, clock) for _ in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


def test_after_a_query_that_ran_for_long_the_pauses_begin_anew(clock):
    pauses = QueryPauses()
    assert [fails(pauses, clock, lived) for lived in (0, 59.9, 60, 0)] == [0, 1, 0, 1]


def test_while_there_is_no_space_it_is_looked_every_five_seconds(clock):
    pauses = QueryPauses()
    for _ in range(3):
        fails(pauses, clock)
    pauses.begin_without_space()
    assert waited(pauses, clock) == 5
    assert fails(pauses, clock) == 0, "the pauses of failures begin anew"
