"""What a run needs of its driver: how it reaches clusters, and how it runs batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from replication.model import TopicPartition
    from replication.settings.flow_settings import Flow
    from replication.settings.transform_settings import TopicTransform
    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.task.work import RangeWork, SlotReport, SlotWork, TaskClusters


class Job(Protocol):
    """Runs batches; see ``spark_job``."""

    def check(self) -> None: ...

    def run(self, work: Sequence[SlotWork]) -> list[SlotReport]: ...

    def reason(self, slot: SlotWork, work: RangeWork, record: DecodedRecords) -> str: ...


class TransformRunContext(NamedTuple):
    """What a run needs of its driver."""

    flow: Flow
    clusters: TaskClusters
    generation: int
    job: Callable[[TopicTransform, int], Job]  # for a transform, by its number in the flow
    ends: Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]]  # readable, of source
    partitions: Callable[[], Mapping[str, int]]  # of the topics on the target
