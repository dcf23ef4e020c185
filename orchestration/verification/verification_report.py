"""A verification as JSON and as a page. Pure. It names offsets, and shows no record."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from orchestration.verification.outcome import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orchestration.verification.outcome import (
        PartitionOutcome,
        RecordDifference,
        VerificationOutcome,
    )
    from replication.records.batch_comparison import OffsetPair

_STYLE = (
    "body{font:14px system-ui,sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse;"
    "margin:1em 0}td,th{border:1px solid #bbb;padding:.3em .6em;text-align:left}td.n{text-align:"
    "right}.bad{color:#b00020}.good{color:#0a6b2d}"
)


def as_json(found: VerificationOutcome) -> dict[str, Any]:
    """Return the whole result; the names of counts have underscores for spaces."""
    return {
        "flow": found.flow,
        "result": found.verdict.value,
        "equal": found.verdict.value == "equal",
        "at": _moment(found.at_ms),
        "partial": found.partial,
        "seconds": round(found.took_s, 3),
        "records": found.records,
        "differences": found.differences,
        **{_name(kind): count for kind, count in found.counts.items()},
        "ranges": sum(each.ranges for each in found.partitions),
        "bytes": found.speed.bytes,
        "task_seconds": round(found.speed.task_s, 3),
        "cpu_seconds": round(found.speed.cpu_s, 3),
        "cores": found.speed.cores,
        "gb_per_minute_and_core": round(found.speed.gb_per_minute_and_core, 3),
        "nothing_found": found.left or None,
        "partitions": [_partition(each) for each in found.partitions],
    }


def _partition(each: PartitionOutcome) -> dict[str, Any]:
    return {
        "source": each.source,
        "target": each.target,
        "from": _place(each, each.begin),
        "up_to": _place(each, each.end),
        "continues": each.continues,
        "ranges": each.ranges,
        "ranges_left_out": each.skipped,
        "records": each.records,
        "differences": {_name(kind): count for kind, count in each.counts.items() if count},
        "examples": [
            {"kinds": [*map(_name, one.kinds)], "source": one.source, "target": one.target}
            for one in each.examples
        ],
        "apart": {_name(why): count for why, count in each.no_counterpart.items() if count},
        "not_verified": each.not_verified or None,
        "waits": each.waits,
        "remarks": [*each.remarks],
    }


def _place(each: PartitionOutcome, place: OffsetPair) -> dict[str, int | None]:
    return {"source": place.source, "target": None if each.transformed else place.target}


def as_page(found: VerificationOutcome) -> str:
    """Return the result as a page of HTML without scripts."""
    look = "good" if found.verdict.good else "bad"
    shown = [each for each in found.partitions if each.records or each.counts or each.not_verified]
    return "".join(
        (
            "<!DOCTYPE html><html lang=en><meta charset=utf-8>",
            f"<title>{escape(found.flow)}: {found.verdict}</title><style>{_STYLE}</style>",
            f"<h1>{escape(found.flow)}: <span class={look}>{found.verdict}</span></h1>",
            f"<p>{escape(sentence(found))}</p><p>{escape(speed_line(found))}</p>",
            f"<p>As of {_moment(found.at_ms)}, in {found.took_s:.1f} s.</p>",
            _table(("kind", "records"), ((k, n) for k, n in found.counts.items() if n)),
            _table(
                ("partition", "kinds", "source offset", "target offset"),
                (row for each in found.partitions for row in _examples(each)),
            ),
            _table(
                ("partition", "target", "from", "up to", "records", "differences", "remarks"),
                map(_row, shown),
            ),
            "</html>\n",
        )
    )


def sentence(found: VerificationOutcome) -> str:
    """Return the whole result in a sentence."""
    if found.left:
        return f"{found.verdict}: {found.left}"
    differences = [f"{count:,} {kind}" for kind, count in found.counts.items() if count]
    unverified = [each for each in found.partitions if each.not_verified]
    more = [f"{len(unverified):,} of {len(found.partitions):,} partitions not verified"]
    parts = [f"{found.records:,} records equal", *differences, *(more if unverified else [])]
    if found.partial:
        parts.append("only the chosen ranges were compared")
    return f"{found.verdict}: {', '.join(parts)}"


def speed_line(found: VerificationOutcome) -> str:
    """Return how fast ranges were compared."""
    speed = found.speed
    cores = f"{speed.cores} core{'' if speed.cores == 1 else 's'}"
    return (
        f"{sum(each.ranges for each in found.partitions):,} ranges, {speed.bytes / 1e9:.3f} GB of "
        f"both logs with {cores}: {speed.task_s:.1f} s of tasks, {speed.cpu_s:.1f} s of CPU, "
        f"{speed.gb_per_minute_and_core:.2f} GB per minute and core; {found.took_s:.1f} s in all"
    )


def lines(found: VerificationOutcome) -> Iterator[str]:
    """Yield what is to be said of partitions: differences with their offsets, then remarks."""
    for each in found.partitions:
        for kind in KINDS:
            if each.counts.get(kind):
                there = [*map(_where, (e for e in each.examples if kind in e.kinds))]
                shown = f": {'; '.join(there[:3])}" if there else ""
                more = "; …" if len(there) < each.counts[kind] or len(there) > 3 else ""
                yield (
                    f"{each.source} -> {each.target}: {each.counts[kind]:,} {kind}{shown}"
                    f"{more if there else ''}"
                )
    for each in found.partitions:
        if each.not_verified:
            yield f"{each.source}: not verified: {each.not_verified}"
        for why, count in each.no_counterpart.items():
            if count:
                yield f"{each.source}: {count:,} {why}"
        for remark in each.remarks:
            yield f"{each.source}: {remark}"


def _where(example: RecordDifference) -> str:
    sides = (("source", example.source), ("target", example.target))
    return ", ".join(f"{side} offset {at}" for side, at in sides if at is not None)


def _examples(each: PartitionOutcome) -> Iterator[tuple[object, ...]]:
    for one in each.examples:
        offsets = ("" if at is None else at for at in (one.source, one.target))
        yield (each.source, ", ".join(one.kinds), *offsets)


def _row(each: PartitionOutcome) -> tuple[object, ...]:
    remarks = [each.not_verified, *(f"{n:,} {why}" for why, n in each.no_counterpart.items() if n)]
    return (
        each.source,
        each.target,
        each.begin.source,
        each.end.source,
        each.records,
        each.differences,
        "; ".join([*filter(None, remarks), *each.remarks]),
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    if not body:
        return ""
    return f"<table><tr>{''.join(f'<th>{each}</th>' for each in head)}</tr>{body}</table>"


def _cell(content: object) -> str:
    if isinstance(content, int):
        return f"<td class=n>{content:,}</td>"
    return f"<td>{escape(str(content))}</td>"


def _moment(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _name(name: str) -> str:
    return name.replace(" ", "_")
