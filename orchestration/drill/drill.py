"""Plans and carries out a drill, records its result, and leaves nothing behind."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from orchestration.drill.clean_up import CleanUp
from orchestration.drill.drill_report import DrillReport
from orchestration.drill.html_page import html_page
from orchestration.drill.shadow_drivers import ShadowDrivers, drill_directory, write_file
from orchestration.drill.steps import DrillSteps
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.recovery.operator import Operator
from replication.adapters.local.files import make_private, write_whole
from replication.config.drill_file import drill_file
from replication.errors import ClusterRejected, EnvironmentProblem, FlowTaken, ReplicationError
from replication.recovery.drill import CLEAN_UP, CLEAR, COMPARE, DrillOptions, drill_steps
from replication.recovery.procedure import DONE, DRILL, UNDONE, newest, standing
from replication.state import Operation, status_topic
from replication.state.drill_names import DrillNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from orchestration.recovery.operator import Work
    from orchestration.services.state_directory import StateDirectory
    from replication.recovery.procedure import StepPlan
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_MADE = "made"  # of the operation's options: shared topics that were not there before


@dataclass(slots=True)
class DrillRun:
    """One drill of a flow. Its topics, groups and positions are not touched."""

    flow: Flow
    config: Config
    state_directory: StateDirectory
    operator: Operator
    options: DrillOptions

    @property
    def names(self) -> DrillNames:
        return DrillNames(self.flow.source, self.flow.target)

    def steps(self) -> tuple[StepPlan, ...]:
        """Return the steps in order."""
        return drill_steps(self.names, self.options)

    def refuse_in_need(self) -> None:
        """Raise ClusterRejected while clients are moved, or are not where they belong."""
        records = self.operator.store.read(status_topic(self.flow.source)).values()
        last = newest((each for each in records if isinstance(each, Operation)), self.flow.name)
        if reason := standing(last, self.flow.target):
            raise ClusterRejected(f"{self.flow.name}: {reason}; run the drill afterwards")

    def carry_out(self) -> DrillReport:
        """Carry out all steps; return what was found. What goes wrong is part of the report.

        Raises FlowTaken when another operator drills, and what prevents a beginning.
        """
        self.refuse_in_need()
        before = self.operator.last()
        made = before.options.get(_MADE, "") if before is not None else ""
        operation = self.operator.take(DRILL, {_MADE: made})
        steps = self._steps(operation)
        problem: BaseException | None = None
        try:
            self.operator.carry_out(self.steps(), self._works(steps), until=COMPARE)
        except FlowTaken:
            steps.drivers.rest()
            raise
        except BaseException as error:  # noqa: BLE001 - nothing may stay behind; raised below
            problem = error
        interrupted = None if isinstance(problem, ReplicationError) else problem
        try:
            found = self._ended(steps, problem)
        except ReplicationError:
            if interrupted is not None:
                raise interrupted from None
            raise
        if interrupted is not None:
            raise interrupted
        return found

    def _steps(self, operation: Operation) -> DrillSteps:
        """Write the drill's file, and return the steps on its flows."""
        state_directory = drill_directory(self.state_directory, self.names.stem)
        shadow = read_config(write_file(state_directory, drill_file(self.config, self.names)))
        clusters = KafkaClusters()
        drivers = ShadowDrivers(shadow, state_directory, clusters)
        cleaning = CleanUp(self.names, shadow, clusters)
        found = DrillReport(self.flow.name, operation.id, self.options.rate)
        return DrillSteps(self.names, self.options, drivers, cleaning, self.operator.say, found)

    def _works(self, steps: DrillSteps) -> Mapping[str, Work]:
        def clear(operation: Operation) -> str:
            did = self._remove(steps, operation)
            write_file(steps.drivers.state_directory, drill_file(self.config, self.names))
            made = steps.cleaning.missing_shared()
            self.operator.amend(options={_MADE: ",".join(sorted(made))})
            return did

        return {CLEAR: clear, **steps.works()}

    def _remove(self, steps: DrillSteps, operation: Operation) -> str:
        steps.drivers.stop()
        did = steps.cleaning.remove(frozenset(operation.options.get(_MADE, "").split(",")))
        self.operator.amend(options={_MADE: ""})
        return did

    def _ended(self, steps: DrillSteps, problem: BaseException | None) -> DrillReport:
        """Clean up, write the report, and record the result."""
        problems = list(steps.found.problems)
        if problem is not None:
            step = self.operator.current().step
            problems.append(f"{step}: {str(problem) or type(problem).__name__}")
        last = self.steps()[-1]
        try:
            self.operator.carry_out([last], {CLEAN_UP: lambda o: self._remove(steps, o)})
        except ReplicationError as error:
            problems.append(f"clean-up failed: {error}; the next drill removes the rest")
        state = UNDONE if problems else DONE
        operation = self.operator.amend(state=state, step="")
        found = replace(steps.found, problems=tuple(problems), operation=operation)
        found = replace(found, files=self._write(found))
        self.operator.store.write(status_topic(self.flow.source), found.record())
        return found

    def _write(self, found: DrillReport) -> tuple[str, ...]:
        """Write the report as HTML and as JSON; return the files. Raises EnvironmentProblem."""
        folder = self.state_directory.root / "reports"
        stem = f"drill-{self.names.stem}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        texts = {".html": html_page(found), ".json": json.dumps(found.as_json(), indent=2)}
        try:
            make_private(self.state_directory.root, folder)
            for ending, text in texts.items():
                write_whole(folder / f"{stem}{ending}", text)
        except OSError as error:
            raise EnvironmentProblem(f"writing the report to {folder}: {error.strerror}") from error
        return tuple(str(folder / f"{stem}{ending}") for ending in texts)


@contextmanager
def opened_drill(
    flow: Flow,
    config: Config,
    state_directory: StateDirectory,
    say: Callable[[str], None],
    options: DrillOptions,
) -> Iterator[DrillRun]:
    """Give a drill of a flow; its connections are closed afterwards."""
    from replication.adapters.auth.client_config import to_librdkafka  # noqa: PLC0415 - on first use
    from replication.adapters.topics.state_store import StateStore  # noqa: PLC0415 - on first use

    store = StateStore(to_librdkafka(flow.clients.target_admin), flow.state_replication_factor)
    about = DrillNames(flow.source, flow.target).flow
    operator = Operator(flow, store, say, about)
    try:
        yield DrillRun(flow, config, state_directory, operator, options)
    finally:
        operator.close()
        store.close()
