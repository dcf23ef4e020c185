"""The steps of a switchover on the flow's clusters; each may run twice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from orchestration.flows.observation.flow_reader import look_at
from orchestration.recovery.flow_operation import FlowOperation
from orchestration.recovery.group_actions import named, require_committed
from orchestration.switchover.home_positions import HomePlan, opened_home
from orchestration.switchover.readiness import halted_by_denial, problems
from orchestration.switchover.source_clients import SourceClients
from orchestration.switchover.switchover_report import SwitchoverReport
from orchestration.switchover.tail_comparison import compare_tail
from orchestration.switchover.write_denial import WriteDenial
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import TopicPartition
from replication.offsets.groups.consumer_groups import IDLE, CommitGroup, stop_first
from replication.planning.explain import counted
from replication.recovery.switchover import ALL_GROUPS, DENIED, SwitchoverOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from orchestration.recovery.operator import Work
    from replication.offsets.groups.consumer_groups import LeaveGroup, LeaveOffset
    from replication.state import Operation

SET_GROUPS = "set groups"
_SHOWN = 5  # groups and offsets


@dataclass(slots=True)
class SwitchoverSteps(FlowOperation):
    """What each step of a switchover does. All raise ReplicationError where one cannot succeed."""

    options: SwitchoverOptions = field(default_factory=SwitchoverOptions)

    def works(self) -> Mapping[str, Work]:
        """Return what carries out each step, by its name."""
        return {
            "check": self._check,
            "deny writes": self._deny_writes,
            "wait for producers": self._await_producers,
            "drain": self._drain,
            "stop": self._stop,
            "compare tail": self._compare_tail,
            "prove positions": self.prove,
            SET_GROUPS: self._set_groups,
            "open target": self._open,
            "allow writes": self.allow_writes,
        }

    def _check(self, _: Operation) -> str:
        found = list(self.problems())
        if found:
            raise ClusterRejected("; ".join(found))
        consuming = ", ".join(self.source().consuming(self.sync.plan().translated))
        remarks = f"; groups that consume on {self.flow.source}: {consuming}" if consuming else ""
        return f"both clusters answer, and {self.flow.name} runs{remarks}"

    def _deny_writes(self, operation: Operation) -> str:
        return self._denial().deny(operation, self.source().topics())

    def _await_producers(self, _: Operation) -> str:
        return self._limits.within(
            self.options.timeout_s,
            f"waiting for producers on {self.flow.source}",
            lambda left_s: self.source().wait_until_quiet(self.options, left_s),
        )

    def _drain(self, _: Operation) -> str:
        return self.copied(self.flow, self.options.timeout_s)

    def _stop(self, operation: Operation) -> str:
        """Stop the flow. Raises ClusterRejected unless all of its units ended cleanly."""
        did = self.stop_flow(operation)
        unclean = sorted(self.appenders().unclean)
        if unclean:
            raise ClusterRejected(
                f"{did}, but {counted(len(unclean), 'partition')} did not end cleanly, such as "
                f"{unclean[0]}: run this again when isthmus status FILE shows {self.flow.name} "
                "RUNNING"
            )
        return f"{did}; all of its units ended cleanly"

    def _compare_tail(self, _: Operation) -> str:
        with self.source().comparison(self.options.tail) as comparison:
            return compare_tail(comparison)

    def _set_groups(self, _: Operation) -> str:
        """Set the groups' offsets. Raises ClusterUnavailable where some cannot be known now.

        ClusterRejected where time does not help, and nobody agreed to leave the group.
        """
        found = self.sync.plan()
        if found.unread:
            raise ClusterUnavailable(f"some groups were not read: {found.unread}")
        if found.undecided:
            raise ClusterUnavailable(stop_first(*found.undecided[0]))
        with opened_home(self.flow, self.config) as way:
            homeward = HomePlan() if way is None else way.plan()
            if homeward.unread:
                raise ClusterUnavailable(f"some groups were not read: {homeward.unread}")
            actions = (*found.actions, *found.unknown, *found.late, *homeward.actions)
            left = SwitchoverReport(self.flow.name, actions=actions).left
            self._require_agreed(left, passing=found.unknown)
            require_committed(self.sync.target.commit(found.commits))
            names, home = {each.group for each in found.translated}, ""
            if way is not None and homeward.actions:
                commits = [each for each in homeward.actions if isinstance(each, CommitGroup)]
                require_committed(way.commit(commits))
                home = (
                    f"; set those of {counted(len(commits), 'group')} that read renamed copies in "
                    "the original topics"
                )
        self.operator.note_left(left)
        set_here = f"set the offsets of {len(found.commits)} of {counted(len(names), 'group')}"
        return f"{set_here}{home}{named(left)}"

    def _require_agreed(
        self, left: Iterable[LeaveGroup | LeaveOffset], passing: Collection[LeaveOffset]
    ) -> None:
        """Raise ClusterRejected for a group without a place unless somebody agreed to leave it.

        ClusterUnavailable if it is among ``passing``, which may be known soon.
        """
        odd = self._unagreed(left)
        if not odd:
            return
        shown = "; ".join(f"group {each.group}: {each.reason}" for each in odd[:_SHOWN])
        more = f"; and {counted(len(odd) - _SHOWN, 'more offset')}" if len(odd) > _SHOWN else ""
        options = " ".join(f"--leave '{name}'" for name in sorted({e.group for e in odd})[:_SHOWN])
        kind = ClusterUnavailable if any(each in passing for each in odd) else ClusterRejected
        raise kind(
            f"{shown}{more}. On {self.flow.target} consumers would begin by auto.offset.reset, or "
            f"at an older offset: correct the cause, or agree to that with {options} (--leave "
            f"'{ALL_GROUPS}': of all groups)"
        )

    def _unagreed(self, left: Iterable[LeaveGroup | LeaveOffset]) -> list[LeaveGroup | LeaveOffset]:
        """Return what is left of groups without a place that nobody agreed to leave.

        A group that has members on the target, or no offsets by its kind, needs no place there.
        """
        odd = [each for each in left if not self.options.may_leave(each.group)]
        if not odd:
            return []
        listed = self.sync.target.listed()
        there = {e.name for e in listed.values() if e.state not in IDLE or e.kind == "share"}
        return [each for each in odd if each.group not in there]

    def _open(self, operation: Operation) -> str:
        """Open the target. Raises ClusterRejected if somebody wrote."""
        proven = self.proven(operation.id)
        self.source().require_unwritten(
            {TopicPartition(each.topic, each.partition): each.source for each in proven}
        )
        return self.open_target(operation)

    def allow_writes(self, operation: Operation) -> str:
        """Take an operation's denials back, and note that there are none any more."""
        did = self._denial().take_back(operation)
        self.operator.write(replace(operation, options={**operation.options, DENIED: ""}))
        return did

    def problems(self) -> Iterator[str]:
        """Yield what prevents a switchover now; nothing: it can begin."""
        found = list(problems(look_at(self.flow, self.clusters)))
        yield from found
        if found or not self.options.deny_writes:
            return
        try:
            self._denial().require_possible()
        except ClusterRejected as error:
            yield f"writes on {self.flow.source} cannot be denied: {error}"
            return
        looks = [look_at(each, self.clusters) for each in self.config.flows_into(self.flow.source)]
        yield from halted_by_denial(looks, self.source().topics())

    def source(self) -> SourceClients:
        """Return who writes to the source and reads there."""
        return SourceClients(self.flow, self.config, self.clusters, self.reader, self.sync)

    def _denial(self) -> WriteDenial:
        from replication.adapters.clients import KafkaClients  # noqa: PLC0415 - on first use

        return WriteDenial(KafkaClients().source(self.flow), self.flow.source, self.operator)

    def report(self) -> SwitchoverReport:
        """Return where the groups stand, and what is still to be set of them."""
        found = self.sync.plan()
        with opened_home(self.flow, self.config) as way:
            homeward = () if way is None else way.plan().actions
        report = SwitchoverReport(
            self.flow.name,
            groups=found.translated,
            actions=(*found.actions, *found.unknown, *homeward),
            consuming=self.source().consuming(found.translated),
        )
        unagreed = {each.group for each in self._unagreed(report.left)}
        return replace(report, needs_leave=tuple(sorted(unagreed)))
