"""Plans and carries out a failover: its steps on the flow's clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestration.flows.target_offsets import unsettable
from orchestration.recovery.flow_operation import FlowOperation
from orchestration.recovery.report import FailoverReport
from replication.model import TopicPartition
from replication.offsets.consumer_groups import CommitGroup, Committed, LeaveOffset
from replication.offsets.offset_map import Answer
from replication.offsets.sync_round import TranslatedPosition
from replication.planning.explain import counted
from replication.recovery.group_positions import group_positions
from replication.recovery.procedure import FAILOVER, failover_steps
from replication.recovery.proven_positions import proven

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replication.offsets.consumer_groups import GroupAction
    from replication.recovery.group_positions import GroupPosition
    from replication.recovery.procedure import StepPlan
    from replication.state import Operation, ProvenPosition


@dataclass(slots=True)
class Failover(FlowOperation):
    """One failover of a flow: to the cluster that it copies to. The source is not asked anything.

    Every step may be carried out twice.
    """

    def steps(self) -> tuple[StepPlan, ...]:
        """Return the steps in order."""
        return failover_steps(self.flow.name, self.flow.target)

    def preview(self) -> FailoverReport:
        """Return what a failover would find now; change nothing.

        The positions are those of the anchors: what was copied after them is not counted.
        """
        known = self.reader.look_at_target()
        positions = tuple(
            proven("", anchor)
            for _, anchor in sorted(known.anchors.items())
            if anchor.source is not None
        )
        return self._report(positions)

    def carry_out(self) -> FailoverReport:
        """Carry out the steps that are left; return what was found. Raises ReplicationError."""
        works = {
            "stop": self.stop_flow,
            "fence": self.fence_producers,
            "prove positions": self.prove,
            "set groups": self._set_groups,
            "open target": self.open_target,
        }
        self.operator.take(FAILOVER, {})
        done = self.operator.carry_out(self.steps(), works)
        return replace(self._report(self.proven(done.id)), operation=done)

    def undo(self) -> str:
        """Close the target again and let the flow run. Raises ClusterRejected if clients wrote."""
        return self.close_target()

    def _set_groups(self, operation: Operation) -> str:
        """Commit the groups' offsets on the target. Raises ClusterRejected if brokers refuse."""
        report = self._report(self.proven(operation.id))
        commits = [each for each in report.actions if isinstance(each, CommitGroup)]
        self.commit(commits)
        names = {each.group for each in report.groups}
        left = f"; {counted(len(report.left), 'position')} left" if report.left else ""
        return f"set the offsets of {len(commits)} of {counted(len(names), 'group')}{left}"

    def _report(self, positions: Sequence[ProvenPosition]) -> FailoverReport:
        """Return the report for these positions, with what is still to be set of groups."""
        known = self.reader.look_at_target()
        by_partition = {TopicPartition(each.topic, each.partition): each for each in positions}
        groups = tuple(group_positions(known.groups.values(), known, by_partition))
        settable = list(self._settable(groups))
        desired = self.sync.desired(_as_translated(each) for each in settable)
        left = [
            LeaveOffset(each.group, each.target, f"{each.source}: {each.problem}")
            for each in groups
            if each not in settable and each.problem
        ]
        actions: tuple[GroupAction, ...] = (*self.sync.towards(desired, rewind=False), *left)
        return FailoverReport(self.flow.name, tuple(positions), groups, actions)

    def _settable(self, groups: Sequence[GroupPosition]) -> Iterator[GroupPosition]:
        """Yield the positions that exist on the target; retention may have moved its log start."""
        logs = self.reader.target_logs({each.target for each in groups})
        for each in groups:
            if each.offset is None:
                continue
            log = logs[each.target]
            if isinstance(log, str) or unsettable(each.offset, log):
                continue
            yield each if each.offset >= log.start else replace(each, offset=log.start)


def _as_translated(at: GroupPosition) -> TranslatedPosition:
    answer = Answer(at.offset, exact=at.again == 0)
    return TranslatedPosition(at.group, at.source, Committed(at.committed), at.target, answer)
