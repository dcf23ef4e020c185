"""Formats the table of flows of ``isthmus status`` and ``isthmus run``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from orchestration.cli.screen.text_table import Column, TextTable
from replication.durations import format_moment
from replication.model import NEEDS_NO_ACTION, FlowState, PartitionState
from replication.supervision.lag import FlowLag

if TYPE_CHECKING:
    from rich.console import RenderableType

    from orchestration.flows.status_view import FlowView, TopicView
    from replication.state import TaskReport
    from replication.supervision.recovery_point import RecoveryPoint

_OTHER_LINES = 7  # of the screen, besides flows and topics: header, problems, RPO, note
_MOST_GROUPS = 5
_LEAST_TOPICS = 3  # a flow shows so many, however low the screen is
_STYLES = {
    "RUNNING": "green",
    "IDLE": "green",
    "PAUSED": "yellow",
    "STOPPED": "yellow",
    "STARTING": "yellow",
}


def render(views: tuple[FlowView, ...], note: str = "", lines: int | None = None) -> RenderableType:
    """Return the table of all flows, and a line for each problem.

    ``lines``: the height of the screen that it must fit on; it then leaves topics out. None: all
    topics are shown.
    """
    limit = None
    if lines is not None:
        limit = max(_LEAST_TOPICS, (lines - _OTHER_LINES) // max(1, len(views)) - 2)
    numbers = ("parts", "copied", "records/s", "MB/s", "lag", "lag s")
    columns = [Column("flow, topics"), *(Column(each, right=True) for each in numbers)]
    table = TextTable([*columns, Column("state")])
    for view in views:
        _add_flow(table, view, limit)
    below = [_complaint(each) for each in views if not each.health.healthy]
    below += [_remark(each, reason) for each in views if (reason := _reason(each))]
    below += [line for each in views if (line := _unknown_lag(each)) is not None]
    below += [_unread(each) for each in views if any(g.records for g in each.point.groups)]
    below += _files(views)
    below += [_failed(view, task) for view in views for task in _tasks(view) if not task.ok]
    last = [Text(each, style="dim") for each in (_losses(views), _uptimes(views), note) if each]
    return Group(table, *map(_wrapped, [*below, *last]))


def _wrapped(sentence: Text) -> Text:
    """Return a sentence that is wrapped at words, whatever its console does with lines."""
    sentence.no_wrap, sentence.overflow = False, "fold"
    return sentence


def _losses(views: tuple[FlowView, ...]) -> str:
    """Return what a failover of each flow would lose."""
    known = [each for each in views if each.point.partitions or each.point.unplaced]
    found = {each.name: _loss(each.point) for each in known}
    return "RPO: " + "; ".join(f"{name} {loss}" for name, loss in found.items()) if found else ""


def _loss(point: RecoveryPoint) -> str:
    since_ms = point.unknown_since_ms
    if since_ms is None:
        return point.loss
    return f"{point.loss} when last seen, not known since {format_moment(since_ms)} UTC"


def _unread(view: FlowView) -> Text:
    """Return what a failover would lose of the records that groups had not read, the most first."""
    some = sorted((g for g in view.point.groups if g.records), key=lambda each: -each.records)
    groups = [f"{each.group} {each.records:,}" for each in some[:_MOST_GROUPS]]
    more = [f"and {len(some) - _MOST_GROUPS} more groups"] if some[_MOST_GROUPS:] else []
    return _remark(view, f"RPO of groups, in records: {', '.join([*groups, *more])}")


def _uptimes(views: tuple[FlowView, ...]) -> str:
    """Return how long each flow's driver has been up."""
    found = {each.name: each.look.alive_s for each in views if each.look and each.look.alive_s}
    return "up: " + ", ".join(f"{name} {duration(s)}" for name, s in found.items()) if found else ""


def _add_flow(table: TextTable, view: FlowView, limit: int | None) -> None:
    """Add the sums of a flow, and below them a row for each topic, ``limit`` at most."""
    state = Text(view.health.state, style=_style(view.health.state, healthy=view.health.healthy))
    table.add(view.name, *_flow(view), state)
    shown = _fitting(view.topics, limit)
    for topic in shown:
        worst = topic.worst.state
        style = "dim" if worst in NEEDS_NO_ACTION else "red"
        halted = Text("" if worst == PartitionState.RUNNING else worst, style)
        table.add(f"  {topic.topic}", *_topic(topic), halted)
    if hidden := len(view.topics) - len(shown):
        table.add(f"  and {hidden} more topics")


def _fitting(topics: tuple[TopicView, ...], limit: int | None) -> list[TopicView]:
    """Return ``limit`` topics in their order: those with a halted partition first of all."""
    if limit is None or len(topics) <= limit:
        return list(topics)
    urgent = sorted(topics, key=lambda each: each.worst.state in NEEDS_NO_ACTION)[:limit]
    return [each for each in topics if each in urgent]


def _flow(view: FlowView) -> tuple[str, ...]:
    rates = [each.rate for each in view.topics if each.rate]
    lag = FlowLag(tuple(part for each in view.topics for part in each.lag.partitions))
    return (
        str(sum(len(each.anchors) for each in view.topics)),
        f"{view.records:,}",
        f"{sum(each.records_s for each in rates):,.0f}" if rates else "-",
        f"{sum(each.bytes_s for each in rates) / 1e6:,.2f}" if rates else "-",
        *_lag(lag),
    )


def _topic(topic: TopicView) -> tuple[str, ...]:
    rate = topic.rate
    return (
        str(len(topic.anchors)),
        f"{topic.counters.records:,}",
        f"{rate.records_s:,.0f}" if rate else "-",
        f"{rate.bytes_s / 1e6:,.2f}" if rate else "-",
        *_lag(topic.lag),
    )


def _lag(lag: FlowLag) -> tuple[str, str]:
    """Return records and seconds; ``?`` where they are not known, and ``-`` where is no lag."""
    if not lag.partitions:
        return "-", "-"
    if lag.seconds is None or lag.unknown_since:
        return "?", "?"
    return f"{lag.records:,}", f"{lag.seconds:.1f}"


def _unknown_lag(view: FlowView) -> Text | None:
    """Return since when the lag of a flow is not known; None: it is."""
    found = FlowLag(tuple(part for each in view.topics for part in each.lag.partitions))
    return _remark(view, f"lag is {found.unknown_since}") if found.unknown_since else None


def _complaint(view: FlowView) -> Text:
    style = _style(view.health.state, healthy=False)
    return Text.assemble((f"{view.name} {view.health.state}: ", style), view.health.reason)


def _reason(view: FlowView) -> str:
    """Return the note of a healthy flow's driver, or who paused or stopped the flow."""
    status = view.look.seen.status if view.look else None
    if not view.health.healthy:
        return ""
    if view.health.state != FlowState.RUNNING:
        return view.health.reason
    return status.reason if status is not None else ""


def _remark(view: FlowView, reason: str) -> Text:
    return Text(f"{view.name}: {reason}", style="dim")


def _tasks(view: FlowView) -> tuple[TaskReport, ...]:
    return view.look.tasks if view.look else ()


def _files(views: tuple[FlowView, ...]) -> list[Text]:
    """Return why drivers do not follow the file, a line for each reason with its flows."""
    by_reason: dict[tuple[bool, str], list[str]] = {}
    for view in views:
        if not view.in_force[0] or view.is_older:
            by_reason.setdefault(view.in_force, []).append(view.name)
    return [
        Text(f"{', '.join(names)}: {reason}", style="dim" if passed else "red")
        for (passed, reason), names in by_reason.items()
    ]


def _failed(view: FlowView, task: TaskReport) -> Text:
    return Text.assemble((f"{view.name} {task.name}: ", "red"), task.summary)


def _style(state: str, *, healthy: bool) -> str:
    return _STYLES.get(state, "red") if healthy or state == "STARTING" else "red"


def duration(seconds: float) -> str:
    """Return a readable duration: ``42 s``, ``3 min 05 s``, ``2 h 07 min``, ``5 d 03 h``."""
    whole = int(seconds)
    for unit, size, small, small_size in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // small_size:02} {small}"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"
