"""The verdict on all partitions: equal, empty, different, or nothing compared. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from replication.records.comparison_result import NoCounterpart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orchestration.flows.comparison.compared_partition import PartitionResult
    from orchestration.flows.comparison.flow_comparison import UncopiedPartition


class ComparisonVerdict(StrEnum):
    """The whole result."""

    EQUAL = "equal"  # what is copied is an exact copy; the rest is in flight
    EMPTY = "empty on both sides"  # all is there, and there is no record
    DIFFERENT = "different"  # or missing on the target
    INCOMPLETE = "incomplete"  # what was compared is equal, yet something was not copied, or found
    NOTHING = "nothing compared"  # no topic, or no record that could be compared

    @property
    def good(self) -> bool:
        """Whether the command succeeds."""
        return self in {ComparisonVerdict.EQUAL, ComparisonVerdict.EMPTY}


class ComparisonRow(NamedTuple):
    """A partition's result and the flow that it belongs to."""

    flow: str
    result: PartitionResult
    clusters: tuple[str, str] = ("the source", "the target")  # their aliases
    other_writers: tuple[str, ...] = ()  # other flows that copy into the same target topic
    skipped: int = 0  # records that a decision left out


class NotFound(NamedTuple):
    """A flow of which no topic was found; ``named``: it was asked for by name."""

    flow: str
    why: str
    named: bool = False


class DeletedSourceTopic(NamedTuple):
    """A topic that was copied and that the source does not have any more."""

    flow: str
    cluster: str  # alias of the source
    topic: str


class Transformed(NamedTuple):
    """A topic that is transformed, so that its copy has other records."""

    flow: str
    topic: str


class UncopiedRow(NamedTuple):
    """A partition that was waited for in vain, and its flow."""

    flow: str
    uncopied: UncopiedPartition


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """All that a run found."""

    rows: Sequence[ComparisonRow]
    not_found: Sequence[NotFound] = ()
    uncopied: Sequence[UncopiedRow] = ()
    deleted_topics: Sequence[DeletedSourceTopic] = ()
    foreign_ok: bool = False
    transformed: Sequence[Transformed] = ()
    failed: Mapping[str, str] = field(default_factory=dict)  # flows that could not be, and why

    @property
    def verdict(self) -> ComparisonVerdict:
        found = verdict(self.rows, foreign_ok=self.foreign_ok)
        missed = self.uncopied or self.failed or any(each.named for each in self.not_found)
        if found.good and missed:
            return ComparisonVerdict.INCOMPLETE
        return found


def verdict(rows: Iterable[ComparisonRow], *, foreign_ok: bool = False) -> ComparisonVerdict:
    """Return what the results say: with nothing that was compared they are never equal."""
    results = [each.result for each in rows]
    if any(not each.is_clean(foreign_ok=foreign_ok) for each in results):
        return ComparisonVerdict.DIFFERENT
    if any(each.halted for each in results):
        return ComparisonVerdict.INCOMPLETE
    if any(each.comparison.equal for each in results):
        return ComparisonVerdict.EQUAL
    if results and not any(map(_records, results)):
        return ComparisonVerdict.EMPTY
    return ComparisonVerdict.NOTHING


def _records(result: PartitionResult) -> int:
    """Return how many records, or offsets of them, were seen on either side."""
    found = result.comparison
    uncounted = sum(found.no_counterpart[why] for why in NoCounterpart)
    return found.source_records + found.target_records + uncounted
