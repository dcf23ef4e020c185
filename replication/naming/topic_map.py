"""Parses a map file: one line ``source-topic = target-topic`` for each topic. Pure.

A line that begins with a cluster and a colon (``A:orders = orders-of-a``) holds for that source
alone and beats one without; topics cannot have a colon in their names. A topic without a line is
named as the flow names all others. ``#`` and ``!`` begin comments, as in properties files.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from replication.naming.conflicts import illegal_reason
from replication.settings.naming_settings import MappedName

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


class MapError(NamedTuple):
    """A line that cannot be used, and why."""

    line: int
    reason: str


def read_map(text: str, clusters: Collection[str]) -> tuple[tuple[MappedName, ...], list[MapError]]:
    """Return the lines of a map file, and everything that is wrong with it."""
    lines: list[MappedName] = []
    wrong: list[MapError] = []
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        line = raw.strip()
        if line and line[0] not in "#!":
            read = _read(number, line, clusters)
            (lines if isinstance(read, MappedName) else wrong).append(read)  # type: ignore[arg-type] # the list of its kind
    return tuple(lines), sorted([*wrong, *_repeated(lines), *_meeting(lines, clusters)])


def names_for(lines: Iterable[MappedName], source: str) -> Mapping[str, MappedName]:
    """Return the lines that hold for one source, by topic."""
    ordered = sorted(lines, key=lambda each: each.source is not None)
    return {each.topic: each for each in ordered if each.source in (None, source)}


def made_from(lines: Iterable[MappedName], target: str, here: str) -> tuple[str, str] | None:
    """Return the (cluster, topic) that the map names ``target`` on the cluster ``here``.

    None if no line matches, or several do: then the name alone is ambiguous.
    """
    found = {
        (each.source, each.topic)
        for each in lines
        if each.target == target and each.source is not None and each.source != here
    }
    return found.pop() if len(found) == 1 else None


def _read(number: int, line: str, clusters: Collection[str]) -> MappedName | MapError:
    left, equals, right = (part.strip() for part in line.partition("="))
    if not equals:
        return MapError(number, f"{line!r} has no =: write source-topic = target-topic")
    source, colon, topic = left.rpartition(":")
    if colon and source.strip() not in clusters:
        near = difflib.get_close_matches(source.strip(), sorted(clusters), n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(clusters))}"
        return MapError(number, f"{source.strip()!r} is not a cluster; {hint}")
    for name in (topic.strip(), right):
        if why := illegal_reason(name):
            return MapError(number, f"{name!r}: {why}" if name else "a name is missing")
    return MappedName(source.strip() if colon else None, topic.strip(), right, number)


def _repeated(lines: Sequence[MappedName]) -> Iterator[MapError]:
    first: dict[tuple[str | None, str], MappedName] = {}
    for each in lines:
        before = first.setdefault((each.source, each.topic), each)
        if before is not each:
            yield MapError(each.line, f"{each.topic} is already mapped in line {before.line}")


def _meeting(lines: Sequence[MappedName], clusters: Collection[str]) -> Iterator[MapError]:
    """Find two topics of one source with one name: no setting lets these merge."""
    met: dict[int, MapError] = {}
    for cluster in sorted(clusters):
        first: dict[str, MappedName] = {}
        in_order = sorted(names_for(lines, cluster).values(), key=lambda each: each.line)
        for each in in_order:
            before = first.setdefault(each.target, each)
            if before is not each:
                reason = (
                    f"{each.topic} and {before.topic} of line {before.line} would both map to "
                    f"{each.target}: topics of one source cannot be merged"
                )
                met.setdefault(each.line, MapError(each.line, reason))
    yield from met.values()
