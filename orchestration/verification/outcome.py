"""What a verification found, and its verdict. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replication.records.batch_comparison import OffsetPair

EXIT_EQUAL, EXIT_DIFFERENT, EXIT_CANNOT = 0, 1, 2
LOST, REPEATED, OUT_OF_ORDER, EXTRA = "lost", "repeated", "out of order", "extra"
KEY, VALUE, HEADERS, TIMESTAMP = (
    "different key",
    "different value",
    "different headers",
    "different timestamp",
)
# A record of a compacted topic: which part differs is not known.
DIFFERENT, DAMAGED, MISSING = "different", "damaged", "missing partition"
# In the order of reports. A record of which several parts differ counts for each of them.
KINDS = (LOST, REPEATED, OUT_OF_ORDER, KEY, VALUE, HEADERS, TIMESTAMP, DIFFERENT, EXTRA, DAMAGED,
         MISSING)  # fmt: skip


class VerificationVerdict(StrEnum):
    """The whole result."""

    EQUAL = "equal"  # all that was to be verified
    UNCHANGED = "nothing new"  # all that is copied was verified before
    EMPTY = "empty on both sides"
    DIFFERENT = "different"
    INCOMPLETE = "incomplete"  # no difference; but of some partitions nothing could be compared
    NOTHING = "nothing verified"

    @property
    def good(self) -> bool:
        """Whether no record is known to differ, and none that is copied was left out."""
        return self in {
            VerificationVerdict.EQUAL,
            VerificationVerdict.UNCHANGED,
            VerificationVerdict.EMPTY,
        }

    @property
    def exit_code(self) -> int:
        """0: good; 1: different; 2: there is no verdict."""
        if self is VerificationVerdict.DIFFERENT:
            return EXIT_DIFFERENT
        return EXIT_EQUAL if self.good else EXIT_CANNOT


class RecordDifference(NamedTuple):
    """One difference; offsets are None where a record has no counterpart."""

    kinds: tuple[str, ...]
    source: int | None
    target: int | None


@dataclass(frozen=True, slots=True)
class PartitionOutcome:
    """What was found in one partition. ``skipped``: ranges that were not chosen."""

    source: str  # topic-partition
    target: str
    begin: OffsetPair
    end: OffsetPair
    ranges: int = 0
    records: int = 0  # that agree
    bytes: int = 0  # of batches that were read of both logs
    counts: Mapping[str, int] = field(default_factory=dict)
    examples: Sequence[RecordDifference] = ()
    no_counterpart: Mapping[str, int] = field(
        default_factory=dict
    )  # records without a counterpart, and why
    not_verified: str = ""  # why nothing could be compared
    waits: bool = False  # it is only not copied yet
    remarks: Sequence[str] = ()
    continues: bool = False
    skipped: int = 0
    transformed: bool = False  # its results are in several partitions: no target offsets

    @property
    def differences(self) -> int:
        return sum(self.counts.values())

    @property
    def is_empty(self) -> bool:
        """Whether neither side has records of the copy."""
        return not (self.ranges or self.records or self.continues or self.skipped)


class Speed(NamedTuple):
    """What the comparison of the ranges took, without the start of Spark.

    ``bytes`` of batches, of both logs; ``task_s``: of all tasks, each of which has one core.
    """

    bytes: int
    task_s: float
    cores: int
    cpu_s: float  # of the Python workers

    @property
    def gb_per_minute_and_core(self) -> float:
        return self.bytes / 1e9 / (self.task_s / 60) if self.task_s else 0.0


@dataclass(frozen=True, slots=True)
class VerificationOutcome:
    """One verification of a flow."""

    flow: str
    at_ms: int  # all that was copied by then was to be verified
    partitions: Sequence[PartitionOutcome]
    speed: Speed
    partial: bool = False
    left: str = ""  # why no partition was found
    took_s: float = 0.0
    failed: bool = False  # it ended before there was a result, and ``left`` says why

    @property
    def verdict(self) -> VerificationVerdict:
        """Return the verdict: with nothing that was compared it is never equal."""
        found = self.partitions
        if any(each.differences for each in found):
            return VerificationVerdict.DIFFERENT
        if any(each.not_verified and not each.waits for each in found):
            return VerificationVerdict.INCOMPLETE
        if self.records:
            return VerificationVerdict.EQUAL
        if any(each.continues for each in found):
            return VerificationVerdict.UNCHANGED
        known = [each for each in found if not each.not_verified]
        if known and all(each.is_empty for each in known):
            return VerificationVerdict.EMPTY
        return VerificationVerdict.NOTHING

    @property
    def records(self) -> int:
        return sum(each.records for each in self.partitions)

    @property
    def counts(self) -> dict[str, int]:
        """Return the counts of all kinds, in the order of reports."""
        return {kind: sum(each.counts.get(kind, 0) for each in self.partitions) for kind in KINDS}

    @property
    def differences(self) -> int:
        return sum(self.counts.values())
