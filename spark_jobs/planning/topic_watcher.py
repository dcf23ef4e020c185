"""Looks at a flow's two clusters every few seconds and keeps the plan up to date."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from replication.errors import ReplicationError
from spark_jobs.source.data_source import write_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from replication.model import Choice, PartitionPlan, TopicPartition
    from replication.settings.sections import Flow
    from spark_jobs.planning.flow_planner import FlowPlan
    from spark_jobs.process.appdir import FlowDir

    Planner = Callable[[], Future[FlowPlan]]

_SURE = 3
_PAUSE_S = 2.0  # between two looks

log = structlog.get_logger()


class TopicWatcher:
    """The plan of one flow. The clusters are asked elsewhere: a silent one holds nothing up."""

    def __init__(self, flow: Flow, directory: FlowDir, planner: Planner) -> None:
        self.number = 0  # of the plan; 0: there is none yet
        self.partitions: tuple[PartitionPlan, ...] = ()
        self.trouble = ""  # why the last look failed, or what it could not have copied
        self._notes: tuple[str, ...] = ()
        self.remark = ""  # what people should know of how it is copied
        self.gap = ""  # what the flow asks for and its source does not have
        self.stateless = ""  # one of our own topics that is gone from the target
        self._missed = 0  # looks in a row that did not find it
        self._flow = flow
        self._directory = directory
        self._planner = planner
        self._looking: Future[FlowPlan] | None = None
        self._look_at = 0.0
        self._decisions: dict[TopicPartition, Choice] = {}
        self._planned: tuple[PartitionPlan, ...] | None = None  # by the planner, the last time
        self._first: frozenset[TopicPartition] | None = None  # what the first plan held
        self._told: bool | None = None  # whether what was told last is to run; None: nothing was

    def look(self, decisions: Mapping[TopicPartition, Choice]) -> None:
        """Begin to look when it is time; take in what was found. Never waits.

        ``decisions`` are a person's answers to states of partitions.
        """
        if decisions != self._decisions:
            self._decisions = dict(decisions)
            self._take(self.partitions)
        if self._told is not None and not self._directory.plan.exists():
            self.tell(run=self._told)  # somebody has cleaned up: without it no epoch would begin
        if self._looking is None:
            if time.monotonic() >= self._look_at:
                self._looking = self._planner()
        elif self._looking.done():
            looking, self._looking = self._looking, None
            self._look_at = time.monotonic() + _PAUSE_S
            self._learn(looking)

    def tell(self, *, run: bool) -> None:
        """Write the plan for the query; not ``run``: no further epoch is to begin."""
        self._told = run
        write_plan(self._directory, self.number, self.partitions, run=run)

    def _learn(self, looking: Future[FlowPlan]) -> None:
        try:
            plan = looking.result()
        except ReplicationError as error:
            if str(error) != self.trouble:
                log.warning("planning failed", flow=self._flow.name, reason=str(error))
            self.trouble = str(error)
            return
        if plan.notes != self._notes:  # a refusal comes again with every look
            for note in plan.notes:
                log.info("topics", flow=self._flow.name, change=note)
        if plan.gap and plan.gap != self.gap:
            log.warning("no source topic matches", flow=self._flow.name, reason=plan.gap)
        self.trouble, self.gap, self._notes = plan.refused, plan.gap, plan.notes
        self.remark = plan.remark
        # A broker that has just started may show nothing at all for a moment.
        self._missed = self._missed + 1 if plan.missing else 0
        self.stateless = plan.missing if self._missed >= _SURE else ""
        if self._first is None:
            self._first = frozenset(each.source for each in plan.partitions)
        if plan.partitions is not self._planned:
            self._planned, first = plan.partitions, self._first
            self._take(replace(e, discovered_later=e.source not in first) for e in plan.partitions)

    def _take(self, planned: Iterable[PartitionPlan]) -> None:
        """Make ``planned`` the plan, with the decisions in it, unless it is the plan already."""
        partitions = tuple(
            replace(each, decision=self._decisions.get(each.source)) for each in planned
        )
        if self._first is not None and (not self.number or partitions != self.partitions):
            self.number += 1
            self.partitions = partitions
            self.tell(run=True)
            count = len(partitions)
            log.info("plan", flow=self._flow.name, number=self.number, partitions=count)
