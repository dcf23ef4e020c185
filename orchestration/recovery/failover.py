"""Plans and carries out a failover: its steps on the flow's clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from orchestration.recovery.flow_operation import FlowOperation
from orchestration.recovery.group_actions import group_actions, on_target, selected
from orchestration.recovery.report import FailoverReport
from replication.model import TopicPartition
from replication.offsets.consumer_groups import CommitGroup
from replication.planning.explain import counted
from replication.recovery.group_positions import group_positions
from replication.recovery.procedure import FAILOVER, failover_steps
from replication.recovery.proven_positions import proven

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.recovery.procedure import StepPlan
    from replication.state import Operation, ProvenPosition


@dataclass(slots=True)
class Failover(FlowOperation):
    """One failover of a flow: to the cluster that it copies to. The source is not asked anything.

    Every step may be carried out twice.
    """

    VERB: ClassVar[str] = FAILOVER

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
        self.operator.take(self.VERB, {})
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
        stored = selected(known.groups.values(), self.flow)
        found = tuple(group_positions(stored, known, by_partition))
        groups = on_target(found, self.reader.target_logs({each.target for each in found}))
        actions = group_actions(groups, self.sync)
        return FailoverReport(self.flow.name, tuple(positions), groups, actions)
