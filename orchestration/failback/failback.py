"""Plans and carries out a failback: clients return to a source that was lost and is back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from orchestration.failback.deleted_topic import only_here
from orchestration.failback.failback_report import FailbackReport
from orchestration.failback.objections import Objections
from orchestration.failback.steps import FailbackSteps
from orchestration.recovery.left_groups import all_left_groups
from replication.errors import ClusterRejected, ConfigError
from replication.model import TopicPartition
from replication.naming.selection import TopicSelector
from replication.offsets.flow_offsets import other_topic
from replication.recovery.failback import (
    DRAIN,
    SINCE,
    FailbackOptions,
    failback_steps,
    with_deleted,
)
from replication.recovery.procedure import DONE, FAILBACK, newest
from replication.recovery.switchover import with_left

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from replication.recovery.procedure import StepPlan
    from replication.state import DivergedTail, Operation, ProvenPosition


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
        """Return what prevents it, and the tail as it is now; change nothing."""
        if (last := self.unfinished()) is not None:
            tails, options = self.tails(last), FailbackOptions.of(last)
            deleted = _to_delete(tails) if options.truncates else ()
            return FailbackReport(self.flow.name, tails=tails, deleted=deleted)
        positions = self.proven(self._since().id)
        found = tuple(self._all_problems(positions))
        if found:
            return FailbackReport(self.flow.name, found)
        tails = self.tails_now(positions)
        if not self.options.truncates:
            return FailbackReport(self.flow.name, tails=tails)
        deleted = _to_delete(tails)
        alone = only_here(self, [each for each in positions if each.topic in deleted])
        more = sum(each.end - each.start for ranges in alone.values() for each in ranges)
        return FailbackReport(self.flow.name, tails=tails, deleted=deleted, only_here=more)

    def carry_out(self, *, prepare: bool = False) -> FailbackReport:
        """Carry out the steps that are left; ``prepare``: those before clients have to move.

        Raises ReplicationError. Until the switchover clients stay where they are.
        """
        options = self.options.stored()
        if self.unfinished() is None:
            since = self._since()
            if problems := list(self._all_problems(self.proven(since.id))):
                raise ClusterRejected("; ".join(problems))
            options[SINCE] = since.id
        operation = self.operator.take(self.VERB, options, writable=self.flow.target)
        if agreed := self.options.delete - FailbackOptions.of(operation).delete:
            agreed |= FailbackOptions.of(operation).delete
            operation = self.operator.amend(options=with_deleted(operation.options, agreed))
        held = FailbackOptions.of(operation).moves.leave
        if new := self.options.moves.leave - held:
            operation = self.operator.amend(options=with_left(operation.options, held | new))
        self.options = FailbackOptions.of(operation)
        done = self.operator.carry_out(self.steps(), self.works(), until=DRAIN if prepare else "")
        problem = self.recall_switchover(done)
        return FailbackReport(
            self.flow.name,
            tails=self.tails(done),
            moved=self.moved,
            moved_problem=problem,
            operation=done,
            unset=all_left_groups(done),
        )

    def agreed(self) -> frozenset[str]:
        """Return the topics that somebody agreed to delete, in a failback to be finished."""
        last = self.unfinished()
        return frozenset() if last is None else FailbackOptions.of(last).delete

    def agree_to_delete(self, topics: Iterable[str]) -> None:
        """Let the failback delete these topics too."""
        self.options = replace(self.options, delete=self.options.delete.union(topics))

    def undo(self) -> str:
        """Raise ConfigError: there is nothing to take back."""
        raise ConfigError(
            f"{self.flow.name}: a failback cannot be undone. Clients that have not moved stay on "
            f"{self.flow.target}; if they have moved: isthmus switchover FILE --flow "
            f"'{self.back.name}' --undo"
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
        """Yield what prevents a failback now."""
        back, anchors = self.back, self.reader.look().anchors
        self.reader.run(self.reader.source.refresh({each.topic for each in positions}))
        kept = {each.topic for each in positions if each.topic == each.target_topic}
        unselected = kept - set(self._selected_back(kept))
        half_made = {each.topic for each in self.half_made()} if positions else set()
        for each in positions:
            where = TopicPartition(each.topic, each.partition)
            anchor = anchors[where]
            if each.topic in half_made:
                if not self.options.truncates:
                    yield (
                        f"{each.topic} was deleted on {self.flow.source} by a failback that was "
                        "abandoned: run failback with --tail truncate to complete it"
                    )
            elif other_topic("source", self.reader.source, each.topic, anchor.source_topic_id):
                yield (
                    f"{where} on {self.flow.source} is not in the topic that {self.flow.name} "
                    f"copied: it was deleted or recreated. What {self.flow.target} has is not "
                    f"brought back by a failback; copy it with {back.name}"
                )
            elif each.topic in unselected:
                yield f"{back.name} does not copy {each.topic}: add it to its topics"
        if not positions:
            yield f"{self.flow.name} has copied nothing: there is nothing to fail back"

    def _all_problems(self, positions: tuple[ProvenPosition, ...]) -> Iterator[str]:
        """Yield also what prevents the deletion of topics with a tail."""
        found = list(self._problems(positions))
        yield from found
        if not found and self.options.truncates:
            deleted = _to_delete(self.tails_now(positions))
            yield from Objections(self.flow, self.back, self.config).to(deleted, positions)

    def _selected_back(self, topics: set[str]) -> Iterator[str]:
        selector = TopicSelector.for_flow(self.back, self.config.clusters)
        yield from selector.selected(sorted(topics))


def _to_delete(tails: Sequence[DivergedTail]) -> tuple[str, ...]:
    """Return the topics that have a tail, in order."""
    return tuple(sorted({each.topic for each in tails if each.records}))
