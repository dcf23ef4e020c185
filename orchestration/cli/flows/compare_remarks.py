"""What ``isthmus compare`` says of a topic beside its differences: what is missing or not counted.

Pure. One remark covers all partitions of a topic of which the same is true.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from replication.records.comparison_result import NoCounterpart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from orchestration.flows.comparison.comparison_verdict import ComparisonRow

    Group = Sequence[ComparisonRow]
    # What it is about; rows with the same key, unless that is false, get one remark; its text.
    _Rule = tuple[str, Callable[[ComparisonRow], object], Callable[[Group], str]]

_SHOWN = 10  # partitions in a sentence


class CompareRemark(NamedTuple):
    """A sentence about partitions of a topic; ``about`` names it for programs."""

    flow: str
    source: str
    target: str
    about: str
    partitions: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.partitions[:_SHOWN]))
        more = ", …" if len(self.partitions) > _SHOWN else ""
        word = "partition" if len(self.partitions) == 1 else "partitions"
        return f"{self.source} -> {self.target}, {word} {shown}{more}: {self.text}"


def topic_of(row: ComparisonRow) -> tuple[str, str, str]:
    """Return the flow, the topic and its name on the target."""
    work = row.result.work
    return row.flow, work.source.topic, work.target.topic


def remarks(rows: Iterable[ComparisonRow]) -> Iterator[CompareRemark]:
    """Yield the remarks of all topics, what is missing first."""
    for named, group in groupby(rows, topic_of):
        members = list(group)
        for about, key, say in (_missing(members), *_RULES):
            concerned = [each for each in members if key(each)]
            for same in dict.fromkeys(map(key, concerned)):
                of = [each for each in concerned if key(each) == same]
                parts = tuple(each.result.work.source.partition for each in of)
                yield CompareRemark(*named, about, parts, say(of))


def _missing(rows: Group) -> _Rule:
    """Return what is missing on the target: the topic, or some of its partitions."""
    if any(each.result.work.on_target for each in rows):
        return "missing partitions", lambda row: row.result.missing, _say_no_partitions
    return "missing topic", lambda row: row.result.missing, _say_no_topic


def _say_no_topic(rows: Group) -> str:
    return f"{rows[0].clusters[1]} has no topic {rows[0].result.work.target.topic}"


def _say_no_partitions(rows: Group) -> str:
    source, target = rows[0].clusters
    return f"{target} does not have them; {source} has more partitions"


def _say_more(rows: Group) -> str:
    records = sum(each.result.comparison.target_records for each in rows)
    return (
        f"only {rows[0].clusters[1]} has them; it has more partitions, {records:,} records in them"
    )


def _say_halted(rows: Group) -> str:
    return (
        f"the partition is halted, so records in flight are not copied: {rows[0].result.halted}; "
        "see isthmus resolve FILE"
    )


def _say_others(rows: Group, count: str) -> str:
    other_writers = rows[0].other_writers
    who = f"; {', '.join(other_writers)} may write to it, too" if other_writers else ""
    return f"{count} of other producers in the target topic left out{who}"


def _say_compacted(rows: Group) -> str:
    row = rows[0]
    compacted = (row.result.work.compacted.source, row.result.work.compacted.target)
    where = [name for name, each in zip(row.clusters, compacted, strict=True) if each]
    return f"compacted on {' and '.join(where)}: compared by key, the last record of each"


def _sum(rows: Group, why: NoCounterpart) -> str:
    count = sum(each.result.comparison.no_counterpart[why] for each in rows)
    return f"{count:,} record{'' if count == 1 else 's'}"


def _no_counterpart(why: NoCounterpart, say: Callable[[Group, str], str], name: str = "") -> _Rule:
    """Return the rule for records that were set apart; ``say`` gets them and their count."""
    return (
        name or why,
        lambda row: row.result.comparison.no_counterpart[why] > 0,
        lambda rows: say(rows, _sum(rows, why)),
    )


def _deleted(why: NoCounterpart, side: int) -> _Rule:
    return _no_counterpart(
        why,
        lambda rows, count: (
            f"{count} deleted on {rows[0].clusters[side]}, before its first offset (retention)"
        ),
    )


def _replaced(why: NoCounterpart, side: int) -> _Rule:
    return _no_counterpart(
        why,
        lambda rows, count: (
            f"{count} replaced on {rows[0].clusters[side]} by a later one of their key"
        ),
    )


_RULES: tuple[_Rule, ...] = (
    ("more partitions", lambda row: not row.result.work.on_source, _say_more),
    ("halted", lambda row: row.result.halted, _say_halted),
    (
        "position",
        lambda row: row.result.work.on_source and row.result.work.copied.remark,
        lambda rows: rows[0].result.work.copied.remark,
    ),
    _no_counterpart(
        NoCounterpart.IN_FLIGHT,
        lambda _, count: f"{count} in flight: after what the anchors say is copied",
    ),
    _no_counterpart(
        NoCounterpart.BEFORE_START,
        lambda _, count: f"{count} before the offset where copying started",
    ),
    _deleted(NoCounterpart.DELETED_ON_SOURCE, 0),
    _deleted(NoCounterpart.DELETED_ON_TARGET, 1),
    _replaced(NoCounterpart.COMPACTED_ON_SOURCE, 0),
    _replaced(NoCounterpart.COMPACTED_ON_TARGET, 1),
    _no_counterpart(NoCounterpart.OF_OTHERS, _say_others, "merged"),
    (
        "compacted",
        lambda row: bool(row.result.work.compacted) and not row.result.missing,
        _say_compacted,
    ),
    (
        "timestamps",
        lambda row: not row.result.timed,
        lambda _: (
            "timestamps were not compared: the target topic has "
            "message.timestamp.type=LogAppendTime"
        ),
    ),
    (
        "headers",
        lambda row: row.result.origins > 0,
        lambda _: "the header isthmus.origin, which the flow adds, was not compared",
    ),
    (
        "left out",
        lambda row: row.skipped > 0,
        lambda rows: (
            f"a decision left out {sum(each.skipped for each in rows):,} records: "
            "`isthmus losses FILE` lists them"
        ),
    ),
)
