"""The transforms of one flow in its driver: starts, feeds and ends the run of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replication.transforms.topic_transforms import TopicTransforms
from spark_jobs.transform.task.work import TaskClusters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from replication.model import PartitionPlan, TopicPartition
    from replication.settings.flow_settings import Flow
    from replication.settings.transform_settings import TopicTransform
    from spark_jobs.transform.run.run_setting import TransformRunContext
    from spark_jobs.transform.run.transform_run import TransformRun


@dataclass(slots=True)
class FlowTransforms:
    """The runs of a flow's transforms; none without transforms.

    ``setting`` gives what a run needs, for a driver's generation, once Spark has started.
    """

    flow: Flow
    setting: Callable[[], TransformRunContext]
    _rules: TopicTransforms = field(init=False)
    _runs: dict[int, TransformRun] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rules = TopicTransforms(self.flow.transforms)

    def takes(self, topic: str) -> bool:
        """Say whether a topic of the source is transformed, so that no unit copies it."""
        return bool(self.flow.transforms) and self._rules.of(topic) is not None

    def drive(self, plans: Sequence[PartitionPlan]) -> None:
        """Transform these partitions of transformed topics from now on.

        A run that was stopped and has not ended yet, in the middle of a batch, is replaced by the
        next call after its end.
        """
        self._leave_ended()
        for number, transform in enumerate(self.flow.transforms):
            mine = {e.source: e for e in plans if self._rules.of(e.source.topic) is transform}
            if number not in self._runs and not mine:
                continue
            if number not in self._runs:
                self._runs[number] = _run(self.setting(), number, transform)
            if not self._runs[number].stopping:
                self._runs[number].drive(mine)

    def stop(self) -> None:
        """End every run after its batch; new runs begin with the next ``drive``."""
        for each in self._runs.values():
            each.stop()
        self._leave_ended()

    def _leave_ended(self) -> None:
        self._runs = {n: each for n, each in self._runs.items() if not each.stopping or each.alive}

    @property
    def alive(self) -> bool:
        """Whether a run is at work."""
        return any(each.alive for each in self._runs.values())

    @property
    def problem(self) -> str:
        """Why something is not transformed; empty: all is."""
        reasons = [
            reason
            for run in self._runs.values()
            for reason in (run.problem, run.search, *dict.fromkeys(run.halted.values()))
        ]
        return "; ".join(filter(None, reasons))

    @property
    def reasons(self) -> dict[TopicPartition, str]:
        """Why partitions wait."""
        return {where: why for run in self._runs.values() for where, why in run.reasons.items()}

    @property
    def not_running(self) -> int:
        """How many partitions wait, be it for a transform that is wrong as a whole."""
        return sum(each.waiting for each in self._runs.values())


def _run(setting: TransformRunContext, number: int, transform: TopicTransform) -> TransformRun:
    # It needs pyarrow and pandas, which take a driver without transforms a second to load.
    from spark_jobs.transform.run.transform_run import TransformRun  # noqa: PLC0415 - see above

    return TransformRun(setting, number, transform)


def clusters_of(flow: Flow, source_id: str, target_id: str, *, has_copies: bool) -> TaskClusters:
    """Return how the tasks of a flow's transforms reach its clusters."""
    return TaskClusters(
        flow.name,
        flow.source,
        dict(flow.clients.source_consumer),
        dict(flow.clients.target_producer),
        dict(flow.registry),
        source_id,
        target_id,
        flow.copying.isolation == "read_committed",
        has_copies,
    )
