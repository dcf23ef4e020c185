"""Plans and carries out a failback: clients return to a source that was lost and is back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from orchestration.failback.report import FailbackReport
from orchestration.failback.steps import FailbackSteps
from replication.errors import ClusterRejected, ConfigError
from replication.model import TopicPartition
from replication.naming.selection import TopicSelector
from replication.offsets.flow_offsets import other_topic
from replication.recovery.failback import DRAIN, SINCE, FailbackOptions, failback_steps
from replication.recovery.procedure import DONE, FAILBACK, newest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.recovery.procedure import StepPlan
    from replication.state import Operation, ProvenPosition


@dataclass(slots=True)
class Failback(FailbackSteps):
    """One failback of a flow: to its source, whose clients are on the target since a failover."""

    VERB: ClassVar[str] = FAILBACK

    def refuse_if_open(self) -> None:
        """Raise ConfigError unless the target is open, or ours is to be finished."""
        if self.unfinished() is None:
            self._since()

    def steps(self) -> tuple[StepPlan, ...]:
        """Return the steps in order, as of the options of one that is not finished, if any."""
        last = self.unfinished()
        options = self.options if last is None else FailbackOptions.of(last)
        return failback_steps(self.flow.name, self.back.name, options)

    def preview(self) -> FailbackReport:
        """Return what stands against it, and the tail as it is now; change nothing."""
        if (last := self.unfinished()) is not None:
            return FailbackReport(self.flow.name, tails=self.tails(last))
        positions = self.proven(self._since().id)
        found = tuple(self._problems(positions))
        tails = () if found else self.tails_now(positions)
        return FailbackReport(self.flow.name, found, tails)

    def carry_out(self, *, prepare: bool = False) -> FailbackReport:
        """Carry out the steps that are left; ``prepare``: those before clients have to move.

        Raises ReplicationError. Until the switchover clients stay where they are.
        """
        options = self.options.stored()
        if self.unfinished() is None:
            since = self._since()
            if problems := list(self._problems(self.proven(since.id))):
                raise ClusterRejected("; ".join(problems))
            options[SINCE] = since.id
        operation = self.operator.take(self.VERB, options, writable=self.flow.target)
        self.options = FailbackOptions.of(operation)
        done = self.operator.carry_out(self.steps(), self.works(), until=DRAIN if prepare else "")
        return FailbackReport(
            self.flow.name, tails=self.tails(done), moved=self.moved, operation=done
        )

    def undo(self) -> str:
        """Raise ConfigError: there is nothing to take back."""
        raise ConfigError(
            f"{self.flow.name}: a failback is not undone. Before clients have moved they stay on "
            f"{self.flow.target}; after that: isthmus switchover FILE --flow '{self.back.name}' "
            "--undo"
        )

    def _since(self) -> Operation:
        """Return the operation by which clients came to the target. Raises ConfigError."""
        ended = (e for e in self.operator.operations() if e.state == DONE)
        since, last = newest(ended, self.flow.name), self.operator.last()
        if since is None or since != last or since.writable != self.flow.target:
            raise ConfigError(
                f"{self.flow.name}: {self.flow.target} is not open by a failover or a switchover: "
                "there is nothing to fail back"
            )
        return since

    def _problems(self, positions: tuple[ProvenPosition, ...]) -> Iterator[str]:
        """Yield what stands against a failback now."""
        back, anchors = self.back, self.reader.look().anchors
        self.reader.run(self.reader.source.refresh({each.topic for each in positions}))
        kept = {each.topic for each in positions if each.topic == each.target_topic}
        unselected = kept - set(self._selected_back(kept))
        for each in positions:
            where = TopicPartition(each.topic, each.partition)
            anchor = anchors[where]
            if other_topic("source", self.reader.source, each.topic, anchor.source_topic_id):
                yield (
                    f"{where} on {self.flow.source} is not in the topic that {self.flow.name} "
                    f"copied: it was deleted or recreated. What {self.flow.target} has is not "
                    f"brought back by a failback; copy it with {back.name}"
                )
            elif each.topic in unselected:
                yield f"{back.name} does not copy {each.topic}: add it to its topics"
        if not positions:
            yield f"{self.flow.name} has copied nothing: there is nothing to fail back"

    def _selected_back(self, topics: set[str]) -> Iterator[str]:
        selector = TopicSelector.for_flow(self.back, self.config.clusters)
        yield from selector.selected(sorted(topics))
