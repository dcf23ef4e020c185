"""Remarks on how a flow copies, and on topics that it does not copy any more."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spark_jobs.budget.throttle_notice import throttle_notice
from spark_jobs.memo import MemoizeLast
from spark_jobs.planning.absent_topics import problem_and_remark
from spark_jobs.planning.delivery_modes import at_least_once_notice, notice

if TYPE_CHECKING:
    from replication.settings.flow_settings import Flow
    from replication.state import AbsentTopic
    from replication.supervision.flow_figures import FlowCounters
    from spark_jobs.driver.flow_lease import FlowLease
    from spark_jobs.planning.topic_watcher import TopicWatcher


class FlowRemarks:
    """What is remarked on one flow; computed again only where it may have changed."""

    def __init__(self, flow: Flow) -> None:
        self._modes = MemoizeLast(notice)
        self.follow(flow)

    def follow(self, flow: Flow) -> None:
        """Judge by edited settings."""
        self._flow = flow
        self._gone = MemoizeLast(partial(problem_and_remark, policies=flow.policies))

    def gone(self, absent: tuple[AbsentTopic, ...]) -> str:
        """Return what is wrong with topics that the flow copied; empty: nothing."""
        return self._gone(absent)[0]

    def notice(
        self, plan: TopicWatcher, lease: FlowLease, tally: FlowCounters, disk_limit: str
    ) -> str:
        """Return the remark on how partitions are copied, weakest delivery guarantee first."""
        flow = self._flow
        configured = flow.copying.delivery == "at-least-once"
        weakest = at_least_once_notice(tally.at_least_once, flow.name, configured=configured)
        modes = self._modes(plan.partitions, lease.missing_guarantees)
        notices = (
            weakest or modes or lease.probe_problem,
            throttle_notice(tally.throttle, flow.source, flow.target),
            disk_limit,
            plan.remark,
            self._gone(plan.absent)[1],
        )
        return "; ".join(each for each in notices if each)
