"""One partition that is compared, and the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from orchestration.flows.comparison.copy_positions import UNKNOWN_POSITION
from replication.records.compare_compacted import Compacted
from replication.records.comparison_result import NoCounterpart

if TYPE_CHECKING:
    from orchestration.flows.comparison.copy_positions import CopyPosition
    from replication.model import TopicPartition
    from replication.records.comparison_result import Comparison

_NOT_COMPACTED = Compacted(source=False, target=False)


class TopicPair(NamedTuple):
    """A topic, its name on the target, and which of the two are compacted."""

    source: str
    target: str
    compacted: Compacted = _NOT_COMPACTED


@dataclass(frozen=True, slots=True)
class Work:
    """One partition to compare, with its end offsets on both sides at the start."""

    source: TopicPartition
    target: TopicPartition
    source_end: int  # 0 where there is no such partition
    target_end: int
    records: int  # on the source, roughly: control records and compacted ones count too
    on_source: bool = True  # whether the partition exists there
    on_target: bool = True
    compacted: Compacted = _NOT_COMPACTED
    copied: CopyPosition = UNKNOWN_POSITION


class PartitionResult(NamedTuple):
    """The result of one partition."""

    work: Work
    comparison: Comparison
    timed: bool = True  # False: the target sets its append time, so timestamps are not compared
    origins: int = 0  # copies with the header isthmus.origin, which is not compared

    @property
    def missing(self) -> bool:
        """Whether the target does not have this partition of the source."""
        return self.work.on_source and not self.work.on_target

    @property
    def halted(self) -> str:
        """Why what is in flight will not arrive; empty: it will."""
        return (
            self.work.copied.halted
            if self.comparison.no_counterpart[NoCounterpart.IN_FLIGHT]
            else ""
        )

    def is_clean(self, *, foreign_ok: bool = False) -> bool:
        """Say whether what is copied of the partition is an exact copy."""
        return not self.missing and self.comparison.is_clean(foreign_ok=foreign_ok)
