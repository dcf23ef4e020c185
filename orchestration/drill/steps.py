"""The steps of a drill on the flow's clusters, and what each of them measures."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from orchestration.drill.canary_topic import CanaryTopic, SteadyWriter
from orchestration.failback.failback import Failback
from orchestration.flows.intents import write_intent
from orchestration.flows.observation.flow_reader import look_at
from orchestration.recovery.failover import Failover
from orchestration.recovery.opened_operation import opened
from replication.clock import now_ms
from replication.errors import ClusterRejected
from replication.model import Desired, FlowState, TopicPartition
from replication.offsets.groups.consumer_groups import CommitGroup, Committed, Group
from replication.recovery.canaries import absent, verdict
from replication.recovery.drill import misannounced
from replication.recovery.failback import FailbackOptions
from replication.recovery.switchover import SwitchoverOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from orchestration.drill.clean_up import CleanUp
    from orchestration.drill.drill_report import DrillReport
    from orchestration.drill.shadow_drivers import ShadowDrivers
    from orchestration.recovery.failover_report import FailoverReport
    from orchestration.recovery.opened_operation import Kind
    from orchestration.recovery.operator import Work
    from replication.offsets.groups.sync_round import GroupsOf
    from replication.recovery.canaries import FoundRecord
    from replication.recovery.drill import DrillOptions
    from replication.settings.flow_settings import Flow
    from replication.state import Operation
    from replication.state.drill_names import DrillNames

    Offsets = Mapping[TopicPartition, int]

_PORTION = 300  # records
_BEFORE_S, _AFTER_S = 2.0, 1.0  # of writing, around the loss
_QUIET_S = 2.0
_POLL_S = 0.2


@dataclass(slots=True)
class DrillSteps:
    """What each step does. All raise ReplicationError where one cannot succeed."""

    names: DrillNames
    options: DrillOptions
    drivers: ShadowDrivers
    cleaning: CleanUp
    say: Callable[[str], None]
    found: DrillReport
    here: CanaryTopic = field(init=False)
    there: CanaryTopic = field(init=False)
    _kept: dict[TopicPartition, int] = field(default_factory=dict)  # of the group, on the source
    _lost_ms: int = 0

    def __post_init__(self) -> None:
        """Name the canary topic on both clusters."""
        count, drill = self.options.partitions, self.found.id
        sides = (self.names.source, self.out, self.back), (self.names.target, self.back, self.out)
        self.here, self.there = (
            CanaryTopic(self.names.topic, count, alias, drill, reads, writes)
            for alias, reads, writes in sides
        )

    @property
    def out(self) -> Flow:
        return self.drivers.config.flow(self.names.flow)

    @property
    def back(self) -> Flow:
        return self.drivers.config.flow(self.names.back)

    def works(self) -> Mapping[str, Work]:
        """Return what carries out each step between the clearing and the end, by its name."""
        return {
            "prepare": self._prepare,
            "lose source": self._lose_source,
            "fail over": self._fail_over,
            "work on target": self._work_on_target,
            "return of source": self._return_of_source,
            "fail back": self._fail_back,
            "compare": self._compare,
        }

    def _prepare(self, _: Operation) -> str:
        self.here.create()
        self.here.write(_PORTION)
        for each in (self.out, self.back):  # drivers may know of an earlier drill, and would wait
            write_intent(each, Desired.RUN, self.drivers.clusters)
        self.drivers.keep(self.names.flow)
        self._await_copied(self.out)
        return f"{_PORTION} records are on {self.names.target}"

    def _lose_source(self, _: Operation) -> str:
        with SteadyWriter(self.here, self.options.rate):
            time.sleep(_BEFORE_S)
            if self.out.groups.sync:
                self._commit_half()
            acked, self._lost_ms = len(self.here.written), now_ms()
            killed = self.drivers.kill()
            time.sleep(_AFTER_S)
        self.found = replace(self.found, acked=acked)
        return f"killed {killed} processes while {self.options.rate} records a second were written"

    def _commit_half(self) -> None:
        """Commit the group's offsets half-way, and wait until the flow has stored them."""
        self._kept = {where: end // 2 for where, end in self.here.ends().items()}
        expected = {(*where, at) for where, at in self._kept.items()}
        with self._opened(Failover) as work:
            self._commit(work.sync.source, self._kept)
            deadline = time.monotonic() + self.options.timeout_s
            while True:
                stored = work.reader.look_at_target().groups.values()
                if any(expected == set(each.positions) for each in stored):
                    return
                if time.monotonic() > deadline:
                    raise ClusterRejected(
                        f"{self.names.flow} did not store the offsets of {self.names.group} in "
                        f"{self.options.timeout_s:g} s: see driver.log below "
                        f"{self.drivers.state_directory.root}"
                    )
                time.sleep(_POLL_S)

    def _commit(self, groups: GroupsOf, offsets: Offsets) -> None:
        """Commit the group's offsets on one of the clusters."""
        positions = {where: Committed(at) for where, at in offsets.items()}
        groups.listed()  # it finds the coordinators
        refused = groups.commit([CommitGroup(self.names.group, positions)])
        if refused:
            raise ClusterRejected(f"group {self.names.group}: {refused[self.names.group]}")

    def _fail_over(self, _: Operation) -> str:
        began = time.monotonic()
        with self._opened(Failover) as work:
            report = work.carry_out()
            held = (
                self._positions(work.sync.target)
                if self._kept
                else dict.fromkeys(self.there.places, 0)
            )
            first = self.there.first_at(held)
        rto_s = time.monotonic() - began
        self._check_group(held, first)
        missing = absent(self.here.written, self.there.read())
        before = missing[: sum(each.number < self.found.acked for each in missing)]
        self.found = replace(
            self.found,
            rto_s=rto_s,
            rpo_records=len(before),
            rpo_s=max(0, self._lost_ms - before[0].at_ms) / 1000 if before else 0.0,
            problems=(*self.found.problems, *self._misannounced(report, {e.key for e in missing})),
        )
        return f"RTO {rto_s:.1f} s, RPO {len(before)} records"

    def _positions(self, groups: GroupsOf) -> dict[TopicPartition, int]:
        groups.listed()  # it finds the coordinators
        held = groups.positions([Group(self.names.group)])
        return {where: at.offset for where, at in held.get(self.names.group, {}).items()}

    def _check_group(self, held: Offsets, first: Mapping[TopicPartition, FoundRecord]) -> None:
        """Note where the group does not go on at the record after its last commit."""
        for where, record in self.here.first_at(self._kept).items():
            other = first.get(where)
            if other is None or (other.key, other.value) != (record.key, record.value):
                self._note(f"group {self.names.group} continued at another record of {where}")
        if not self._kept:
            self.found = replace(self.found, group_practised=False)

    def _misannounced(self, report: FailoverReport, missing: set[bytes]) -> tuple[str, ...]:
        by_place: dict[TopicPartition, list[FoundRecord]] = defaultdict(list)
        for each in self.here.read():
            if each.key in missing:
                by_place[TopicPartition(self.names.topic, each.partition)].append(each)
        return misannounced(report.point, by_place)

    def _work_on_target(self, _: Operation) -> str:
        self.there.write(_PORTION)
        if self._kept:  # the group reads half of it all
            with self._opened(Failover) as work:
                self._kept = {where: end // 2 for where, end in self.there.ends().items()}
                self._commit(work.sync.target, self._kept)
        return f"wrote {_PORTION} records to {self.names.target}"

    def _return_of_source(self, _: Operation) -> str:
        self.drivers.keep(self.names.flow, self.names.back)
        self._await(self.back, lambda: self._is_running(self.back), "did not start")
        return f"{self.names.back} runs"

    def _fail_back(self, _: Operation) -> str:
        began, folder = time.monotonic(), self.drivers.state_directory.root / "tail"
        missing = {e.key for e in absent(self.here.written, self.there.read())}
        unread = self._unread(self.there, self._kept)
        moves = SwitchoverOptions(timeout_s=self.options.timeout_s, quiet_s=_QUIET_S)
        options = FailbackOptions(export=str(folder), moves=moves)
        with self._opened(partial(Failback, options=options)) as work:
            report = work.carry_out()
            held = self._positions(work.sync.source) if self._kept else {}
        self.found = replace(
            self.found, failback_s=time.monotonic() - began, tail_records=report.records
        )
        if report.records != len(missing):
            self._note(f"the tail has {report.records} records, and {len(missing)} never arrived")
        if len(missing) != (exported := _lines(folder)):
            self._note(f"{exported} of {len(missing)} records of the tail were exported")
        if skipped := unread - self._unread(self.here, held):
            self._note(f"group {self.names.group} skips {len(skipped)} records after the failback")
        return f"{report.records} records had never arrived; clients are on {self.names.source}"

    def _unread(self, topic: CanaryTopic, offsets: Offsets) -> set[bytes | None]:
        return {each.key for each in topic.from_on(offsets)}

    def _compare(self, _: Operation) -> str:
        self.here.write(_PORTION)
        self._await_copied(self.out)
        written = [*self.here.written, *self.there.written]
        here, there = (verdict(written, each.read()) for each in (self.here, self.there))
        self.found = replace(self.found, source=here, target=there)
        for alias, each in ((self.names.source, here), (self.names.target, there)):
            if not each.right:
                self._note(f"on {alias}: {each}")
        return f"on {self.names.source}: {here}; on {self.names.target}: {there}"

    def _note(self, problem: str) -> None:
        self.found = replace(self.found, problems=(*self.found.problems, problem))

    def _await_copied(self, flow: Flow) -> None:
        """Wait until the flow has copied what is there now."""
        ends = (self.here if flow is self.out else self.there).ends()

        def copied() -> bool:
            anchors = look_at(flow, self.drivers.clusters).seen.anchors
            reached = {TopicPartition(e.topic, e.partition): e.source or 0 for e in anchors}
            return all(reached.get(where, 0) >= end for where, end in ends.items())

        self._await(flow, copied, "did not copy all")

    def _is_running(self, flow: Flow) -> bool:
        return look_at(flow, self.drivers.clusters).health.state == FlowState.RUNNING

    def _await(self, flow: Flow, is_so: Callable[[], bool], failed: str) -> None:
        """Wait for something. Raises ClusterRejected, with the drivers' last words."""
        deadline = time.monotonic() + self.options.timeout_s
        while not is_so():
            if time.monotonic() > deadline:
                health = look_at(flow, self.drivers.clusters).health
                raise ClusterRejected(
                    f"{flow.name} {failed} in {self.options.timeout_s:g} s: {health.state}, "
                    f"{health.reason}\n{self.drivers.log_end()}"
                )
            time.sleep(_POLL_S)

    def _opened(self, kind: Callable[..., Kind]) -> AbstractContextManager[Kind]:
        drivers = self.drivers
        return opened(kind, self.out, drivers.config, drivers.clusters, self._say_within)

    def _say_within(self, line: str) -> None:
        """Say a line of the operation that is practised; how to go back does not matter."""
        if not line.lstrip().startswith("to go back:"):
            self.say(f"  {line}")


def _lines(folder: Path) -> int:
    """Return how many records an export has as lines of JSON."""
    texts = (each.read_text() for each in folder.glob("json/*.txt"))
    return sum(1 for text in texts for line in text.splitlines() if json.loads(line))
