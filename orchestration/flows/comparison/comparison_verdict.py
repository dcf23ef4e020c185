"""The verdict on all partitions: equal, empty, different, or nothing compared. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from replication.records.comparison_result import Apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestration.flows.comparison.compared_partition import Result
    from orchestration.flows.comparison.flow_comparison import Late


class Verdict(StrEnum):
    """The whole result."""

    EQUAL = "equal"  # what is copied is an exact copy; the rest is in flight
    EMPTY = "empty on both sides"  # all is there, and there is no record
    DIFFERENT = "different"  # or missing on the target
    INCOMPLETE = "incomplete"  # what was compared is equal, yet something was not copied, or found
    NOTHING = "nothing compared"  # no topic, or no record that could be compared

    @property
    def good(self) -> bool:
        """Whether the command succeeds."""
        return self in {Verdict.EQUAL, Verdict.EMPTY}


class Row(NamedTuple):
    """A partition's result and the flow that it belongs to."""

    flow: str
    result: Result
    clusters: tuple[str, str] = ("the source", "the target")  # their aliases
    beside: tuple[str, ...] = ()  # other flows that copy into the same target topic
    skipped: int = 0  # records that a decision left out


class NotFound(NamedTuple):
    """A flow of which no topic was found; ``named``: it was asked for by name."""

    flow: str
    why: str
    named: bool = False


class Gone(NamedTuple):
    """A topic that was copied and that the source does not have any more."""

    flow: str
    cluster: str  # alias of the source
    topic: str


class Transformed(NamedTuple):
    """A topic that is transformed, so that its copy has other records."""

    flow: str
    topic: str


class LateRow(NamedTuple):
    """A partition that was waited for in vain, and its flow."""

    flow: str
    late: Late


@dataclass(frozen=True, slots=True)
class Report:
    """All that a run found."""

    rows: Sequence[Row]
    not_found: Sequence[NotFound] = ()
    late: Sequence[LateRow] = ()
    gone: Sequence[Gone] = ()
    foreign_ok: bool = False
    transformed: Sequence[Transformed] = ()

    @property
    def verdict(self) -> Verdict:
        found = verdict(self.rows, foreign_ok=self.foreign_ok)
        if found.good and (self.late or any(each.named for each in self.not_found)):
            return Verdict.INCOMPLETE
        return found


def verdict(rows: Iterable[Row], *, foreign_ok: bool = False) -> Verdict:
    """Return what the results say: with nothing that was compared they are never equal."""
    results = [each.result for each in rows]
    if any(not each.is_clean(foreign_ok=foreign_ok) for each in results):
        return Verdict.DIFFERENT
    if any(each.halted for each in results):
        return Verdict.INCOMPLETE
    if any(each.comparison.equal for each in results):
        return Verdict.EQUAL
    if results and not any(map(_records, results)):
        return Verdict.EMPTY
    return Verdict.NOTHING


def _records(result: Result) -> int:
    """Return how many records, or offsets of them, were seen on either side."""
    found = result.comparison
    told = sum(found.apart[why] for why in Apart)
    return found.source_records + found.target_records + told
