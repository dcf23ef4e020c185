"""How many partitions the topics have that a transform writes to."""

from __future__ import annotations

import pytest

from replication.errors import ClusterUnavailable
from spark_jobs.transform.run import target_partitions
from spark_jobs.transform.run.target_partitions import TargetPartitions


class Target:
    """A target that counts how often it is asked."""

    def __init__(self, **topics: int) -> None:
        self.topics, self.asked = topics, 0

    def listed(self) -> dict[str, int]:
        self.asked += 1
        return dict(self.topics)


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    moment = [1000.0]
    monkeypatch.setattr(target_partitions.time, "monotonic", lambda: moment[0])
    return moment


def test_a_target_is_asked_every_ten_seconds_and_for_a_topic_that_is_new(clock):
    target = Target(orders=2, users=1)
    counts = TargetPartitions(target.listed, ())
    assert counts.of({"orders"}) == {"orders": 2}
    target.topics.update(orders=5, stock=3)
    clock[0] += 10
    assert (counts.of({"orders"}), target.asked) == ({"orders": 2}, 1)
    assert (counts.of({"orders", "stock"}), target.asked) == ({"orders": 5, "stock": 3}, 2)
    target.topics["orders"] = 6
    clock[0] += 10.1
    assert (counts.of({"orders"}), target.asked) == ({"orders": 6}, 3)


@pytest.mark.usefixtures("clock")
def test_a_topic_that_is_missing_is_waited_for_unless_records_are_only_routed_there():
    counts = TargetPartitions(Target(orders=2, big=4).listed, ("big", "odd"))
    assert counts.of({"orders"}) == {"orders": 2, "big": 4}
    with pytest.raises(ClusterUnavailable, match="the target does not list stock yet"):
        counts.of({"orders", "stock"})
