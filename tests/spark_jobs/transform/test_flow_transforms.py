"""The runs of a flow's transforms, when the flow is stopped and resumed while one is at work."""

from __future__ import annotations

import threading

import pytest
from support.settings.configs import a_flow

from replication.errors import ConfigError
from replication.model import PartitionPlan, TopicPartition
from replication.settings.transform_settings import TopicTransform
from spark_jobs.transform.flow_transforms import FlowTransforms, clusters_of
from spark_jobs.transform.run.run_setting import TransformRunContext

PLANS = [PartitionPlan(TopicPartition("t", 0), TopicPartition("A.t", 0))]
LONG_S = 30


class SlowJob:
    """Says, when it is let, that the transform is wrong."""

    def __init__(self) -> None:
        self.began, self.let = threading.Event(), threading.Event()

    def check(self) -> None:
        self.began.set()
        assert self.let.wait(LONG_S)
        raise ConfigError("f:1: wrong")


@pytest.fixture
def jobs():
    return []


@pytest.fixture
def transforms(jobs):
    flow = a_flow().model_copy(update={"transforms": (TopicTransform("t"),)})

    def job(*_):
        jobs.append(SlowJob())
        return jobs[-1]

    setting = TransformRunContext(
        flow, clusters_of(flow, "", "", has_copies=False), 1, job, dict, dict
    )
    found = FlowTransforms(flow, lambda: setting)
    yield found
    for each in jobs:
        each.let.set()
    found.stop()
    ended(found)


def ended(transforms: FlowTransforms) -> None:
    """Wait until no run is at work."""
    nothing = threading.Event()
    while transforms.alive:
        nothing.wait(0.01)


def test_a_flow_that_is_resumed_while_a_run_still_ends_is_transformed_again(jobs, transforms):
    transforms.drive(PLANS)
    assert jobs[0].began.wait(LONG_S)
    transforms.stop()
    transforms.drive(PLANS)  # resumed: the run of before is at work
    assert (len(jobs), transforms.alive) == (1, True)
    jobs[0].let.set()
    ended(transforms)
    transforms.drive(PLANS)
    assert len(jobs) == 2
    assert jobs[1].began.wait(LONG_S)


def test_a_run_that_nobody_stopped_stays(jobs, transforms):
    for _ in range(2):
        transforms.drive(PLANS)
    jobs[0].let.set()
    transforms.drive(PLANS)
    assert len(jobs) == 1
