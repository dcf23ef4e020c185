"""The table of ``isthmus status`` and ``isthmus run``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from replication.model import FlowState

if TYPE_CHECKING:
    from rich.console import RenderableType

    from orchestration.panel import FlowView, TopicView
    from replication.state import DutyReport

ROWS_PER_FLOW = 30
_STYLES = {"RUNNING": "green", "PAUSED": "yellow", "STOPPED": "yellow", "STARTING": "yellow"}


def render(views: tuple[FlowView, ...], note: str = "") -> RenderableType:
    """Return the table of all flows, with a line for each flow that is not well."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("flow", no_wrap=True)
    table.add_column("topic", overflow="fold")
    for name in ("partitions", "copied", "records/s", "MB/s", "lag", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("up", justify="right", no_wrap=True)
    for view in views:
        _add_flow(table, view)
    lines = [_complaint(each) for each in views if not each.health.healthy]
    lines += [_remark(each, said) for each in views if (said := _said(each))]
    lines += [_failed(view, duty) for view in views for duty in _duties(view) if not duty.ok]
    return Group(table, *lines, *([Text(note, style="dim")] if note else []))


def _add_flow(table: Table, view: FlowView) -> None:
    up = duration(view.look.up_s) if view.look and view.look.seen.status else "-"
    state = Text(view.health.state, style=_style(view.health.state, healthy=view.health.healthy))
    if not view.topics:
        table.add_row(view.name, "-", "0", "0", "-", "-", "-", "-", state, up)
    for index, topic in enumerate(view.topics[:ROWS_PER_FLOW]):
        first = index == 0
        worst = state if first or topic.worst.state == "RUNNING" else Text(topic.worst.state, "red")
        table.add_row(view.name if first else "", *_topic(topic), worst, up if first else "")
    hidden = len(view.topics) - ROWS_PER_FLOW
    if hidden > 0:
        table.add_row("", f"and {hidden} more topics")


def _topic(topic: TopicView) -> tuple[str, ...]:
    rate = topic.rate
    seconds = topic.lag.seconds
    return (
        topic.topic,
        str(len(topic.anchors)),
        f"{topic.counters.records:,}",
        f"{rate.records_s:,.0f}" if rate else "-",
        f"{rate.bytes_s / 1e6:,.2f}" if rate else "-",
        f"{topic.lag.records:,}",
        f"{seconds:.1f}" if seconds is not None else "?",
    )


def _complaint(view: FlowView) -> Text:
    style = _style(view.health.state, healthy=False)
    return Text.assemble((f"{view.name} {view.health.state}: ", style), view.health.reason)


def _said(view: FlowView) -> str:
    """Return what a flow that is well wants people to know."""
    status = view.look.seen.status if view.look else None
    well = view.health.healthy and view.health.state == FlowState.RUNNING
    return status.reason if status is not None and well else ""


def _remark(view: FlowView, said: str) -> Text:
    return Text(f"{view.name}: {said}", style="dim")


def _duties(view: FlowView) -> tuple[DutyReport, ...]:
    return view.look.duties if view.look else ()


def _failed(view: FlowView, duty: DutyReport) -> Text:
    return Text.assemble((f"{view.name} {duty.name}: ", "red"), duty.summary)


def _style(state: str, *, healthy: bool) -> str:
    return _STYLES.get(state, "red") if healthy or state == "STARTING" else "red"


def duration(seconds: float) -> str:
    """Return a span as people read it: ``42 s``, ``3 min 05 s``, ``2 h 07 min``, ``5 d 03 h``."""
    whole = int(seconds)
    for unit, size, small, small_size in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // small_size:02} {small}"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"
