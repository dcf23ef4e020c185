"""What is verified of a transform, and what a comparison with its expected results found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from replication.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping


class ReadSpan(NamedTuple):
    """Offsets of a source partition. Results of those before ``required`` must be there.

    Results of those up to ``end`` may be there already.
    """

    topic: str
    partition: int
    begin: int
    required: int
    end: int
    origins: str  # which copies are transformed, a rule as in provenance
    target_topic: str  # of results that are not routed elsewhere
    trimmed: bool = False  # the source deleted records before ``begin`` that were transformed

    @property
    def source(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class WrittenSpan(NamedTuple):
    """Offsets of a target partition: all that the transform wrote there, and perhaps others did."""

    topic: str
    partition: int
    begin: int
    end: int
    trimmed: bool = False  # the target deleted results before ``begin``

    @property
    def target(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class TransformedSpans:
    """What is compared of one transform: what it read, and what it wrote meanwhile."""

    number: int  # of the transform in the flow
    definition: str  # digest of what it did since the spans begin
    partitions: Mapping[str, int]  # of each target topic that it may write to
    read: tuple[ReadSpan, ...]
    written: tuple[WrittenSpan, ...]
    producers: tuple[int, ...]  # ids with which it wrote
    cluster_ids: tuple[str, str] = ("", "")  # of source and target
    untimed: tuple[str, ...] = ()  # target topics that set timestamps of their own
    passes: tuple[str, ...] = ()  # ids of clusters that records of the source may have been on
    # Routed topics may have results of topics that the flow or the source does not have any more.
    unread: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be read on either side."""
        spans = [(e.begin, e.end) for e in self.read] + [(e.begin, e.end) for e in self.written]
        return all(begin >= end for begin, end in spans)

    def as_json(self) -> dict[str, Any]:
        """Return what ``of_json`` reads."""
        return asdict(self)

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Self:
        """Return the spans from their JSON."""
        known = {**found, "read": [ReadSpan(*each) for each in found["read"]]}
        known["written"] = [WrittenSpan(*each) for each in found["written"]]
        return cls(**{name: _frozen(each) for name, each in known.items()})


class TransformFinding(NamedTuple):
    """Something that was found, so many times: of a source partition, in a target partition.

    ``read`` and ``written`` are numbers of spans, None where there is no counterpart; the offsets
    are of the first one.
    """

    kind: str
    records: int
    read: int | None = None
    written: int | None = None
    source_offset: int | None = None
    target_offset: int | None = None


@dataclass(frozen=True, slots=True)
class TransformedResult:
    """What a comparison found. ``problem``: why there was none."""

    found: tuple[TransformFinding, ...] = ()
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what ``of_json`` reads."""
        return asdict(self)

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Self:
        """Return a result from its JSON."""
        return cls(tuple(TransformFinding(*each) for each in found["found"]), found["problem"])


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
