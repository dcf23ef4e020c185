"""Plans and carries out a switchover: its steps on the flow's clusters, and the way back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from orchestration.flows.intents import write_intent
from orchestration.flows.observe import look_at
from orchestration.recovery.flow_operation import FlowOperation
from orchestration.recovery.readiness import problems
from orchestration.recovery.source_clients import SourceClients
from orchestration.recovery.switchover_report import SwitchoverReport
from orchestration.recovery.tail_comparison import compare_tail
from orchestration.recovery.write_denial import WriteDenial
from replication.errors import (
    ClusterRejected,
    ClusterUnavailable,
    ConfigError,
    FlowTaken,
    ReplicationError,
)
from replication.model import Desired, TopicPartition
from replication.planning.explain import counted
from replication.recovery.procedure import RUNNING
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

_SHOWN = 5  # partitions


@dataclass(slots=True)
class Switchover(FlowOperation):
    """One switchover of a flow. Until it opens the target, every failure takes all back."""

    options: SwitchoverOptions = field(default_factory=SwitchoverOptions)

    def steps(self) -> tuple[StepPlan, ...]:
        """Return the steps in order, as of the options of one that is not finished, if any."""
        last = self._unfinished()
        options = self.options if last is None else SwitchoverOptions.of(last)
        return switchover_steps(self.flow.name, self.flow.source, self.flow.target, options)

    def preview(self) -> SwitchoverReport:
        """Return what stands against it, and where groups stand now; change nothing."""
        if self._unfinished():
            return SwitchoverReport(self.flow.name)
        found = tuple(self._problems())
        return SwitchoverReport(self.flow.name, found) if found else self._report()

    def carry_out(self) -> SwitchoverReport:
        """Carry out the steps that are left; return what was found.

        Raises ReplicationError; ClusterRejected says that all was taken back, and why.
        """
        works = {
            "check": self._check,
            "deny writes": self._deny_writes,
            "wait for producers": lambda _: self._source().wait_until_quiet(self.options),
            "drain": self._drain,
            "stop": self._stop,
            "compare tail": self._compare_tail,
            "prove positions": self.prove,
            "set groups": self._set_groups,
            "open target": self._open,
            "allow writes": self._allow,
        }
        operation = self.operator.take(SWITCHOVER, self.options.stored())
        self.options = SwitchoverOptions.of(operation)
        if why := operation.options.get(UNDO):
            raise ClusterRejected(self._take_back(why))
        try:
            done = self.operator.carry_out(self.steps(), works)
        except FlowTaken:
            raise  # another operator goes on
        except (ReplicationError, KeyboardInterrupt) as error:
            if self.operator.current().writable:
                raise
            raise ClusterRejected(self._take_back(str(error) or "interrupted")) from error
        return replace(self._report(), operation=done, positions=self.proven(done.id))

    def undo(self) -> str:
        """Take back what is not finished, or close the target again and let the flow run.

        Raises ClusterRejected if clients wrote to the target.
        """
        if self._unfinished() is not None:
            operation = self.operator.take(SWITCHOVER, self.options.stored())
            self.options = SwitchoverOptions.of(operation)
            if operation.writable:
                raise ClusterRejected(
                    f"{self.flow.name}: {self.flow.target} is open already: run the switchover "
                    "again to finish it, then undo it"
                )
            return self._take_back("an operator undoes it")
        given_up = [each for each in self.operator.operations() if each.options.get(DENIED)]
        if given_up:  # for a failover
            return "; ".join(map(self._allow, given_up))
        return self.close_target()

    # -- steps -------------------------------------------------------------------------------

    def _check(self, _: Operation) -> str:
        found = list(self._problems())
        if found:
            raise ClusterRejected("; ".join(found))
        consuming = ", ".join(self._source().consuming(self.sync.plan().translated))
        told = f"; groups that consume on {self.flow.source}: {consuming}" if consuming else ""
        return f"both clusters answer, and {self.flow.name} runs{told}"

    def _deny_writes(self, operation: Operation) -> str:
        return self._denial().deny(operation, self._source().topics())

    def _drain(self, _: Operation) -> str:
        with self._source().comparison() as comparison:
            late = comparison.wait(self.options.timeout_s, lambda _: None)
            parts = counted(len(comparison.partitions), "partition")
        if late:
            told = (f"{e.partition} up to {e.copied or 0} of {e.end}" for e in late[:_SHOWN])
            raise ClusterRejected(
                f"{len(late)} of {parts} not copied in {self.options.timeout_s:g} s: "
                f"{'; '.join(told)}"
            )
        return f"all of {parts} is on {self.flow.target}"

    def _stop(self, operation: Operation) -> str:
        """Stop the flow. Raises ClusterRejected unless all of its units ended cleanly."""
        did = self.stop_flow(operation)
        unclean = sorted(self.appenders().unclean)
        if unclean:
            raise ClusterRejected(
                f"{did}, but {counted(len(unclean), 'partition')} did not end cleanly, such as "
                f"{unclean[0]}"
            )
        return f"{did}; all of its units ended cleanly"

    def _compare_tail(self, _: Operation) -> str:
        with self._source().comparison(self.options.tail) as comparison:
            return compare_tail(comparison)

    def _set_groups(self, _: Operation) -> str:
        """Set the groups' offsets. Raises ClusterUnavailable where some cannot be known now."""
        found = self.sync.plan()
        if found.unread:
            raise ClusterUnavailable(f"some groups were not read: {found.unread}")
        if found.waiting:
            raise ClusterRejected(f"{counted(found.waiting, 'offset')} of groups have no copy")
        self.commit(found.commits)
        names = {each.group for each in found.translated}
        left = SwitchoverReport(self.flow.name, actions=found.actions).left
        told = "".join(f"; left: {each.group}, {each.reason}" for each in left)
        return f"set the offsets of {len(found.commits)} of {counted(len(names), 'group')}{told}"

    def _open(self, operation: Operation) -> str:
        """Open the target. Raises ClusterRejected if somebody wrote, or resumed the flow."""
        seen = look_at(self.flow, self.clusters).seen
        if seen.desired is not Desired.STOP:
            raise ClusterRejected(f"{seen.desired_by} let {self.flow.name} {seen.desired} again")
        proven = self.proven(operation.id)
        self._source().require_unwritten(
            {TopicPartition(each.topic, each.partition): each.source for each in proven}
        )
        return self.open_target(operation)

    def _allow(self, operation: Operation) -> str:
        """Take an operation's denials back, and note that there are none any more."""
        did = self._denial().take_back(operation)
        self.operator.write(replace(operation, options={**operation.options, DENIED: ""}))
        return did

    # -- the way back ------------------------------------------------------------------------

    def _take_back(self, why: str) -> str:
        """Take all back in reverse order; return what was done.

        Raises ClusterUnavailable if that fails: then it is still to be undone.
        """
        self.operator.require_turn()
        current = self.operator.current()
        operation = self.operator.amend(options={**current.options, UNDO: why}, step="undo")
        self.operator.say(f"undoing {operation.verb} {operation.id}: {why}")
        whole = f"{self.flow.name} was not switched over: {why}"
        try:
            with self.operator.beating():
                told = "; ".join(self._taken_back(operation))
        except ReplicationError as error:
            raise ClusterUnavailable(
                f"{whole}. Not all was undone: {error}; repeat it with isthmus switchover FILE "
                f"--flow '{self.flow.name}' --undo"
            ) from error
        self.operator.close(self.operator.current())
        return f"{whole}. Undone: {told or 'nothing had been changed'}"

    def _taken_back(self, operation: Operation) -> Iterator[str]:
        """Undo what was done, the last first; yield each."""
        names = [each.name for each in self.steps()]
        ended = {name for name, _, _ in operation.done}
        stopped = look_at(self.flow, self.clusters).seen.desired is Desired.STOP
        if stopped and set(names[: names.index("stop")]) <= ended:
            write_intent(self.flow, Desired.RUN, self.clusters)
            yield f"{self.flow.name} will run within seconds"
        if operation.options.get(DENIED):
            yield self._allow(operation)

    # -- what is there -----------------------------------------------------------------------

    def _unfinished(self) -> Operation | None:
        last = self.operator.last()
        return last if last and (last.verb, last.state) == (SWITCHOVER, RUNNING) else None

    def _problems(self) -> Iterator[str]:
        yield from problems(look_at(self.flow, self.clusters))
        if self.options.deny_writes:
            try:
                self._denial().require_possible()
            except (ClusterRejected, ConfigError) as error:
                yield f"writes on {self.flow.source} cannot be denied: {error}"

    def _source(self) -> SourceClients:
        return SourceClients(self.flow, self.config, self.clusters, self.reader, self.sync)

    def _denial(self) -> WriteDenial:
        from replication.adapters.clients import KafkaClients  # noqa: PLC0415 - on first use

        return WriteDenial(KafkaClients().source(self.flow), self.flow.source, self.operator)

    def _report(self) -> SwitchoverReport:
        found = self.sync.plan()
        return SwitchoverReport(
            self.flow.name,
            groups=found.translated,
            actions=found.actions,
            consuming=self._source().consuming(found.translated),
        )
