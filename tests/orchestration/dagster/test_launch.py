"""A launch ends well as soon as each flow has written another status than before."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.fakes.fake_flows import FakeIsthmus, World
from support.settings.configs import a_config

from orchestration.dagster.jobs import launch_flow
from orchestration.services.state_directory import StateDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.supervision.driver_supervision import Application

HOURS_MS = 7_200_000


class LaunchingWorld(World):
    """A world whose driver writes a status as soon as it is started, unless it hangs."""

    status: Mapping[str, object] | None = None
    state_directory = StateDirectory(Path("/nowhere"))

    def start(self, app: Application) -> World:
        if self.status is not None:
            self.copy(records=3, end=3, **self.status)
        return super().start(app)


@pytest.fixture
def world():
    found = LaunchingWorld(a_config())
    ahead_ms = int(time.time() * 1000) + HOURS_MS
    found.copy(records=3, end=3, instance="before", beat_ms=ahead_ms)
    return found


def launch(world):
    """Run the job; return why it failed, or None."""
    done = launch_flow.execute_in_process(
        run_config={"ops": {"launch": {"config": {"application": "B"}}}},
        resources={"isthmus": FakeIsthmus.of(world)},
        raise_on_error=False,
    )
    if done.success:
        return None
    (failure,) = (each for each in done.all_events if each.is_step_failure)
    return failure.step_failure_data.user_failure_data.description


@pytest.mark.parametrize("instance", ["before", "after"])
def test_a_status_of_before_whose_clock_was_ahead_does_not_count_as_the_newest(world, instance):
    world.status = {"instance": instance}
    assert launch(world) is None


def test_a_driver_that_writes_no_status_is_a_failure_with_its_reason(world):
    assert "application B: its watcher exited" in launch(world)
