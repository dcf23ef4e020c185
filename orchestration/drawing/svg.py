"""A topology as SVG: clusters as boxes, flows as arrows, what merges below its target.

The layout is ours: a file has a handful of clusters, and a graph library would bring a binary along
for ten lines of arithmetic. Without circles clusters stand in columns, sources left of targets;
with circles they stand on an ellipse.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from orchestration.drawing.mermaid import naming, shown_topics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from replication.topology import Edge, Topology

_BOX_W, _BOX_H = 180, 56
_STEP_X, _STEP_Y = 480, 130
_MARGIN = 40
_LINE_H = 18
_LONGEST = 44  # characters of a label
_STYLE = (
    "text{font:13px sans-serif;fill:#222}.b{fill:#eef3fb;stroke:#4a6fa5;stroke-width:1.5}"
    ".n{font-weight:bold}.s{font-size:11px;fill:#555}.f{fill:none;stroke:#4a6fa5;stroke-width:1.5}"
    ".c{stroke-dasharray:6 4}.l{font-size:12px;paint-order:stroke;stroke:#fff;stroke-width:4px}"
)


class Point(NamedTuple):
    """A place; boxes have theirs in the middle."""

    x: float
    y: float


def svg(topology: Topology) -> str:
    """Return the picture."""
    places = place(list(topology.clusters), topology.edges, in_circle=bool(topology.circles))
    below = max((each.y for each in places.values()), default=0) + _BOX_H / 2 + _MARGIN
    notes = list(_notes(topology))
    width = max((each.x for each in places.values()), default=0) + _BOX_W / 2 + _MARGIN
    width = max(width, 8 * max(map(len, notes), default=0) + 2 * _MARGIN)
    height = below + _LINE_H * len(notes) + _MARGIN / 2
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img">'
        ),
        f"<style>{_STYLE}</style>",
        (
            '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0 0L10 5L0 10z" fill="#4a6fa5"/>'
            "</marker></defs>"
        ),
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
        *(_arrow(edge, places) for edge in topology.edges),
        *(_box(alias, servers, places[alias]) for alias, servers in topology.clusters.items()),
        *(
            _text(Point(_MARGIN, below + _LINE_H * number), note, "s", "start")
            for number, note in enumerate(notes)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def place(
    clusters: Sequence[str], edges: Sequence[Edge], *, in_circle: bool
) -> Mapping[str, Point]:
    """Return where each cluster stands. Pure."""
    if in_circle or (columns := _columns(clusters, edges)) is None:
        return _ellipse(clusters)
    found: dict[str, Point] = {}
    tallest = max(len(column) for column in columns)
    for number, column in enumerate(columns):
        top = _MARGIN + _BOX_H / 2 + (tallest - len(column)) * _STEP_Y / 2
        for row, alias in enumerate(column):
            found[alias] = Point(_MARGIN + _BOX_W / 2 + number * _STEP_X, top + row * _STEP_Y)
    return found


def _columns(clusters: Sequence[str], edges: Sequence[Edge]) -> list[list[str]] | None:
    """Return the clusters by the length of the longest way to them; None: they go in circles."""
    depth = dict.fromkeys(clusters, 0)
    for _ in clusters:
        for edge in edges:
            depth[edge.target] = max(depth[edge.target], depth[edge.source] + 1)
    if any(depth[edge.target] <= depth[edge.source] for edge in edges) or (
        max(depth.values(), default=0) >= len(clusters) > 0
    ):
        return None
    return [
        [alias for alias in clusters if depth[alias] == column]
        for column in range(max(depth.values(), default=0) + 1)
    ]


def _ellipse(clusters: Sequence[str]) -> Mapping[str, Point]:
    count = len(clusters)
    wide, high = _STEP_X / 2 * max(1, count / 3), _STEP_Y * (count / 3 if count > 2 else 0.5)
    middle = Point(_MARGIN + _BOX_W / 2 + wide, _MARGIN + _BOX_H / 2 + high)
    return {
        alias: Point(
            middle.x - wide * math.cos(2 * math.pi * number / count),
            middle.y - high * math.sin(2 * math.pi * number / count),
        )
        for number, alias in enumerate(clusters)
    }


def _arrow(edge: Edge, places: Mapping[str, Point]) -> str:
    """Return one flow, bent to its left, so that the flow back has a way of its own."""
    start, end = places[edge.source], places[edge.target]
    across, down = end.x - start.x, end.y - start.y
    length = math.hypot(across, down) or 1
    bend = Point(
        (start.x + end.x) / 2 + 50 * down / length, (start.y + end.y) / 2 - 50 * across / length
    )
    begin, finish = _border(start, bend), _border(end, bend)
    look = "f c" if edge.circles else "f"
    label = Point((begin.x + 2 * bend.x + finish.x) / 4, (begin.y + 2 * bend.y + finish.y) / 4)
    return "\n".join(
        (
            (
                f'<path class="{look}" marker-end="url(#a)" d="M{begin.x:.1f} {begin.y:.1f}'
                f'Q{bend.x:.1f} {bend.y:.1f} {finish.x:.1f} {finish.y:.1f}"/>'
            ),
            _text(Point(label.x, label.y - 4), ", ".join(edge.selection), "l"),
            _text(Point(label.x, label.y + 12), naming(edge), "l s"),
        )
    )


def _border(box: Point, toward: Point) -> Point:
    """Return where the line from a box's middle leaves the box."""
    across, down = toward.x - box.x, toward.y - box.y
    scale = min(
        _BOX_W / 2 / abs(across) if across else math.inf,
        _BOX_H / 2 / abs(down) if down else math.inf,
    )
    return Point(box.x + across * scale, box.y + down * scale)


def _box(alias: str, servers: Sequence[str], middle: Point) -> str:
    left, top = middle.x - _BOX_W / 2, middle.y - _BOX_H / 2
    return "\n".join(
        (
            (
                f'<rect class="b" x="{left:.1f}" y="{top:.1f}" width="{_BOX_W}" height="{_BOX_H}" '
                'rx="8"/>'
            ),
            _text(Point(middle.x, middle.y - 4), alias, "n"),
            _text(Point(middle.x, middle.y + 15), ", ".join(servers), "s", longest=28),
        )
    )


def _notes(topology: Topology) -> Iterator[str]:
    for merge in topology.merges:
        what = merge.topic or "topics of the same name"
        yield f"{what} of {', '.join(merge.sources)} merge on {merge.target}"
    for circle in topology.circles:
        yield f"{' → '.join(circle)}: names are kept, copies do not come home"
    for edge in topology.edges:
        for topic, name in shown_topics(edge):
            yield f"{edge.source}: {topic} → {edge.target}: {name}"


def _text(
    where: Point, text: str, look: str, anchor: str = "middle", longest: int = _LONGEST
) -> str:
    short = text if len(text) <= longest or anchor == "start" else f"{text[: longest - 1]}…"
    return (
        f'<text class="{look}" x="{where.x:.1f}" y="{where.y:.1f}" text-anchor="{anchor}">'
        f"{escape(short)}</text>"
    )
