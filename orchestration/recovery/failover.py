"""Plans and carries out a failover: groups that cannot be set are left and named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from orchestration.flows.observation.flow_reader import look_at
from orchestration.recovery.failover_report import FailoverReport
from orchestration.recovery.flow_operation import FlowOperation
from orchestration.recovery.group_actions import committed, group_actions, named, on_target
from orchestration.recovery.left_groups import left_groups
from replication.model import NO_PRODUCER_ID, TopicPartition
from replication.offsets.counted_log import CountedLog
from replication.offsets.groups.consumer_groups import CommitGroup, LeaveGroup
from replication.offsets.offset_map import sync_points_of
from replication.planning.explain import counted
from replication.recovery.group_positions import group_positions
from replication.recovery.group_sync_age import group_sync_age
from replication.recovery.procedure import FAILOVER, failover_steps
from replication.recovery.unshared_log import unshared_end
from replication.state import AbsentTopic, TaskReport
from replication.supervision.lag import with_absent
from replication.supervision.recovery_point import (
    anchored,
    recovery_point,
    selected_groups,
    unplaced,
    without_gone,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from orchestration.flows.observation.flow_look import FlowLook
    from replication.offsets.groups.consumer_groups import GroupAction
    from replication.recovery.procedure import StepPlan
    from replication.state import Operation, ProvenPosition

_SET_GROUPS = "set groups"


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

        The positions are those of the anchors: what was copied after them is not counted. The
        source is asked for its ends, if it answers.
        """
        look = look_at(self.flow, self.clusters)
        known = self.reader.look_at_target()
        return self._report(anchored(known.anchors.values()), look)

    def carry_out(self) -> FailoverReport:
        """Carry out the steps that are left; return what was found. Raises ReplicationError."""
        works = {
            "stop": self.stop_flow,
            "fence": self.fence_producers,
            "prove positions": self.prove,
            _SET_GROUPS: self._set_groups,
            "open target": self.open_target,
        }
        self.operator.take(self.VERB, {})
        done = self.operator.carry_out(self.steps(), works)
        report = self._report(self.proven(done.id))
        left = left_groups(done, _SET_GROUPS)
        actions = tuple(map(_outcome, report.actions)) if left is None else left
        return replace(report, actions=actions, operation=done)

    def undo(self) -> str:
        """Close the target again and let the flow run. Raises ClusterRejected if clients wrote."""
        return self.close_target()

    def _set_groups(self, operation: Operation) -> str:
        """Commit the groups' offsets on the target; what brokers refuse is left and named."""
        report = self._report(self.proven(operation.id))
        count, unset = committed(self.sync.target, report.actions)
        known = set(report.left)
        refused = (each for each in unset if each not in known)
        self.operator.note_left(unset)
        names = {each.group for each in report.groups}
        left = f"; {counted(len(unset), 'position')} left" if unset else ""
        silent = f"; {report.warning}" if report.warning else ""
        return (
            f"set the offsets of {count} of {counted(len(names), 'group')}{left}"
            f"{named(refused)}{silent}"
        )

    def _report(
        self, positions: Sequence[ProvenPosition], look: FlowLook | None = None
    ) -> FailoverReport:
        """Return the report for these positions, with what is still to be set of groups.

        ``look``: what may be missing is that of a look at both clusters, not of the positions.
        """
        known = self.reader.look_at_target()
        by_partition = {TopicPartition(each.topic, each.partition): each for each in positions}
        stored = selected_groups(known.groups.values(), self.flow.selection)
        found = tuple(group_positions(stored, known, by_partition))
        copies = {each.target for each in found if each.offset is not None}
        groups = on_target(found, self.reader.target_logs(copies))
        actions = group_actions(groups, self.sync, self._unshared(copies))
        records = self.operator.records()
        at_ms = self.operator.current().started_ms if look is None else look.seen.now_ms
        tasks = (each for each in records if isinstance(each, TaskReport))
        synced = group_sync_age(self.flow, tasks, at_ms)
        if look is not None:
            point = replace(look, groups=stored).recovery_point(look.lag())
        else:
            absent = (each for each in records if isinstance(each, AbsentTopic))
            anchors = with_absent(known.anchors.values(), absent)
            point = recovery_point(without_gone(positions, anchors), stored)
            point = replace(point, unplaced=unplaced(anchors))
        return FailoverReport(self.flow.name, point, groups, actions, synced)

    def _unshared(self, copies: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return up to where each copy holds the flow's records alone, if a flow copies back.

        How far a group has read records of the target's clients at the source is known there alone.
        """
        if self.config.flow_back(self.flow) is None:
            return {}
        self.reader.run(self.reader.target.refresh({each.topic for each in copies}))
        return {each: self._unshared_end(each) for each in copies}

    def _unshared_end(self, copy: TopicPartition) -> int:
        known = self.reader.known
        source = known.source_of(copy)
        if source is None:
            return 0
        own = known.producers - {NO_PRODUCER_ID}
        others = CountedLog(
            self.reader.target, copy, lambda batch: batch.producer_id not in own, committed=False
        )
        anchor = known.anchors[source]
        points = sync_points_of(known.points[source].values(), anchor)
        return self.reader.run(unshared_end(others, points, anchor))


def _outcome(action: GroupAction) -> GroupAction:
    """Return what became of an action of a step that noted nothing: what is to be set was not."""
    if not isinstance(action, CommitGroup):
        return action
    return LeaveGroup(action.group, "its offsets were not set")
