"""The records of a drill, and what became of them: lost, repeated, different. Pure."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Canary:
    """A record that a drill wrote; no two of a drill have equal keys."""

    drill: str  # its id
    cluster: str  # alias of the one that it was written to
    number: int
    at_ms: int

    @property
    def key(self) -> bytes:
        return f"{self.cluster}/{self.number}".encode()

    @property
    def value(self) -> bytes:
        return json.dumps({"drill": self.drill, "at_ms": self.at_ms}).encode()


class FoundRecord(NamedTuple):
    """A record as a cluster has it, with the timestamp in ms."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class CanaryVerdict:
    """How the records on a cluster differ from those that were written."""

    records: int  # written
    lost: int = 0
    repeated: int = 0
    different: int = 0  # altered, out of order, or never written

    @property
    def right(self) -> bool:
        return not (self.lost or self.repeated or self.different)

    def __str__(self) -> str:
        return (
            f"{self.records} records, {self.lost} lost, {self.repeated} repeated, "
            f"{self.different} different"
        )


def verdict(written: Collection[Canary], found: Sequence[FoundRecord]) -> CanaryVerdict:
    """Compare the records of one cluster, in the order of each partition, with all written ones."""
    expected = {each.key: each for each in written}
    times = Counter(each.key for each in found)
    return CanaryVerdict(
        len(expected),
        sum(key not in times for key in expected),
        sum(count - 1 for key, count in times.items() if key in expected),
        sum(not _is_same(each, expected) for each in found) + _disordered(found, expected),
    )


def _is_same(found: FoundRecord, expected: dict[bytes, Canary]) -> bool:
    canary = expected.get(found.key or b"")
    return canary is not None and (found.value, found.at_ms) == (canary.value, canary.at_ms)


def _disordered(found: Iterable[FoundRecord], expected: dict[bytes, Canary]) -> int:
    """Count records that stand behind a later one of the same writer in their partition."""
    last: dict[tuple[int, str], int] = {}
    count = 0
    for each in found:
        canary = expected.get(each.key or b"")
        if canary is not None:
            writer = each.partition, canary.cluster
            count += canary.number < last.get(writer, -1)
            last[writer] = max(canary.number, last.get(writer, -1))
    return count


def absent(written: Iterable[Canary], found: Iterable[FoundRecord]) -> tuple[Canary, ...]:
    """Return the written records that are not among those found, in the order of writing."""
    there = {each.key for each in found}
    return tuple(each for each in written if each.key not in there)
