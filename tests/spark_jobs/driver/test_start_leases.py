"""The leases of an application's flows, before Spark starts."""

from __future__ import annotations

import pytest

from replication.errors import FlowTaken
from replication.state import FlowStatus
from spark_jobs.driver.start_leases import take_leases


class Lease:
    def __init__(self, calls: list[str], name: str, *, is_taken: bool = False) -> None:
        self.calls, self.is_taken = calls, is_taken
        self.status = FlowStatus(name, generation=len(name))

    def prepare(self) -> None:
        self.calls.append(f"prepare {self.status.flow}")

    def take(self) -> None:
        if self.is_taken:
            raise FlowTaken(f"{self.status.flow} is copied by another driver")
        self.calls.append(f"take {self.status.flow}")

    def probe_fencing(self) -> None:
        self.calls.append(f"probe {self.status.flow}")


class Lock:
    generations: dict[str, int] | None = None

    def write(self, *, generations: dict[str, int]) -> None:
        self.generations = generations


def test_all_are_prepared_before_one_is_taken_and_their_generations_are_in_the_lock():
    calls, lock = [], Lock()
    take_leases([Lease(calls, "A->B"), Lease(calls, "long->B")], lock)
    assert calls == [
        "prepare A->B", "prepare long->B",
        "take A->B", "probe A->B", "take long->B", "probe long->B",
    ]  # fmt: skip
    assert lock.generations == {"A->B": 4, "long->B": 7}


def test_where_another_driver_has_a_flow_nothing_is_in_the_lock():
    calls, lock = [], Lock()
    with pytest.raises(FlowTaken):
        take_leases([Lease(calls, "A->B", is_taken=True), Lease(calls, "long->B")], lock)
    assert (calls, lock.generations) == (["prepare A->B", "prepare long->B"], None)
