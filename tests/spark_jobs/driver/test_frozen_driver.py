"""A driver that was frozen reads whether it still has the lease before it writes its status."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from replication.client.moment import Moment
from replication.errors import ClusterUnavailable, FlowTaken
from replication.model import FlowState
from replication.settings.flow_settings import Flow, FlowClients
from replication.supervision.driver_lease import WATCH_MS
from spark_jobs.driver.flow_lease import FlowLease

RIGHT = SimpleNamespace(target_problem="", require_target=lambda: None)  # the right clusters


class Topic:
    """The status topic: ``came`` holds what other drivers wrote and nobody has read yet."""

    def __init__(self) -> None:
        self.posted: list = []
        self.came: list = []
        self.looks = 0
        self.down = False

    def post(self, _topic, record) -> None:
        self.posted.append(record)

    def catch_up(self) -> list:
        self.looks += 1
        if self.down:
            raise ClusterUnavailable("no")
        found, self.came = self.came, []
        return found


@pytest.fixture
def driver(monkeypatch):
    """Return a lease that has beaten once, its topic, and a function that lets time pass."""
    topic = Topic()
    clients = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})
    lease = FlowLease(Flow(source="A", target="B", clients=clients), topic, RIGHT)
    lease._tail = topic
    lease.beat(state=FlowState.RUNNING)
    then = Moment.now()

    def freeze(seconds: float) -> None:
        later = Moment(then.running + seconds, then.wall + seconds)
        monkeypatch.setattr(Moment, "now", classmethod(lambda _: later))
        lease._beat_at = 0.0

    return lease, topic, freeze


def test_a_driver_that_runs_beats_without_a_look(driver):
    lease, topic, freeze = driver
    freeze(1.0)
    lease.beat(state=FlowState.RUNNING)
    assert (len(topic.posted), topic.looks) == (2, 0)


def test_a_driver_that_was_frozen_while_another_took_over_writes_nothing(driver):
    """BL-218."""
    lease, topic, freeze = driver
    topic.came = [replace(lease.status, generation=lease.status.generation + 1, instance="other")]
    freeze(WATCH_MS / 1000 + 1)
    with pytest.raises(FlowTaken, match="is copied by another driver"):
        lease.beat(state=FlowState.RUNNING)
    assert len(topic.posted) == 1


def test_a_driver_that_was_frozen_goes_on_once_it_knows_that_nobody_took_over(driver):
    lease, topic, freeze = driver
    freeze(60.0)
    topic.down = True
    lease.beat(state=FlowState.RUNNING)
    assert len(topic.posted) == 1
    topic.down = False
    lease.beat(state=FlowState.RUNNING)
    lease._beat_at = 0.0
    lease.beat(state=FlowState.RUNNING)
    assert (len(topic.posted), topic.looks) == (3, 2)
