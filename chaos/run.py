"""One chaos run: starts all, runs the faults, heals, drains, compares."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.application import SOURCE
from chaos.fault_clock import FaultClock
from chaos.faults.carry_out import Faults
from chaos.faults.scene import Scene
from chaos.monitor import Monitor
from chaos.operator import SimulatedOperator
from chaos.schedule import Side
from chaos.topics.writers import Writers
from chaos.verdict import judge
from replication.errors import EnvironmentProblem, ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chaos.schedule import Schedule
    from chaos.stage import ChaosStage
    from chaos.topics.chaos_topics import ChaosTopic
    from chaos.verdict import ChaosVerdict

_START_S = 300.0
_DRAIN_S = 300.0
_LOOK_S = 0.2
_REPORT_S = 15.0


@dataclass(slots=True)
class Run:
    """A run on a stage. ``say`` prints a line."""

    stage: ChaosStage
    schedule: Schedule
    topics: tuple[ChaosTopic, ...]
    say: Callable[[str], None]
    problems: list[str] = field(default_factory=list)
    monitor: Monitor = field(init=False)
    writers: Writers = field(init=False)
    operator: SimulatedOperator = field(init=False)
    faults: Faults = field(init=False)
    _reported_at: float = 0.0

    def __post_init__(self) -> None:
        self.monitor = Monitor(self.stage)
        self.operator = SimulatedOperator(self.stage, self.monitor, self.problems, self.say)
        self.faults = Faults(Scene(self.stage, self.monitor, self.problems), self.say)

    def start(self, settings: Mapping[str, str]) -> None:
        """Start clusters, driver and writers; return when records are copied."""
        began = time.monotonic()
        self.stage.start(self.topics)
        for key, value in settings.items():
            self.stage.application.add_setting(key, value)
        kind = ", the target forgets silent producers" if self.stage.forgetful else ""
        self.say(f"two clusters of {self.stage.brokers} brokers are up in {self.stage.root}{kind}")
        self.stage.application.start()
        self.monitor.start()
        self.operator.start()
        client = self.stage.client(Side.SOURCE)
        self.writers = Writers(self.topics, client, self.stage.partitions, self.schedule.seed)
        self.writers.start()
        while not self.monitor.records:
            if time.monotonic() - began > _START_S:
                raise EnvironmentProblem(
                    f"nothing is copied after {_START_S:.0f} s: {self.monitor.status_text()}; "
                    f"logs are in {self.stage.application.home}"
                )
            time.sleep(_LOOK_S)
        self.say(f"records are copied; {len(self.schedule.faults)} faults are to come")

    def run_faults(self, seconds: float) -> None:
        """Let the faults of the schedule happen for so long."""
        began, clock = time.monotonic(), FaultClock()
        while (now := time.monotonic()) - began < seconds:
            self.faults.begin_due(self.schedule, clock.at(now, self.monitor.records))
            self._keep_watched()
            self._report()
            time.sleep(_LOOK_S)
        self.stage.over.set()
        self.faults.await_end()

    def settle(self) -> None:
        """Heal everything, stop writing, wait until all is copied, stop the driver."""
        self.stage.heal()
        if self.stage.application.watcher is None:
            self.stage.application.start()
        self.writers.stop()
        self.say(f"the time is over: {self.writers.written} records written; waiting for the copy")
        self._drain()
        self.operator.stop()
        code = self.stage.application.stop()
        if code != 0:
            self.problems.append(f"asked to end, the driver ended with {code}")
        if left := self.stage.application.left_over():
            self.problems.append(f"left behind: {'; '.join(left)}")
        self.monitor.stop()

    def judge(self) -> ChaosVerdict:
        """Compare both sides."""
        clients = self.stage.client(Side.SOURCE), self.stage.client(Side.TARGET)
        return judge(self.topics, SOURCE, clients, self.stage.done, self.operator.answered)

    def _drain(self) -> None:
        deadline = time.monotonic() + _DRAIN_S
        while behind := self._behind():
            if time.monotonic() > deadline:
                self.problems.append(
                    f"not all copied after {_DRAIN_S:.0f} s ({self.monitor.status_text()}): "
                    f"{'; '.join(behind)}"
                )
                return
            self._keep_watched()
            self._report()
            time.sleep(_LOOK_S)

    def _behind(self) -> list[str]:
        try:
            return self.monitor.behind()
        except ReplicationError as error:  # a broker has just come back
            return [str(error)]

    def _keep_watched(self) -> None:
        """Start the application again if it gave up, which no fault excuses."""
        if self.stage.application.is_replaced:
            return
        code = self.stage.application.ended_by_itself()
        if code is not None:
            self.problems.append(f"the watcher gave up with {code}")
            self.say(self.problems[-1])
            self.stage.application.start()

    def _report(self) -> None:
        if time.monotonic() - self._reported_at < _REPORT_S:
            return
        self._reported_at = time.monotonic()
        under_way = ", ".join(self.faults.under_way) or "no fault"
        self.say(
            f"  {self.writers.written} written, {self.monitor.records} copied; "
            f"{self.monitor.status_text()}; {under_way}"
        )
        for line in self.monitor.stuck():
            self.say(f"  {line}")
