"""Names what is wrong with records that were not matched. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from replication.verification.transformed import TransformFinding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LOST, REPEATED, EXTRA = "lost", "repeated", "extra"
_PARTS = ("timestamp", "key", "value", "headers")


class Unmatched(NamedTuple):
    """A record that was not matched as it should be; ``span`` None: nothing like it is expected."""

    kind: str
    place: int
    content: tuple[int, ...]  # time, and hashes of key, value and headers
    span: int | None = None
    offset: int | None = None  # at the source
    target: int | None = None


def named(unmatched: Sequence[Unmatched]) -> list[TransformFinding]:
    """Return what was found, by kind and partitions, each with the offsets of the first one.

    A lost record and one that is too many are one that differs, if they differ in one part alone.
    """
    groups: dict[tuple[str, int | None, int], list[Unmatched]] = defaultdict(list)
    for each in _paired(unmatched):
        groups[each.kind, each.span, each.place].append(each)
    return [
        TransformFinding(kind, len(listed), span, place, listed[0].offset, listed[0].target)
        for (kind, span, place), listed in groups.items()
    ]


def _paired(unmatched: Sequence[Unmatched]) -> Iterator[Unmatched]:
    """Yield all records, two that are one with a different part as that one, in order."""
    ordered = sorted(unmatched, key=lambda e: (e.span or 0, e.offset or 0, e.target or 0))
    lost = [each for each in ordered if each.kind == LOST]
    too_many = _by_three_parts(each for each in ordered if each.kind in {REPEATED, EXTRA})
    taken: set[Unmatched] = set()
    partners: dict[Unmatched, Unmatched] = {}
    for each in lost:
        found = next(_alike(each, too_many, taken), None)
        if found is not None:
            taken.add(found[1])
            kind = f"different {_PARTS[found[0]]}"
            partners[each] = each._replace(kind=kind, target=found[1].target)
    yield from (partners.get(each, each) for each in ordered if each not in taken)


def _by_three_parts(
    records: Iterable[Unmatched],
) -> dict[tuple[int, int, tuple[int, ...]], list[Unmatched]]:
    found: dict[tuple[int, int, tuple[int, ...]], list[Unmatched]] = defaultdict(list)
    for each in records:
        for part, rest in _rests(each):
            found[each.place, part, rest].append(each)
    return found


def _rests(record: Unmatched) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each part's number, and all others."""
    content = record.content
    for part in range(len(_PARTS)):
        yield part, (*content[:part], *content[part + 1 :])


def _alike(
    record: Unmatched,
    others: dict[tuple[int, int, tuple[int, ...]], list[Unmatched]],
    taken: set[Unmatched],
) -> Iterator[tuple[int, Unmatched]]:
    for part, rest in _rests(record):
        for each in others.get((record.place, part, rest), ()):
            if each not in taken:
                yield part, each
