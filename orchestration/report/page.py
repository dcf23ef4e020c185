"""The page: one HTML file that needs no other file. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING

from orchestration.report.flow_history import worst_first
from orchestration.report.pictures import heat_map, line, states, topology
from replication.durations import format_moment
from replication.model import NEEDS_NO_ACTION, PartitionState
from replication.supervision.partition_states import describe_loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from orchestration.flows.status_view import FlowView
    from orchestration.report.flow_history import FlowSample, FlowSeries

MOST_TOPICS, MOST_LOSSES, MOST_GROUPS = 40, 20, 50  # the page stays readable
MOST_NUMBERS = 10  # partitions of a topic
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; color: #1d2733 }
h1 { font-size: 1.5rem } h2 { margin-top: 2.5rem; border-bottom: 2px solid #d5dbe1 }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 }
th, td { border-bottom: 1px solid #d5dbe1; padding: .3rem .6rem; text-align: left }
figure { margin: 1rem 0 } figcaption { color: #52606d } svg { max-width: 100%; height: auto }
.good { color: #14783c } .bad { color: #b3261e }
"""


def page(histories: Sequence[FlowSeries], at_ms: int) -> str:
    """Return the page, in HTML, of what was found until ``at_ms``."""
    bad = [each.name for each in histories if not _is_well(each)]
    verdict = f"not healthy: {', '.join(bad)}" if bad else "all flows are healthy"
    kind = "bad" if bad else "good"
    arrows = [(*each.ends, _is_well(each)) for each in histories]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f"<title>Isthmus: replication report</title><style>{_STYLE}</style></head><body>",
            f'<h1>Replication: <span class="{kind}">{escape(verdict)}</span></h1>',
            f"<p>{format_moment(at_ms)} UTC</p>",
            topology(arrows),
            _table(("flow", "state", "copied", "lag", "would be lost (RPO)"), _summary(histories)),
            *(part for each in histories for part in _flow(each, at_ms)),
            "</body></html>\n",
        ]
    )


def _is_well(each: FlowSeries) -> bool:
    return each.last is not None and each.last.health.healthy


def _summary(histories: Iterable[FlowSeries]) -> Iterator[tuple[str, ...]]:
    for each in histories:
        if each.last is None:
            yield each.name, "not known", "", "", ""
            continue
        lag = each.samples[-1].lag_s
        health = each.last.health
        yield (
            each.name,
            f"{health.state}: {health.reason}" if health.reason else str(health.state),
            f"{each.last.records:,} records",
            "not known" if lag is None else f"{lag:.1f} s",
            _point(each.last),
        )


def _point(view: FlowView) -> str:
    records = view.point.records
    return "not known" if records is None else f"{records:,} records"


def _flow(each: FlowSeries, at_ms: int) -> Iterator[str]:
    samples = each.samples
    yield f"<h2>{escape(each.name)}</h2>"
    if past := each.past:
        yield f"<h3>{escape(past.span)}</h3>"
        yield from _series(past.samples, past.lags, each.sla_s)
        began_ms = samples[0].at_ms if samples else at_ms
        yield f"<h3>The last {math.ceil((at_ms - began_ms) / 1000)} seconds</h3>"
    yield from _series(samples, each.lags, each.sla_s)
    halted, groups = ("topic-partitions", "state", "reason"), ("group", "partitions", "read (UTC)")
    drills = ("ended (UTC)", "result", "RTO", "RPO")
    for title, head, rows, none in (
        ("Not copied", halted, _halted(each), "all is copied"),
        ("Losses", ("what was not copied",), _losses(each), "nothing was lost"),
        ("Consumer groups", groups, _groups(each), "none is synced"),
        ("Drills", drills, _drills(each), "none was made yet"),
    ):
        is_known = each.is_known and (title != "Drills" or each.drills is not None)
        yield from _section(title, head, rows, none if is_known else "not known")


def _series(
    samples: Sequence[FlowSample], lags: Mapping[str, Sequence[float | None]], sla_s: float
) -> Iterator[str]:
    yield states([(sample.state, sample.healthy) for sample in samples])
    yield line("lag", "s", [sample.lag_s for sample in samples], sla_s)
    yield line("throughput", "records/s", [sample.records_s for sample in samples])
    yield line("throughput", "MB/s", [sample.mb_s for sample in samples])
    yield line("latency", "ms", [sample.latency_ms for sample in samples])
    if lags:
        shown = worst_first(lags, MOST_TOPICS)
        yield f"<p>Lag by topic: {len(shown)} of {len(lags)}, the highest first</p>"
        yield heat_map({topic: lags[topic] for topic in shown}, sla_s)


def _section(
    title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]], otherwise: str
) -> Iterator[str]:
    rows = list(rows)
    yield f"<h3>{title}</h3>"
    yield _table(head, rows) if rows else f"<p>{otherwise}</p>"


def _halted(each: FlowSeries) -> Iterator[tuple[str, ...]]:
    """Yield the partitions that are not RUNNING: of a topic, those in one state for one reason."""
    found: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for anchor in each.last.look.anchors if each.last and each.last.look else ():
        if anchor.state != PartitionState.RUNNING:
            found[anchor.topic, str(anchor.state), anchor.reason].append(anchor.partition)
    worst = sorted(found.items(), key=lambda one: (one[0][1] in NEEDS_NO_ACTION, one[0]))
    for (topic, state, reason), numbers in worst[:MOST_TOPICS]:
        named = ", ".join(map(str, numbers[:MOST_NUMBERS]))
        more = f" and {len(numbers) - MOST_NUMBERS} more" if numbers[MOST_NUMBERS:] else ""
        yield f"{topic}-{named}{more}", state, reason
    if len(worst) > MOST_TOPICS:
        yield f"and {len(worst) - MOST_TOPICS} more: isthmus status FILE", "", ""


def _losses(each: FlowSeries) -> Iterator[tuple[str, ...]]:
    for loss in each.losses[:MOST_LOSSES]:
        yield (describe_loss(loss),)
    if len(each.losses) > MOST_LOSSES:
        yield (f"and {len(each.losses) - MOST_LOSSES} more: isthmus losses FILE",)


def _groups(each: FlowSeries) -> Iterator[tuple[str, ...]]:
    look = each.last.look if each.last else None
    for group in (look.groups if look else ())[:MOST_GROUPS]:
        yield group.group, str(len(group.positions)), format_moment(group.at_ms)


def _drills(each: FlowSeries) -> Iterator[tuple[str, ...]]:
    for drill in sorted(each.drills or (), key=lambda one: -one.ended_ms):
        yield (
            format_moment(drill.ended_ms),
            "good" if drill.good else f"not good: {drill.problem}",
            "-" if drill.rto_s is None else f"{drill.rto_s:.1f} s",
            "-" if drill.rpo_records is None else f"{drill.rpo_records:,} records",
        )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><tr>{top}</tr>{body}</table>"
