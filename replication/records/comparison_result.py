"""Result of comparing a partition with its copy: kinds of differences, counts and examples.

Pure: two streams of fingerprints in, findings out. Both streams are read in parallel. Where they
differ, both are searched ahead for the nearest place at which they agree again. The records before
it on either side are a *gap*, and each gets a kind by where else it occurs::

    source   a b c d e f        only in the source's gap  -> LOST
    target   a b b d X f        seen before on the target -> REPEATED (the second b)
                                left over on both sides   -> DIFFERENT (X for e)
                                met again in another gap  -> OUT_OF_ORDER

Memory is bounded by ``Limits``. Beyond them a finding may get a coarser kind, but the answer
whether the streams are equal is always exact.

Records that need no counterpart are no findings; they are counted by their reason, see
``NoCounterpart``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_LENGTH = struct.Struct(">i")
_TIME = struct.Struct(">q")


class DifferenceKind(StrEnum):
    """What is wrong with a record."""

    LOST = "lost"  # on the source only
    REPEATED = "repeated"  # on the target again
    DIFFERENT = "different"  # another content in its place
    OUT_OF_ORDER = "out of order"  # on both sides, at another place
    EXTRA = "extra"  # on the target only: of another producer, or below the source's log start


class NoCounterpart(StrEnum):
    """Why a record needs no counterpart on the other side."""

    IN_FLIGHT = "in flight"  # on the source, behind what the anchor says is copied
    BEFORE_START = "before the copy's start"  # on either side; copying started behind it
    DELETED_ON_TARGET = "deleted on the target"  # before its first offset: retention
    DELETED_ON_SOURCE = "deleted on the source"  # before its first offset: retention
    COMPACTED_ON_TARGET = "compacted on the target"  # a later record of its key replaced it there
    COMPACTED_ON_SOURCE = "compacted on the source"  # the same
    OF_OTHERS = "of other producers"  # on the target, which several flows or producers write to


class RecordPart(StrEnum):
    """A part of a record's content, in the order of ``Fingerprint.parts``."""

    KEY = "key"
    VALUE = "value"
    HEADERS = "headers"
    TIMESTAMP = "timestamp"


class Fingerprint(NamedTuple):
    """A record's offset and the fingerprint of its content.

    ``parts``: a hash of each Part, valid in this process alone; empty: which part differs is not
    asked.
    """

    offset: int
    digest: int
    parts: tuple[int, ...] = ()


class Example(NamedTuple):
    """The offsets of a finding; None where a record has no counterpart."""

    source: int | None
    target: int | None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is held in memory, in records (about 150 bytes each)."""

    window: int = 100_000  # how far ahead the next agreement is searched, on either side
    memory: int = 100_000  # how far back a repeated record is recognized
    examples: int = 3  # of each kind


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What is known of a partition beside its records. Default: each record has a counterpart.

    ``source_deleted``, ``target_deleted``: how many offsets retention deleted in front of a stream
    whose first record has no known place on the other side. So many records may stand in front of
    the first agreement on the other side, no more.
    """

    copied: int | None = None  # source offset; records from it on may be in flight
    source_end: int = (
        0  # the source's records that are not read, as nothing follows, count up to it
    )
    source_deleted: int = 0
    target_deleted: int = 0
    timed: bool = True  # timestamps are part of the fingerprints

    def may_be_in_flight(self, offset: int) -> bool:
        """Say whether the source's record at ``offset`` need not be on the target yet."""
        return self.copied is not None and offset >= self.copied


@dataclass(slots=True)
class DifferenceFinding:
    """How often a kind was found, with its first examples.

    ``differs``: for each example of DIFFERENT, which parts differ, if the fingerprints say so.
    """

    count: int = 0
    examples: list[Example] = field(default_factory=list)
    differs: list[tuple[RecordPart, ...]] = field(default_factory=list)


@dataclass(slots=True)
class Comparison:
    """The result for one partition."""

    source_records: int = 0  # compared; those in flight are not among them
    target_records: int = 0
    equal: int = 0
    found: dict[DifferenceKind, DifferenceFinding] = field(
        default_factory=lambda: {each: DifferenceFinding() for each in DifferenceKind}
    )
    no_counterpart: dict[NoCounterpart, int] = field(
        default_factory=lambda: dict.fromkeys(NoCounterpart, 0)
    )
    parts: dict[RecordPart, int] = field(
        default_factory=lambda: dict.fromkeys(RecordPart, 0)
    )  # of DIFFERENT

    def count(self, kind: DifferenceKind) -> int:
        """Return how many records have this kind of difference."""
        return self.found[kind].count

    def note(self, kind: DifferenceKind, example: Example, limits: Limits) -> None:
        """Count one record of a kind, and keep its offsets if it is among the first."""
        finding = self.found[kind]
        finding.count += 1
        if len(finding.examples) < limits.examples:
            finding.examples.append(example)

    def note_different(
        self, example: Example, parts: tuple[RecordPart, ...], limits: Limits
    ) -> None:
        """Count one record of which ``parts`` differ from those of its copy."""
        self.note(DifferenceKind.DIFFERENT, example, limits)
        finding = self.found[DifferenceKind.DIFFERENT]
        if len(finding.differs) < len(finding.examples):
            finding.differs.append(parts)
        for part in parts:
            self.parts[part] += 1

    def is_clean(self, *, foreign_ok: bool = False) -> bool:
        """Say whether the target holds the source's records, each once and in order."""
        allowed = {DifferenceKind.EXTRA} if foreign_ok else set()
        return all(not self.count(kind) for kind in DifferenceKind if kind not in allowed)


def fingerprint(
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
    time_ms: int | None,
) -> int:
    """Return a 64-bit hash of a record's content; ``time_ms``: None to ignore the timestamp.

    The timestamp type is not part of it: it is a setting of the topic, not content.
    """
    time = b"" if time_ms is None else _TIME.pack(time_ms)
    parts = [time, *_sized(key), *_sized(value)]
    for name, content in headers:
        parts += (*_sized(name.encode()), *_sized(content))
    return int.from_bytes(blake2b(b"".join(parts), digest_size=8).digest(), "big")


def _sized(part: bytes | None) -> tuple[bytes, bytes]:
    return (_LENGTH.pack(-1), b"") if part is None else (_LENGTH.pack(len(part)), part)
