"""Formats the result of ``isthmus compare`` as a table, a verdict and JSON."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.text import Text

from orchestration.cli.flows.compare_remarks import remarks, topic_of
from orchestration.cli.screen.text_table import Column, TextTable
from orchestration.flows.comparison.comparison_verdict import ComparisonVerdict, verdict
from replication.records.comparison_result import DifferenceKind, NoCounterpart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from orchestration.flows.comparison.comparison_verdict import (
        ComparisonReport,
        ComparisonRow,
        NotFound,
    )
    from replication.records.comparison_result import Example


def totals(rows: Iterable[ComparisonRow]) -> dict[str, int]:
    """Return sums over all partitions, by name; a name has underscores for spaces."""
    names = (
        "records",
        "target_records",
        "same",
        *map(_name, DifferenceKind),
        *map(_name, NoCounterpart),
    )
    sums = dict.fromkeys(names, 0)
    for each in rows:
        comparison = each.result.comparison
        sums["records"] += comparison.source_records
        sums["target_records"] += comparison.target_records
        sums["same"] += comparison.equal
        for kind in DifferenceKind:
            sums[_name(kind)] += comparison.count(kind)
        for why, count in comparison.no_counterpart.items():
            sums[_name(why)] += count
    return sums


def as_json(report: ComparisonReport) -> dict[str, Any]:
    """Return the whole result for ``-o json``."""
    remark_data = ({**each._asdict(), "about": _name(each.about)} for each in remarks(report.rows))
    return {
        "result": report.verdict.value,
        "equal": report.verdict is ComparisonVerdict.EQUAL,
        **totals(report.rows),
        "not_found": [each._asdict() for each in report.not_found],
        "failed": [{"flow": flow, "why": why} for flow, why in report.failed.items()],
        "gone": [each._asdict() for each in report.deleted_topics],
        "transformed": [each._asdict() for each in report.transformed],
        "not_copied_in_time": [
            {
                "flow": flow,
                "partition": str(each.partition),
                "end": each.end,
                "copied": each.copied,
            }
            for flow, each in report.uncopied
        ],
        "remarks": list(remark_data),
        "partitions": [_partition(row, foreign_ok=report.foreign_ok) for row in report.rows],
    }


def table(report: ComparisonReport) -> TextTable:
    """Return a table with a row per topic."""
    headers = ("parts", "records", "in flight", *DifferenceKind)
    numbers = [Column(each, right=True) for each in headers]
    shown = TextTable([*map(Column, ("flow", "topic", "target topic", "result")), *numbers])
    for named, group in groupby(report.rows, topic_of):
        members = list(group)
        sums = totals(members)
        result = verdict(members, foreign_ok=report.foreign_ok)
        faults = (_number(sums[_name(kind)]) for kind in DifferenceKind)
        counts = (str(len(members)), f"{sums['records']:,}", f"{sums['in_flight']:,}")
        shown.add(*named, Text(result, "" if result.good else "red"), *counts, *faults)
    return shown


def lines(report: ComparisonReport) -> Iterator[str]:
    """Yield what is to be said beside the table: what was not found, remarks, then differences."""
    yield from map(_not_found, report.not_found)
    for deleted in report.deleted_topics:
        flow, cluster, topic = deleted
        yield f"{flow}: {cluster} no longer has {topic}, so its copy is not compared"
    for name, topic in report.transformed:
        yield f"{name}: {topic} is transformed, so its copy is not compared"
    for flow, each in report.uncopied:
        copied = "no copied offset is known" if each.copied is None else f"copied: {each.copied}"
        yield f"{flow} {each.partition}: not copied up to {each.end} in time ({copied})"
    yield from map(str, remarks(report.rows))
    yield from _examples(report.rows)


def sentence(report: ComparisonReport) -> str:
    """Return the last line: the whole result in a sentence."""
    sums, topics = totals(report.rows), len({topic_of(each) for each in report.rows})
    if report.verdict is ComparisonVerdict.EMPTY:
        return f"{report.verdict}: {_some(topics, 'topic')}, {_some(len(report.rows), 'partition')}"
    if not report.rows:
        return f"nothing compared: {'; '.join(map(_not_found, report.not_found))}"
    counted = [
        f"{sums[_name(kind)]:,} {kind.value}"
        for kind in DifferenceKind
        if kind is not DifferenceKind.EXTRA or sums[_name(kind)]
    ]
    more = [*_missing(report.rows), *_no_counterpart(sums)]
    if report.uncopied:
        more.append(f"{_some(len(report.uncopied), 'partition')} not copied in time")
    if report.not_found:
        more.append(f"no topic found for {', '.join(each.flow for each in report.not_found)}")
    whole = f"{report.verdict}: {sums['records']:,} records, {', '.join(counted)}"
    return f"{whole}; {', '.join(more)}" if more else whole


def _missing(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """Yield how many topics, and partitions of others, the target does not have."""
    by_topic = [list(group) for _, group in groupby(rows, topic_of)]
    whole = [each for each in by_topic if not any(row.result.work.on_target for row in each)]
    parts = sum(row.result.missing for each in by_topic if each not in whole for row in each)
    if whole:
        clusters = ", ".join(dict.fromkeys(each[0].clusters[1] for each in whole))
        yield f"{len(whole):,} of {_some(len(by_topic), 'topic')} not on {clusters}"
    if parts:
        yield f"{_some(parts, 'partition')} missing on the target"


def _no_counterpart(sums: dict[str, int]) -> Iterator[str]:
    return (f"{sums[_name(why)]:,} {why.value}" for why in NoCounterpart if sums[_name(why)])


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _not_found(each: NotFound) -> str:
    return f"{each.flow}: {each.why}"


def _examples(rows: Iterable[ComparisonRow]) -> Iterator[str]:
    """Yield a line per partition and kind: the count and first offsets."""
    for row in rows:
        work, comparison = row.result.work, row.result.comparison
        for kind, finding in comparison.found.items():
            if finding.count:
                where = "; ".join(map(_where, finding.examples))
                more = "; …" if finding.count > len(finding.examples) else ""
                yield (
                    f"{work.source} -> {work.target}: {finding.count:,} {kind.value}: {where}{more}"
                )


def _partition(row: ComparisonRow, *, foreign_ok: bool) -> dict[str, Any]:
    result = row.result
    work = result.work
    return {
        "flow": row.flow,
        "source": str(work.source),
        "target": str(work.target),
        "result": verdict([row], foreign_ok=foreign_ok).value,
        "on_source": work.on_source,
        "on_target": work.on_target,
        "source_end": work.source_end if work.on_source else None,
        "target_end": work.target_end if work.on_target else None,
        "copied": work.copied.source,
        "halted": result.halted or None,
        **totals([row]),
        "compacted": {"source": work.compacted.source, "target": work.compacted.target},
        "timestamps_count": result.timed,
        "examples": {
            _name(kind): [each._asdict() for each in finding.examples]
            for kind, finding in result.comparison.found.items()
            if finding.count
        },
    }


def _where(example: Example) -> str:
    sides = (("source", example.source), ("target", example.target))
    return ", ".join(f"{side} offset {at}" for side, at in sides if at is not None)


def _number(count: int) -> Text:
    return Text(f"{count:,}", "red") if count else Text("0")


def _name(name: str) -> str:
    return name.replace(" ", "_").replace("'s", "")
