"""An offset range of a partition and of its copy, and what a comparison of it found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from replication.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class VerifiedRange:
    """Offsets of both sides that hold the same records if the copy is exact."""

    number: int  # in the plan of a run
    source: TopicPartition
    target: TopicPartition
    here: OffsetRange  # on the source
    there: OffsetRange  # on the target
    source_committed: bool = True  # only records of committed transactions count
    target_committed: bool = False
    own: bool = False  # others write to the topics: only what the flow copies counts
    left_out: tuple[OffsetRange, ...] = ()  # of the source: a decision passed over them
    origins: str = ""  # which copies were copied, a rule as in the anchor
    straight: bool = False  # every offset is a record that counts, on both sides

    def as_json(self) -> dict[str, Any]:
        """Return what ``of_json`` reads."""
        return asdict(self)

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Self:
        """Return a range from its JSON."""
        given = dict(found)
        for name in ("source", "target"):
            given[name] = TopicPartition(*given[name])
        for name in ("here", "there"):
            given[name] = OffsetRange(*given[name])
        given["left_out"] = tuple(OffsetRange(*each) for each in given["left_out"])
        return cls(**given)


class RangePart(NamedTuple):
    """A part of a range: so many offsets from these on."""

    source: int
    target: int
    length: int
    equal: bool


@dataclass(frozen=True, slots=True)
class RangeResult:
    """What a task found in a range.

    ``records`` agree, those before the first difference; ``bytes`` of batches were read of both
    logs. ``mark``: offsets of both sides, well before the first difference, and how many records of
    the range are before them; all of these agree. ``parts``: all of a straight range that differs.
    """

    number: int
    equal: bool
    records: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    mark: tuple[int, int, int] | None = None
    damaged: str = ""  # why a batch could not be read
    parts: tuple[RangePart, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return what ``of_json`` reads."""
        return asdict(self)

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Self:
        """Return a result from its JSON; unknown fields are ignored."""
        known = {each.name for each in fields(cls)}
        given = {name: value for name, value in found.items() if name in known}
        given["mark"] = tuple(given["mark"]) if given.get("mark") else None
        given["parts"] = tuple(RangePart(*each) for each in given.get("parts", ()))
        return cls(**given)
