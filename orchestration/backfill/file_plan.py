"""Which records of files are appended, and which are the stream's or already there. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from replication.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from orchestration.backfill.history import PartitionHistory

_NUMBERS = ("first", "last", "records", "lines", "before_end", "last_before_end")
_UNKNOWN = "the stream does not copy it, or --topics leaves it out"
_BOTH = (
    "a backfill from the source has already copied a part of it: continue that one, without "
    "--from-files"
)


@dataclass(frozen=True, slots=True)
class FilePart:
    """What files have of a source partition, by source offset. ``last`` is the last one of all.

    Appended are those before ``end``, where the stream began, and behind ``at``, up to where an
    earlier run has appended them. ``refused``: why nothing is.
    """

    source: TopicPartition
    target_topic: str
    first: int
    last: int
    records: int  # different offsets
    lines: int  # records in files: more where files overlap
    before_end: int  # different offsets before ``end``
    last_before_end: int | None
    end: int = 0
    at: int = 0
    refused: str = ""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to append."""
        return not self.before_end or self.at > (self.last_before_end or 0)

    @property
    def gap(self) -> OffsetRange | None:
        """The offsets between the files' last record and the stream's first one; None: none are."""
        behind = self.first if self.last_before_end is None else self.last_before_end + 1
        return OffsetRange(behind, self.end) if behind < self.end else None


def may_append(
    history: Iterable[PartitionHistory], from_source: Collection[TopicPartition]
) -> dict[TopicPartition, tuple[str, int, str]]:
    """Return target topic, end and objection of each partition that the stream copies.

    ``from_source``: the partitions of which a backfill from the source has copied something.
    """
    return {
        each.source: (
            each.target_topic,
            each.end,
            each.refused or (_BOTH if each.source in from_source else ""),
        )
        for each in history
    }


def file_parts(
    counted: Iterable[Mapping[str, Any]],
    known: Mapping[TopicPartition, tuple[str, int, str]],
    done: Mapping[TopicPartition, int],
) -> list[FilePart]:
    """Return what is appended of each partition that files have, in their order."""
    found = []
    for each in counted:
        where = TopicPartition(str(each["topic"] or ""), each["partition"])
        target, end, refused = known.get(where, ("", 0, _UNKNOWN))
        numbers = {name: each[name] for name in _NUMBERS}
        at = done.get(where, 0)
        found.append(FilePart(where, target, **numbers, end=end, at=at, refused=refused))
    return sorted(found, key=lambda part: part.source)


def file_lines(parts: Iterable[FilePart], flow: str) -> Iterator[str]:
    """Yield what a person reads of the plan: a line a partition, and what to know of it."""
    for each in parts:
        if each.refused:
            yield f"{each.source}: {each.records:,} records are not appended: {each.refused}"
            continue
        where = f"{each.source} -> {each.target_topic}-{each.source.partition}"
        offsets = f"offsets {each.first} to {each.last}"
        yield f"{where}: {each.before_end:,} records, {offsets}{_more(each, flow)}"


def _more(part: FilePart, flow: str) -> str:
    parts = []
    if part.records > part.before_end:
        parts.append(
            f"{part.records - part.before_end:,} from offset {part.end} on are left out: the flow "
            "copies them"
        )
    if part.lines > part.records:
        parts.append(f"{part.lines - part.records:,} are there more than once")
    if part.at:
        parts.append("all are appended" if part.is_done else f"those before {part.at} are appended")
    if part.gap:
        parts.append(
            f"no file has offsets {part.gap.start} to {part.gap.end - 1}; if the source has them: "
            f"isthmus backfill FILE --flow {flow.replace('->', ':')} --from {part.gap.start}"
        )
    return "".join(f"; {each}" for each in parts)


def file_sentence(parts: Iterable[FilePart]) -> str:
    """Return the plan in a line."""
    listed = [*parts]
    left = [each for each in listed if not each.refused and not each.is_done]
    refused = sum(bool(each.refused) for each in listed)
    more = f"; {refused} partitions are left out" if refused else ""
    done = "" if left or refused == len(listed) else "; all are appended"
    records = sum(each.before_end for each in left)
    return f"{records:,} records of {len(left)} partitions to append{done}{more}"


def file_data(parts: Iterable[FilePart]) -> list[dict[str, Any]]:
    """Return the plan as plain data; its keys are kept for scripts."""
    return [
        {
            "topic": each.source.topic,
            "partition": each.source.partition,
            "target": each.target_topic,
            "first": each.first,
            "last": each.last,
            "records": each.records,
            "in_files": each.lines,
            "to_append": 0 if each.refused else each.before_end,
            "end": each.end,
            "appended_to": each.at,
            "refused": each.refused,
        }
        for each in parts
    ]
