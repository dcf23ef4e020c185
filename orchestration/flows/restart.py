"""Restarts a flow: it is stopped cleanly, and runs again with the file as it is now."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestration.flows.intents import write_intent
from orchestration.flows.observation.beat_watch import BeatWatch
from orchestration.flows.observation.flow_reader import look_here
from replication.errors import (
    ClusterRejected,
    ClusterUnavailable,
    EnvironmentProblem,
    ReplicationError,
)
from replication.model import Desired, FlowState
from replication.supervision.health import has_driver, is_alive

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestration.flows.observation.clients import ClusterClients, Processes
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.settings.flow_settings import Flow
    from replication.supervision.driver_supervision import Application

POLL_S = 0.5


class NotAskedToRun(EnvironmentProblem):
    """A flow may still be asked to stop, as the target did not take the wish to run."""


@dataclass(slots=True)
class FlowRestart:
    """One flow, its application and what it takes to see both. ``limit_s`` is for each half."""

    flow: Flow
    app: Application
    clusters: ClusterClients
    processes: Processes
    limit_s: float
    sleep: Callable[[float], object] = time.sleep
    _beats: BeatWatch = field(default_factory=BeatWatch, init=False)

    def refuse(self) -> None:
        """Raise ClusterRejected if the flow is not to run: then there is nothing to restart."""
        seen = self._look().seen
        if seen.desired is not Desired.RUN:
            raise ClusterRejected(
                f"{self.flow.name} has the desired state {seen.desired}, set by {seen.desired_by}: "
                f"start it with isthmus resume FILE --flow {self.flow.name.replace('->', ':')}"
            )

    def stop(self) -> None:
        """Ask for the flow's stop, and return when it has stopped."""
        write_intent(self.flow, Desired.STOP, self.clusters)
        # An application ends with its only flow. It must not be on its way when the flow is to run.
        ends = len(self.app.flows) == 1
        self._until(_has_ended if ends else _has_stopped, "it does not stop")

    def start(self) -> None:
        """Ask for the flow's start. Call it also if ``stop`` failed or was interrupted.

        Raises NotAskedToRun.
        """
        try:
            write_intent(self.flow, Desired.RUN, self.clusters)
        except ReplicationError as error:
            raise NotAskedToRun(
                f"{self.flow.name} may still be asked to stop: {error}; then start it with isthmus "
                f"resume FILE --flow {self.flow.name.replace('->', ':')}"
            ) from error

    def wait(self) -> None:
        """Return when the flow runs."""
        self._until(_runs, "it does not start (`isthmus run FILE` or Dagster must be running)")

    def _look(self) -> FlowLook:
        look = self._beats.aged(
            lambda: look_here(self.flow, self.app, self.clusters, self.processes)
        )
        if look.seen.target_silence is not None:
            raise ClusterUnavailable(f"{self.flow.name}: {look.seen.target_silence}")
        return look

    def _until(self, is_so: Callable[[FlowLook], bool], otherwise: str) -> None:
        deadline = time.monotonic() + self.limit_s
        while not is_so(look := self._look()):
            if time.monotonic() >= deadline:
                raise EnvironmentProblem(
                    f"{self.flow.name}: after {self.limit_s:g} s {otherwise}: {look.health.reason}"
                )
            self.sleep(POLL_S)


def _has_stopped(look: FlowLook) -> bool:
    status = look.seen.status
    return status is None or status.state == FlowState.STOPPED or not has_driver(look.seen)


def _has_ended(look: FlowLook) -> bool:
    status = look.seen.status
    return status is None or not is_alive(status, look.seen)


def _runs(look: FlowLook) -> bool:
    return look.health.state in {FlowState.RUNNING, FlowState.DEGRADED}
