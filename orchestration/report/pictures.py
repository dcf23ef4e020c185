"""Pictures of the page in SVG: topology, lines over time, a heat map, states. Pure."""

from __future__ import annotations

from html import escape
from math import cos, pi, sin
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GOOD, BAD, UNKNOWN, INK = "#1b8a4b", "#c0392b", "#c9d1d9", "#2b6cb0"
_MEANS = {True: GOOD, False: BAD, None: UNKNOWN}
_WIDE, _HIGH = 560, 110
_ROW = 18
_LEFT = 210  # of a heat map, for names
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="4" '
    'markerHeight="4" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
)
_LONGEST = 30  # characters of a name


def topology(flows: Sequence[tuple[str, str, bool]]) -> str:
    """Draw clusters in a circle, and an arrow for each flow (source, target, whether healthy)."""
    names = sorted({end for source, target, _ in flows for end in (source, target)})
    size, radius = (320, 110) if len(names) > 2 else (80, 110)
    places = {
        name: (
            260 - radius * 1.8 * cos(2 * pi * n / len(names)),
            size / 2 - radius * sin(2 * pi * n / len(names)),
        )
        for n, name in enumerate(names)
    }
    parts = [_TIP]
    for source, target, healthy in flows:
        (x1, y1), (x2, y2) = places[source], places[target]
        long = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1.0)
        dx, dy = (x2 - x1) / long, (y2 - y1) / long
        side = 6  # two flows between the same clusters lie beside each other
        points = (x1 + 62 * dx - side * dy, y1 + 62 * dy + side * dx)
        ends = (x2 - 62 * dx - side * dy, y2 - 62 * dy + side * dx)
        parts.append(
            f'<line x1="{points[0]:.0f}" y1="{points[1]:.0f}" x2="{ends[0]:.0f}" '
            f'y2="{ends[1]:.0f}" stroke="{GOOD if healthy else BAD}" stroke-width="3" '
            f'marker-end="url(#tip)"><title>{escape(f"{source}->{target}")}</title></line>'
        )
    for name, (x, y) in places.items():
        parts.append(
            f'<rect x="{x - 55:.0f}" y="{y - 18:.0f}" width="110" height="36" rx="6" '
            f'fill="#fff" stroke="#2d3748"/><text x="{x:.0f}" y="{y + 5:.0f}" '
            f'text-anchor="middle">{escape(_short(name, 14))}</text>'
        )
    return _svg(520, size, "".join(parts), "clusters and flows")


def line(title: str, unit: str, values: Sequence[float | None], limit: float | None = None) -> str:
    """Draw a series from left to right; ``limit`` is a dashed line. Gaps are not known.

    A value between two gaps is a dot: a line of one point shows nothing.
    """
    known = [each for each in values if each is not None]
    highest = max([*known, limit or 0.0, 1e-9]) * 1.1
    step = _WIDE / max(len(values) - 1, 1)
    runs: list[list[str]] = [[]]
    for n, each in enumerate(values):
        if each is None:
            runs.append([])
        else:
            runs[-1].append(f"{n * step:.1f},{_HIGH - each / highest * _HIGH:.1f}")
    drawn = "".join(
        f'<polyline points="{" ".join(run if len(run) > 1 else 2 * run)}" fill="none" '
        f'stroke="{INK}" stroke-width="2" stroke-linecap="round"/>'
        for run in runs
        if run
    )
    if limit is not None:
        y = _HIGH - limit / highest * _HIGH
        drawn += (
            f'<line x1="0" x2="{_WIDE}" y1="{y:.1f}" y2="{y:.1f}" stroke="{BAD}" '
            'stroke-dasharray="6 4"/>'
        )
    shown = f"now {known[-1]:,.1f}, highest {max(known):,.1f} {unit}" if known else "not known"
    frame = f'<rect width="{_WIDE}" height="{_HIGH}" fill="none" stroke="{UNKNOWN}"/>'
    caption = f"<figcaption>{escape(title)}: {escape(shown)}</figcaption>"
    return f"<figure>{caption}{_svg(_WIDE, _HIGH, frame + drawn, title)}</figure>"


def states(rows: Sequence[tuple[str, bool | None]]) -> str:
    """Draw a bar of a flow's states (name, whether healthy; None: not known) from left to right."""
    step = _WIDE / max(len(rows), 1)
    drawn = "".join(
        f'<rect x="{n * step:.1f}" width="{step + 0.5:.1f}" height="{_ROW}" '
        f'fill="{_MEANS[healthy]}"><title>{escape(state)}</title></rect>'
        for n, (state, healthy) in enumerate(rows)
    )
    return _svg(_WIDE, _ROW, drawn, "states")


def heat_map(rows: Mapping[str, Sequence[float | None]], limit: float) -> str:
    """Draw a row for each name; a value at ``limit`` is red, none is grey."""
    columns = max((len(each) for each in rows.values()), default=1)
    step = _WIDE / max(columns, 1)
    parts = []
    for n, (name, values) in enumerate(rows.items()):
        y = n * _ROW
        parts.append(
            f'<text x="0" y="{y + 13}"><title>{escape(name)}</title>'
            f"{escape(_short(name, _LONGEST))}</text>"
        )
        parts += [
            f'<rect x="{_LEFT + k * step:.1f}" y="{y}" width="{step + 0.5:.1f}" '
            f'height="{_ROW - 2}" fill="{colour(each, limit)}"><title>{_lag(each)}</title></rect>'
            for k, each in enumerate(values)
        ]
    return _svg(_LEFT + _WIDE, max(len(rows), 1) * _ROW, "".join(parts), "lag by topic")


def colour(value: float | None, limit: float) -> str:
    """Return green for 0, red for ``limit`` and more, grey for what is not known."""
    if value is None:
        return UNKNOWN
    share = min(max(value / limit if limit else 1.0, 0.0), 1.0)
    return f"hsl({120 * (1 - share):.0f} 60% 55%)"


def _lag(value: float | None) -> str:
    return "not known" if value is None else f"{value:.1f} s"


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _svg(wide: int, high: int, inner: str, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {wide} {high}" width="{wide}" role="img" '
        f'aria-label="{escape(label)}" font-size="12">{inner}</svg>'
    )
