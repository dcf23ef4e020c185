"""Plans a flow every few seconds, so that new topics and partitions are copied."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from replication.adapters.local.files import space_problem
from replication.errors import ReplicationError, WrongCluster
from replication.model import PartitionState
from replication.naming.selection import listed
from spark_jobs.source.data_source import EpochSettings, write_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from replication.copier.spec import UnitSpec
    from replication.model import Choice, PartitionPlan, TopicPartition
    from replication.settings.flow_settings import Flow
    from replication.state import AbsentTopic
    from spark_jobs.planning.flow_planner import FlowPlan
    from spark_jobs.process.appdir import FlowDir

    Planner = Callable[[], Future[FlowPlan]]

_MISSING_LOOKS = 3  # in a row, before a state topic counts as deleted
_PAUSE_S = 2.0  # between two looks

log = structlog.get_logger()


class TopicWatcher:
    """The plan of one flow. Another thread reads the clusters: a silent one delays nothing."""

    def __init__(
        self,
        flow: Flow,
        directory: FlowDir,
        planner: Planner,
        is_transformed: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.number = 0  # of the plan; 0: there is none yet
        self.partitions: tuple[PartitionPlan, ...] = ()
        self.problem = ""  # why the last planning failed, or why a topic cannot be copied
        self.wrong_cluster = ""  # which cluster an address leads to instead of the right one
        self._notes: tuple[str, ...] = ()
        self.remark = ""  # what an operator should know about how topics are copied
        self.gap = ""  # configured topics that the source does not have
        self.absent: tuple[AbsentTopic, ...] = ()  # were copied, and are not copied now
        self.state_at_risk = ""  # which of Isthmus' topics loses state, and what to do
        self.missing_state_topic = ""  # one of Isthmus' topics that was deleted on the target
        self._missed = 0  # plans in a row that did not find it
        self._flow = flow
        self._directory = directory
        self._planner = planner
        self._is_transformed = is_transformed  # a topic that no unit copies
        self._looking: Future[FlowPlan] | None = None
        self._look_at = 0.0
        self._decisions: dict[TopicPartition, Choice] = {}
        self._planned: tuple[PartitionPlan, ...] | None = None  # the planner's last result
        self._is_planned = False
        self._run: bool | None = None  # as written last; None: no plan was written
        self._unwritten = False  # it could not be written
        self._settings: UnitSpec | None = None  # of the units; None: as the query was started
        self._limit = 0  # bytes a second of all units; 0: none but that of the settings

    def follow(self, flow: Flow, planner: Planner, settings: UnitSpec) -> None:
        """Plan by edited settings from now on; units get theirs with the next epoch."""
        self._flow, self._planner = flow, planner
        self._looking, self._look_at = None, 0.0  # what is being planned follows the former ones
        before, self._settings = self._settings, settings
        if self.number and settings != before:
            self.number += 1
            self.write(run=True if self._run is None else self._run)

    def look(self, decisions: Mapping[TopicPartition, Choice]) -> None:
        """Start planning when it is due; take a finished plan. Never waits.

        ``decisions`` are an operator's answers to halted partitions.
        """
        if decisions != self._decisions:
            self._decisions = dict(decisions)
            self._take(self.partitions)
        if self._run is not None and (self._unwritten or not self._directory.plan.exists()):
            self.write(run=self._run)  # it was deleted: without it no epoch would begin
        if self._looking is None:
            if time.monotonic() >= self._look_at:
                self._looking = self._planner()
        elif self._looking.done():
            looking, self._looking = self._looking, None
            self._look_at = time.monotonic() + _PAUSE_S
            self._finish(looking)

    def limit(self, bytes_per_second: int) -> None:
        """Let all units together copy at most so much from the next epoch on; 0: no limit."""
        if bytes_per_second != self._limit:
            self._limit = bytes_per_second
            if self._run is not None:
                self.write(run=self._run)

    def write(self, *, run: bool) -> None:
        """Write the plan for the query; not ``run``: no further epoch begins."""
        self._run = run
        try:
            plan = self.number, self.copied
            settings = EpochSettings(self._settings, self._limit)
            write_plan(self._directory, *plan, run=run, settings=settings)
        except OSError as error:  # it is tried again
            if not self._unwritten:
                log.warning("plan file not written", flow=self._flow.name, reason=str(error))
            self._unwritten = True
        else:
            self._unwritten = False

    @property
    def copied(self) -> tuple[PartitionPlan, ...]:
        """The partitions that units copy unchanged."""
        return tuple(e for e in self.partitions if not self._is_transformed(e.source.topic))

    @property
    def transformed(self) -> tuple[PartitionPlan, ...]:
        """The partitions of topics that are transformed."""
        return tuple(e for e in self.partitions if self._is_transformed(e.source.topic))

    def space_problem(self) -> str:
        """Return why no query can run: its directory takes no further file; empty: it does."""
        return space_problem(self._directory.root)

    def _finish(self, looking: Future[FlowPlan]) -> None:
        try:
            plan = looking.result()
        except ReplicationError as error:
            if str(error) != self.problem:
                log.warning("planning failed", flow=self._flow.name, reason=str(error))
            self.problem = str(error)
            if isinstance(error, WrongCluster):
                self.wrong_cluster = str(error)
            return
        if plan.notes != self._notes:  # a refusal is repeated by every plan
            for note in plan.notes:
                log.info("plan remark", flow=self._flow.name, note=note)
        if plan.gap and plan.gap != self.gap:
            log.warning("no source topic matches", flow=self._flow.name, reason=plan.gap)
        self.problem, self.gap, self._notes = plan.refused, plan.gap, plan.notes
        self.wrong_cluster = ""
        self.remark = plan.remark
        if plan.state_at_risk and plan.state_at_risk != self.state_at_risk:
            log.warning("state topic at risk", flow=self._flow.name, reason=plan.state_at_risk)
        self.state_at_risk = plan.state_at_risk
        # A broker that has just started may list no topics for a moment.
        self._missed = self._missed + 1 if plan.missing_state_topic else 0
        self.missing_state_topic = (
            plan.missing_state_topic if self._missed >= _MISSING_LOOKS else ""
        )
        self._log_absent(plan.absent)
        self.absent, self._is_planned = plan.absent, True
        if plan.partitions is not self._planned:
            self._planned = plan.partitions
            self._take(plan.partitions)

    def _log_absent(self, absent: tuple[AbsentTopic, ...]) -> None:
        """Log each change once, with one line for all topics that changed to the same state."""
        before = {each.topic: each for each in self.absent}
        now = {each.topic: each for each in absent}
        new = [each for each in absent if each != before.get(each.topic)]
        for state in sorted({each.state for each in new}):
            those = [each for each in new if each.state == state]
            self._log_topics(state, [e.topic for e in those], those[0].reason)
        if back := sorted(before.keys() - now.keys()):
            log.info("topics are copied again", flow=self._flow.name, topics=listed(back))

    def _log_topics(self, state: str, topics: list[str], reason: str) -> None:
        say = log.info if state == PartitionState.NOT_SELECTED else log.warning
        say(
            "topics are not copied any more",
            flow=self._flow.name,
            state=state,
            topics=listed(topics),
            reason=reason,
        )

    def _take(self, planned: Iterable[PartitionPlan]) -> None:
        """Make ``planned`` the plan, with the decisions added, unless it is the plan already."""
        partitions = tuple(
            replace(each, decision=self._decisions.get(each.source)) for each in planned
        )
        if self._is_planned and (not self.number or partitions != self.partitions):
            self.number += 1
            self.partitions = partitions
            self.write(run=True)
            count = len(partitions)
            log.info("plan written", flow=self._flow.name, number=self.number, partitions=count)
