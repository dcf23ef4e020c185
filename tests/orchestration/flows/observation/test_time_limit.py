"""Work on many things at once that must be ready in time."""

from __future__ import annotations

import threading

import pytest

from orchestration.flows.observation.time_limit import in_time


def test_what_is_not_ready_in_time_is_none_and_holds_up_no_other():
    never = threading.Event()
    work = {"slow": never.wait, "quick": lambda: "found"}
    assert in_time(lambda name: work[name](), ["slow", "quick"], 1.0) == [None, "found"]
    never.set()


def test_all_items_are_worked_on_at_once():
    all_there = threading.Barrier(3, timeout=10)
    assert sorted(in_time(lambda _: all_there.wait(), [1, 2, 3], 10)) == [0, 1, 2]


def test_an_error_is_raised_where_the_work_was_asked_for():
    def fails(_item: int) -> None:
        raise LookupError("on one of them")

    with pytest.raises(LookupError, match="on one of them"):
        in_time(fails, [1, 2], 10)
