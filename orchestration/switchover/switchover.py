"""Plans and carries out a switchover, and takes it back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from orchestration.flows.intents import write_intent
from orchestration.recovery.left_groups import left_groups
from orchestration.switchover.steps import SET_GROUPS, SwitchoverSteps
from orchestration.switchover.switchover_report import SwitchoverReport
from replication.errors import ClusterRejected, ClusterUnavailable, FlowTaken, ReplicationError
from replication.model import Desired
from replication.recovery.procedure import stopped_by
from replication.recovery.switchover import (
    DENIED,
    SWITCHOVER,
    UNDO,
    SwitchoverOptions,
    switchover_steps,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.recovery.procedure import StepPlan
    from replication.state import Operation


@dataclass(slots=True)
class Switchover(SwitchoverSteps):
    """One switchover of a flow. Until it opens the target, every failure takes all back."""

    VERB: ClassVar[str] = SWITCHOVER

    def steps(self) -> tuple[StepPlan, ...]:
        """Return the steps in order, as of the options of one that is not finished, if any."""
        last = self.unfinished()
        options = self.options if last is None else SwitchoverOptions.of(last)
        return switchover_steps(self.flow.name, self.flow.source, self.flow.target, options)

    def preview(self) -> SwitchoverReport:
        """Return what prevents it, and where groups stand now; change nothing."""
        if self.unfinished():
            return SwitchoverReport(self.flow.name)
        found = tuple(self.problems())
        return SwitchoverReport(self.flow.name, found) if found else self.report()

    def carry_out(self) -> SwitchoverReport:
        """Carry out the steps that are left; return what was found.

        Raises ReplicationError; ClusterRejected says that all was taken back, and why.
        """
        operation = self.operator.take(self.VERB, self.options.stored())
        self.options = SwitchoverOptions.of(operation)
        if why := operation.options.get(UNDO):
            raise ClusterRejected(self._take_back(why))
        try:
            done = self.operator.carry_out(self.steps(), self.works())
        except FlowTaken:
            raise  # another operator goes on
        except (ReplicationError, KeyboardInterrupt) as error:
            if self.operator.current().writable:
                raise
            raise ClusterRejected(self._take_back(str(error) or "interrupted")) from error
        return self.result(done)

    def result(self, done: Operation) -> SwitchoverReport:
        """Return what a switchover found that has ended, and what its steps left of groups."""
        now, left = self.report(), left_groups(done, SET_GROUPS)
        actions = now.actions if left is None else left
        return replace(now, actions=actions, operation=done, positions=self.proven(done.id))

    def undo(self) -> str:
        """Take back what is not finished, or close the target again and let the flow run.

        Raises ClusterRejected if clients wrote to the target.
        """
        if self.unfinished() is not None:
            operation = self.operator.take(self.VERB, self.options.stored())
            self.options = SwitchoverOptions.of(operation)
            if operation.writable:
                raise ClusterRejected(
                    f"{self.flow.name}: {self.flow.target} is open already: run the switchover "
                    "again to finish it, then undo it"
                )
            return self._take_back("an operator undoes it")
        given_up = [each for each in self.operator.operations() if each.options.get(DENIED)]
        if given_up:  # for a failover
            return "; ".join(map(self.allow_writes, given_up))
        return self.close_target()

    def _take_back(self, why: str) -> str:
        """Take all back in reverse order; return what was done.

        Raises ClusterUnavailable if that fails: then it is still to be undone. FlowTaken says that
        another operator goes on.
        """
        whole = f"{self.flow.name} was not switched over: {why}"
        try:
            undone = self._undone(why)
        except FlowTaken:
            raise
        except ReplicationError as error:
            raise ClusterUnavailable(
                f"{whole}. Not all was undone: {error}; repeat it with isthmus switchover FILE "
                f"--flow '{self.flow.name}' --undo"
            ) from error
        return f"{whole}. Undone: {undone or 'nothing had been changed'}"

    def _undone(self, why: str) -> str:
        """Note that all is to be undone, undo it, and note that it is; return what was done."""
        self.operator.require_turn()
        current = self.operator.current()
        operation = self.operator.amend(options={**current.options, UNDO: why}, step="undo")
        self.operator.say(f"undoing {operation.verb} {operation.id}: {why}")
        with self.operator.beating():
            undone = "; ".join(self._taken_back(operation))
        self.operator.end_undone(self.operator.current())
        return undone

    def _taken_back(self, operation: Operation) -> Iterator[str]:
        """Undo what was done, the last first; yield each."""
        intent = self.operator.intent()
        if intent.desired == Desired.STOP and intent.by.endswith(stopped_by(operation)):
            write_intent(self.flow, Desired.RUN, self.clusters)
            yield f"{self.flow.name} will run within seconds"
        if operation.options.get(DENIED):
            yield self.allow_writes(operation)
